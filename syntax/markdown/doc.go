// Package markdown reads and writes workflows in Markdown: a Mermaid flowchart
// shows the flow, and a section for each node says what it does.
//
// Reading goes from the outside to the inside. The file is taken apart into front
// matter, headings and fenced blocks (document.go); one block is the flowchart
// (chart.go), which internal/mermaid reads; the headings that name its nodes
// begin their sections (section.go, find.go). What a node is, its shape, its class and
// the words of its section say together (node.go, words.go); what an arrow
// means, its label says (edge.go). Nodes, arrows and subgraphs are a drawing,
// which syntax/internal/flow makes a model of (parse.go).
//
// Format goes the other way (write.go). Fmt changes a file that a person wrote
// only where it must (fmt.go): it edits ranges of the text.
//
// It depends on the model, on workflow/expr, on the words of syntax/yaml, on
// syntax/internal/flow and on internal/strictyaml.
package markdown
