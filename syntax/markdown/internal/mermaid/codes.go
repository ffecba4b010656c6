package mermaid

import "github.com/hocket-dev/hocket/internal/strictyaml"

// The codes of this package.
const (
	codeHeader      = "mermaid-header"
	codeNotation    = "mermaid-notation"
	codeFrontMatter = "mermaid-front-matter"
	codeDirective   = "mermaid-directive"
	codeComment     = "mermaid-comment"
	codeFence       = "mermaid-fence"
	codeStatement   = "mermaid-statement"
	codeLabel       = "mermaid-label"
	codeQuote       = "mermaid-quote"
	codeSlash       = "mermaid-slash"
	codeList        = "mermaid-list"
	codeArrow       = "mermaid-arrow"
	codeArrowLetter = "mermaid-arrow-letter"
	codeHead        = "mermaid-head"
	codeEdgeLabel   = "mermaid-edge-label"
	codeID          = "mermaid-id"
	codeCharacter   = "mermaid-character"
	codeEntity      = "mermaid-entity"
	codeUnknownNode = "mermaid-unknown-node"
	codeSubgraph    = "mermaid-subgraph"
	codeEnd         = "mermaid-end"
	codeMeta        = "mermaid-meta"
	codeShape       = "mermaid-shape"
	codeStyle       = "mermaid-style"
	codeDirection   = "mermaid-direction"
	codeVersion     = "mermaid-version"
	codeEdges       = "too-many-edges" // shared by all notations
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = []strictyaml.Code{
	{Name: codeHeader, Meaning: "A flowchart does not start with `flowchart` and a direction."},
	{Name: codeNotation, Meaning: "The text is another kind of diagram, or a line belongs to one."},
	{Name: codeFrontMatter, Meaning: "The front matter of a flowchart cannot be read."},
	{Name: codeDirective, Meaning: "A directive is not closed, so everything after it is part of it."},
	{Name: codeComment, Meaning: "A comment is not on its own line, or is not a comment."},
	{Name: codeFence, Meaning: "A code fence is inside a flowchart."},
	{Name: codeStatement, Meaning: "A line of a flowchart is not a statement."},
	{Name: codeLabel, Meaning: "A label without quotes contains a bracket, is empty, or does not end."},
	{Name: codeQuote, Meaning: "A label contains a quote."},
	{Name: codeSlash, Meaning: "A label that starts with a slash is read as a slanted shape."},
	{Name: codeList, Meaning: "A label looks like a Markdown list, which Mermaid does not draw."},
	{Name: codeArrow, Meaning: "An arrow is not valid Mermaid syntax, or has no target."},
	{Name: codeArrowLetter, Meaning: "An x or o next to an arrow is read as part of it."},
	{Name: codeHead, Meaning: "The two ends of an arrow do not match, so one of them is not drawn."},
	{Name: codeEdgeLabel, Meaning: "The label of an edge is in the wrong place."},
	{Name: codeID, Meaning: "An id is a Mermaid keyword, or cannot be written."},
	{Name: codeCharacter, Meaning: "A character is invisible, or only looks like another one."},
	{Name: codeEntity, Meaning: "Brackets, arrows or newlines are written as HTML."},
	{Name: codeUnknownNode, Meaning: "A node is referred to by its label, or styled but never drawn."},
	{Name: codeSubgraph, Meaning: "The title of a subgraph is not valid Mermaid syntax."},
	{Name: codeEnd, Meaning: "A subgraph has no `end`, or an `end` has no subgraph."},
	{Name: codeMeta, Meaning: "The content of `@{…}` cannot be read."},
	{Name: codeShape, Meaning: "The shape of a node does not exist."},
	{Name: codeStyle, Meaning: "A style cannot be read, or is for an edge that does not exist."},
	{Name: codeDirection, Meaning: "The words `direction LR` in a text make the whole line disappear."},
	{Name: codeVersion, Meaning: "Not every version of Mermaid supports this."},
}
