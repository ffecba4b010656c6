package activity

import "github.com/hocket-dev/hocket/internal/strictyaml"

// The codes of this package.
const (
	CodeMarker       = "plantuml-startuml"
	codeNotation     = "plantuml-notation"
	CodePreprocessor = "plantuml-preprocessor"
	codeSyntax       = "plantuml-syntax"
	codeUnclosed     = "plantuml-unclosed"
	codeStray        = "plantuml-stray"
	codeSemicolon    = "plantuml-semicolon"
	codeJoined       = "plantuml-joined"
	codeArrow        = "plantuml-arrow"
	codeComment      = "plantuml-comment"
	codeKeyword      = "plantuml-keyword"
	codeCondition    = "plantuml-condition"
	CodeLateLane     = "plantuml-late-lane"
	codeNote         = "plantuml-note-form"
	codeKill         = "plantuml-kill"
	codeColour       = "plantuml-colour"
	codeVersion      = "plantuml-version"
	codeDepth        = "nested-too-deep" // package flow reports other frames under it
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = []strictyaml.Code{
	{Name: CodeMarker, Meaning: "`@startuml` or `@enduml` is missing, or Markdown stands in the diagram."},
	{Name: codeNotation, Meaning: "The diagram, or a line of it, is of another kind than an activity diagram."},
	{Name: CodePreprocessor, Meaning: "A directive of PlantUML's preprocessor would change the diagram."},
	{Name: codeSyntax, Meaning: "PlantUML knows no such line."},
	{Name: codeUnclosed, Meaning: "A block is still open where another one ends, or at the end of the diagram."},
	{Name: codeStray, Meaning: "A line closes or divides a block that is not open."},
	{Name: codeSemicolon, Meaning: "An activity or the label of an arrow has no `;`, so PlantUML reads on."},
	{Name: codeJoined, Meaning: "Several statements stand on one line."},
	{Name: codeArrow, Meaning: "An arrow is written in a way that PlantUML does not draw as one."},
	{Name: codeComment, Meaning: "A comment does not stand on a line of its own, or is not marked by `'`."},
	{Name: codeKeyword, Meaning: "PlantUML has another word for this."},
	{Name: codeCondition, Meaning: "The parentheses of a condition or of a label are missing, or hold something else than they seem to."},
	{Name: CodeLateLane, Meaning: "The first swimlane stands behind the first step."},
	{Name: codeNote, Meaning: "A note is opened or closed in a way that PlantUML does not know, or loses a line."},
	{Name: codeKill, Meaning: "`kill` or `detach` stands where there is nothing before it that could end."},
	{Name: codeColour, Meaning: "PlantUML does not know a colour, and refuses the diagram."},
	{Name: codeVersion, Meaning: "Only other versions of PlantUML read this as it is meant."},
}
