package activity

import "github.com/hocket-dev/hocket/syntax/internal/source"

// Diagram is what the author drew.
type Diagram struct {
	Name  string // after @startuml
	Title string // decoded; the last one wins

	NameSpan, TitleSpan source.Span

	Lanes []Lane // in the order of their first mark
	Body  []Element
	Size  int // number of elements, including those in nested bodies
	// Decor is everything that does not affect the flow, and every comment, in the order of the
	// text.
	Decor []Decor

	Whole        source.Span // from @startuml to the end of @enduml
	Opener       source.Span // the line @startuml; empty if it is missing
	Closer       source.Span // the line @enduml; empty if it is missing
	Preprocessed bool        // there is a directive that was not executed; the tree is what is there without it
}

// Lane is a swimlane. Names are compared exactly as they are written, including spaces.
type Lane struct {
	Name   string
	Label  Text   // its title if there is one, otherwise its name
	Titled bool   // Label is a title
	Color  string // without #; the last one written
	Span   source.Span
	Again  source.Span // where it was last given another title or colour; empty if nowhere
}

// Decor is a statement or a comment that is kept as it is.
type Decor struct {
	Kind DecorKind
	Span source.Span // all of its lines, without the end of the last one
}

// DecorKind says what a decoration is.
type DecorKind string

// The kinds of decoration.
const (
	Comment   DecorKind = "comment"
	Directive DecorKind = "directive" // !theme, !include and so on
	Setting   DecorKind = "setting"   // skinparam, <style>, scale, hide and so on
	Heading   DecorKind = "heading"   // title, header, footer, caption, legend, mainframe
	Misplaced DecorKind = "misplaced" // a statement that has no meaning here; there is a diagnostic
)

// Text is a piece of what the author wrote. The zero Text was not written. [Text.String] returns
// what PlantUML shows.
type Text struct {
	// Raw is the text with its escapes, without what PlantUML drops: comments,
	// and a backslash at the end of a line. Lines end in \n, whatever ends them
	// in the file.
	Raw  string
	Span source.Span // its position in the file; empty if the text is empty
	// Literal says that a backslash is literal, as in an activity over several lines.
	Literal bool
}

// Line is a line of a note, without the indentation that all lines share.
type Line struct {
	Text string
	Span source.Span // where Text is, without the end of the line
}

// Element is a part of a diagram, at its place in the text: one of *Start,
// *Stop, *Activity, *If, *Switch, *While, *Repeat, *Fork, *Split, *Group,
// *Break, *Goto, *Label, *Connector, and of the marks that draw nothing by
// themselves, *Arrow, *LaneMark, *Note, *Backward and *Kill.
//
//sumtype:decl
type Element interface {
	// Common returns the fields that all elements have.
	Common() *Base
	element()
}

// Base has the fields that all elements have.
type Base struct {
	Span   source.Span // all of it, from the first byte of its opener to the last of its closer
	Number int         // index of the element in the order of the text
	// Lane is the name of the lane that was last set before the element, or "". Blocks do not
	// restore it.
	Lane  string
	Arrow *Arrow  // the last arrow with a label or a style that leads to the element
	Notes []*Note // as PlantUML attaches them, see [Note.On]
	Kill  *Kill   // the path ends after this element
}

// Block has the fields of all elements that are closed by another line.
type Block struct {
	Opener source.Span
	Closer source.Span // empty if it is not closed; then there is a diagnostic

	last Element // of its body, without marks
}

// Branch is one branch of an if, switch, fork or split.
type Branch struct {
	Opener source.Span // the line that begins it; of the first one that of the block
	In     Text        // of an elseif: label of the edge from the test before
	Test   Text        // of an if or elseif
	Label  Text        // in the parentheses after then, else or case
	Body   []Element
	Exit   *Arrow // the last arrow before its end

	last Element // of its body, without marks
}

// Start is a start mark.
type Start struct {
	Base
}

// Stop ends a path: `stop`, or `end`.
type Stop struct {
	Base
	End bool // `end`, drawn as a crossed circle
}

// Activity is a step.
type Activity struct {
	Base
	Text   Text
	Form   Form
	Ending byte  // ';', or | < > / \ ] } in old files; 0 in the list form
	Look   *Look // nil if there is none
}

// Form is a way to write an activity.
type Form uint8

// The forms of an activity.
const (
	OneLine   Form = iota // :text;
	MultiLine             // :text … text;
	ListItem              // - text
)

