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
	codeDepth        = "nested-too-deep" // also used by package flow
)

// Codes lists every code that a diagnostic of Parse can have, with its meaning.
var Codes = []strictyaml.Code{
	{Name: CodeMarker, Meaning: "`@startuml` or `@enduml` is missing, or the diagram contains Markdown."},
	{Name: codeNotation, Meaning: "The diagram, or a line of it, is not an activity diagram."},
	{Name: CodePreprocessor, Meaning: "A PlantUML preprocessor directive would change the diagram."},
	{Name: codeSyntax, Meaning: "PlantUML does not recognise this line."},
	{Name: codeUnclosed, Meaning: "A block is still open where another one ends, or at the end of the diagram."},
	{Name: codeStray, Meaning: "A line closes or divides a block that is not open."},
	{Name: codeSemicolon, Meaning: "An activity or the label of an arrow has no `;`, so PlantUML reads the next lines as part of it."},
	{Name: codeJoined, Meaning: "Several statements are on one line."},
	{Name: codeArrow, Meaning: "An arrow is written in a way that PlantUML does not draw as one."},
	{Name: codeComment, Meaning: "A comment is not on its own line, or does not begin with `'`."},
	{Name: codeKeyword, Meaning: "PlantUML uses another keyword for this."},
	{Name: codeCondition, Meaning: "The parentheses of a condition or a label are missing, or PlantUML reads them differently than they look."},
	{Name: CodeLateLane, Meaning: "The first swimlane comes after the first step."},
	{Name: codeNote, Meaning: "A note is opened or closed in a way that PlantUML does not support, or loses a line."},
	{Name: codeKill, Meaning: "`kill` or `detach` has nothing before it to end."},
	{Name: codeColour, Meaning: "PlantUML does not know a colour, and rejects the diagram."},
	{Name: codeVersion, Meaning: "Only other versions of PlantUML read this as intended."},
}
