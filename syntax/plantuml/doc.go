// Package plantuml reads and writes workflows as activity diagrams of PlantUML.
//
// A diagram shows the flow: steps, branches, loops, forks, and a lane for every agent. What it
// cannot show is in notes, with the keys of YAML and with marks that give a note its kind, such
// as <<prompt>>.
//
// Parsing walks the tree of package activity twice. First it reads the keys of every note
// (note.go, words.go), so that all given ids are known. Then it draws (draw.go, branch.go,
// loop.go, jump.go): it goes from element to element with the open tails, which are edges without
// a target, and ties them to the next step. Package flow turns the drawing into the model.
//
// Format goes the other way. It guesses the blocks from the order of the nodes (shape.go), writes
// them (write.go), and reads the result: a node that has other edges than in the model gets them
// in its note, which overrides the drawing.
package plantuml
