// Package markdown reads and writes workflows in Markdown: a Mermaid flowchart shows the flow,
// and a section for each node says what it does.
//
// Parsing goes from the outside to the inside. The file is split into front matter, headings and
// fenced blocks (document.go). One block is the flowchart (chart.go), which internal/mermaid
// parses. The headings that name its nodes begin their sections (section.go, find.go). The kind
// of a node follows from its shape, its class and the keys of its section (node.go, words.go),
// and the meaning of an arrow from its label (edge.go). Nodes, arrows and subgraphs are a
// drawing, which syntax/internal/flow turns into a model (parse.go).
//
// Format goes the other way (write.go). Fmt changes a file that a person wrote only where
// necessary (fmt.go): it edits ranges of the text.
//
// It depends on the model, on workflow/expr, on the keys of syntax/yaml, on syntax/internal/flow
// and on internal/strictyaml.
package markdown
