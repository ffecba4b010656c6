// Package plantuml reads and writes workflows as activity diagrams of PlantUML.
//
// A diagram shows the flow: steps, branches, loops, forks, and a lane for every
// agent. What it cannot show stands in notes, in the words of YAML and of the
// marks that give a note its kind, such as <<prompt>>.
//
// Reading walks the tree of package activity twice. First it reads the words of
// every note (note.go, words.go), so that all given ids are known. Then it draws
// (draw.go, branch.go, loop.go, jump.go): it goes from element to element with
// the tails that are open, the edges whose end is not known yet, and ties them to
// the next step. Package flow makes the model of that.
//
// Format goes the other way. It guesses the blocks from the order of the nodes
// (shape.go), writes them (write.go), and reads the result: a node that came out
// with other edges gets them in its note, where they count whatever is drawn.
package plantuml