// Look is the appearance of an element.
type Look struct {
	Color       string   // without #
	Stereotypes []string // without << >>
	URL         string   // without [[ ]]
}

// If is a chain of tests. Branches are those of `if` and of each `elseif`.
type If struct {
	Base
	Block
	Branches []Branch
	Else     *Branch // nil if there is none
	Look     *Look
}

// Switch is a test with a branch per answer.
type Switch struct {
	Base
	Block
	Test  Text
	Cases []Branch  // with a Label
	Early []Element // between `switch` and the first `case`; PlantUML draws nothing of it
	Look  *Look
}

// While tests before each iteration.
type While struct {
	Base
	Block
	Test     Text
	Yes      Text // label of the way in
	Out      Text // label of the way out, after endwhile
	Body     []Element
	Exit     *Arrow // the last arrow before the end of the body
	Backward *Backward
	// Final is the stop or end that PlantUML draws at the exit of the loop itself. It is also the
	// element after the loop.
	Final *Stop
	Look  *Look

	breaks bool // it contains a break
}

// Repeat tests after each iteration.
type Repeat struct {
	Base
	Block
	Start    Text // an activity at the start of each iteration
	Body     []Element
	Exit     *Arrow // the last arrow before the end of the body
	Backward *Backward
	Test     Text
	TestLane string // the lane that was set last before the test
	Yes      Text   // after `is`: label of the way back
	Not      Text   // after `not`: label of the way out
	Out      *Arrow // after the test on its line
	Look     *Look
}

// Fork runs its branches in parallel.
type Fork struct {
	Base
	Block
	Branches []Branch // without texts
	Merge    bool     // closed by `end merge`: the branches do not wait for each other
	Join     Text     // in the braces after `end fork`
}

// Split divides the flow into branches without a bar.
type Split struct {
	Base
	Block
	Branches []Branch // without texts
}

// Group is a frame around elements.
type Group struct {
	Base
	Block
	Keyword string // partition, package, rectangle, card or group
	Name    Text   // without quotes
	Body    []Element
	Exit    *Arrow // the last arrow before its end
	Look    *Look
}

// Break leaves the loop around it.
type Break struct {
	Base
}

// Goto jumps to a label.
type Goto struct {
	Base
	Name Text
}

// Label is where a goto jumps to.
type Label struct {
	Base
	Name Text
}

// Connector is a circle with a letter. Two with the same letter are the same place.
type Connector struct {
	Base
	Name Text
	Look *Look
}

// Arrow is the style or the label of an edge: of the one that leads to the next element, of the
// way into a while, or of the way out of a branch.
type Arrow struct {
	Base
	Style string // in the brackets
	Label Text
	// To is the element that it leads to, or nil at the end of a branch.
	To Element
}

// LaneMark changes the lane. Its Lane is the one that it changes to.
type LaneMark struct {
	Base
	Color string
	Label Text
}

// Note is a note on one or several lines.
type Note struct {
	Base
	Block         // the lines `note …` and `end note`; of a note in one line both are empty
	Side     Side // zero if it is not written: PlantUML draws it on the left
	Floating bool
	Look     *Look
	Lines    []Line
	// On is the element that PlantUML attaches it to, or nil if there is none.
	On Element
	// Of is the name after `note right of …`, which PlantUML refuses.
	Of Text
}

// Side says on which side of its element a note is drawn.
type Side uint8

// The sides.
const (
	Unsaid Side = iota
	Left
	Right
)

// Backward is an activity on the way back of a loop.
type Backward struct {
	Base
	Text Text
	In   Text // in the parentheses before it
	Out  Text // in the parentheses after it
	Look *Look
}

// Kill ends the path after the element before it.
type Kill struct {
	Base
	Detach bool    // `detach`: drawn without a cross
	On     Element // what it ends; nil if there is nothing before it in its branch
}

// Common returns the fields that all elements have.
func (b *Base) Common() *Base { return b }

func (*Start) element()     {}
func (*Stop) element()      {}
func (*Activity) element()  {}
func (*If) element()        {}
func (*Switch) element()    {}
func (*While) element()     {}
func (*Repeat) element()    {}
func (*Fork) element()      {}
func (*Split) element()     {}
func (*Group) element()     {}
func (*Break) element()     {}
func (*Goto) element()      {}
func (*Label) element()     {}
func (*Connector) element() {}
func (*Arrow) element()     {}
func (*LaneMark) element()  {}
func (*Note) element()      {}
func (*Backward) element()  {}
func (*Kill) element()      {}
