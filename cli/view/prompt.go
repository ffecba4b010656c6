package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Prompt is a question to a person, with what the person has typed so far. A long question
// is shown page by page, and accepts no answer before its last page was shown.
type Prompt struct {
	Address string
	Text    string
	Detail  string // what it is about, verbatim
	Options []workflow.Option
	Custom  bool // any other text is an answer, too
	Amount  bool // that text is a number, so options are not numbered
	More    int  // questions that wait after this one
	Deaf    bool // it has just appeared, and ignores keys
	chosen  bool // the cursor is on a choice; initially it is not
	cursor  int  // the option, or len(Options) for other text
	field   bool // what is typed is other text, even if it matches an option
	typed   string
	hint    string

	asked []string // the lines of the question, at this width
	width int
	top   int  // the first line that is shown
	turn  int  // pages to turn at the next drawing
	seek  bool // the cursor was moved: scroll to it
	seen  bool // its last page has been shown
}

// Key is one key that a person pressed: a character, or one of the named ones.
type Key string

// The keys that are not characters.
const (
	KeyEnter Key = "enter"
	KeyUp    Key = "up"
	KeyDown  Key = "down"
	KeyErase Key = "erase"
	KeyClear Key = "clear" // the whole line
	KeyTab   Key = "tab"
	KeyPrev  Key = "prev"  // page up
	KeyNext  Key = "next"  // page down
	KeyStop  Key = "stop"  // Ctrl-C
	KeyLeave Key = "leave" // Ctrl-D
)

var namedKeys = map[string]Key{
	"\r": KeyEnter, "\n": KeyEnter, "\x7f": KeyErase, "\b": KeyErase, "\x15": KeyClear, "\t": KeyTab, "\x03": KeyStop, "\x04": KeyLeave,
	"\x1b[A": KeyUp, "\x1bOA": KeyUp, "\x1b[B": KeyDown, "\x1bOB": KeyDown, "\x10": KeyUp, "\x0e": KeyDown,
	"\x1b[5~": KeyPrev, "\x1b[6~": KeyNext,
}

// Keys parses what a terminal sent. It drops unknown sequences.
func Keys(input string) []Key {
	var keys []Key
	for input != "" {
		r, size := utf8.DecodeRuneInString(input)
		if n := escape(input, r); n > size {
			size = n
			if n == 2 && input[1] == 'O' && len(input) > 2 {
				size = 3
			}
		}
		key := input[:size]
		input = input[size:]
		if named, ok := namedKeys[key]; ok {
			keys = append(keys, named)
		} else if isVisible(r) && r != utf8.RuneError && r != '\n' && r != '\t' {
			keys = append(keys, Key(key))
		}
	}
	return keys
}

// Press handles one key. It returns the answer when the person has given one.
func (p *Prompt) Press(k Key) (answer string, done bool) {
	p.hint = ""
	if !p.seen {
		p.read(k)
		return "", false
	}
	p.seek = true
	switch k {
	case KeyEnter:
		return p.answer()
	case KeyUp:
		p.move(-1)
	case KeyDown, KeyTab:
		p.move(1)
	case KeyPrev:
		p.turn, p.seek = -1, false
	case KeyNext:
		p.turn, p.seek = 1, false
	case KeyErase:
		if _, size := utf8.DecodeLastRuneInString(p.typed); size > 0 {
			p.typed = p.typed[:len(p.typed)-size]
		}
	case KeyClear:
		p.typed = ""
	case KeyStop, KeyLeave:
	default:
		p.typed += string(k)
		p.follow()
	}
	return "", false
}

// read turns the pages of a question that has not been shown completely. A page turns at
// the next drawing, so that none is skipped.
func (p *Prompt) read(k Key) {
	switch k {
	case KeyNext, KeyDown, KeyEnter, KeyTab, " ":
		p.turn = 1
	case KeyPrev, KeyUp:
		p.turn = -1
	case KeyStop, KeyLeave, KeyErase, KeyClear:
	default:
		p.hint = "read it to the end first: press space for more"
	}
}

// move moves the cursor, and wraps around.
func (p *Prompt) move(by int) {
	n := len(p.Options) + btoi(p.Custom)
	switch {
	case n == 0:
		return
	case p.chosen:
		p.cursor = (p.cursor + by + n) % n
	case by < 0:
		p.cursor = n - 1
	default:
		p.cursor = 0
	}
	p.chosen, p.typed, p.field = true, "", p.cursor == len(p.Options)
}

// follow moves the cursor to the choice that the typed text matches: a number, a prefix of
// an option, or other text. The number after the last option opens the field for other
// text.
func (p *Prompt) follow() {
	switch i, ok := p.match(); {
	case ok:
		p.cursor, p.chosen = i, true
	case !p.Custom:
	case !p.field && !p.Amount && len(p.Options) > 0 && p.typed == strconv.Itoa(len(p.Options)+1):
		p.cursor, p.chosen, p.field, p.typed = len(p.Options), true, true, ""
	default:
		p.cursor, p.chosen = len(p.Options), true
	}
}

func (p *Prompt) match() (int, bool) {
	typed := strings.ToLower(strings.TrimSpace(p.typed))
	if typed == "" || p.field {
		return 0, false
	}
	for i, o := range p.Options {
		if typed == strings.ToLower(o.Value) || typed == strings.ToLower(o.Label) {
			return i, true
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && !p.Amount && n >= 1 && n <= len(p.Options) {
		return n - 1, true
	}
	if value, ok := workflow.Chosen(p.Options, typed); ok {
		return slices.IndexFunc(p.Options, func(o workflow.Option) bool { return o.Value == value }), true
	}
	if p.Custom {
		return 0, false
	}
	for i, o := range p.Options {
		if strings.HasPrefix(strings.ToLower(o.Value), typed) || strings.HasPrefix(strings.ToLower(o.Label), typed) {
			return i, true
		}
	}
	return 0, false
}

func (p *Prompt) answer() (string, bool) {
	typed := strings.TrimSpace(p.typed)
	i, matched := p.match()
	switch {
	case matched:
		return p.Options[i].Value, true
	case typed == "" && p.chosen && p.cursor < len(p.Options):
		return p.Options[p.cursor].Value, true
	case typed != "" && p.Custom:
		return typed, true
	case typed == "" && len(p.Options) > 0 && !p.field:
		p.hint = "choose an answer first: " + howToChoose
	case typed == "":
		p.hint = "type an answer first"
	default:
		p.Refuse(strconv.Quote(typed) + " is not an option")
	}
	return "", false
}

const howToChoose = "arrows or a number, then enter"

// Refuse shows why an answer was rejected; the person can try again.
func (p *Prompt) Refuse(why string) {
	p.hint, p.typed, p.chosen, p.field = Line(why), "", false, false
}

// Lines draws the current page of the question in at most height lines.
func (p *Prompt) Lines(style Style, height int) []string {
	head := []string{"", style.Paint(BoldYellow, "? ") + style.Paint(Bold, p.cut(Line(p.Address), style, 2)) + p.moreNote(style)}
	lines, from, to := p.all(style)
	room := max(height-len(head)-1, 1) // the last line says how to answer
	if p.seek && p.chosen {
		p.top = max(min(p.top, from), to-room)
	}
	last := max(len(lines)-room, 0)
	p.top = min(max(p.top+p.turn*room, 0), last)
	p.turn, p.seek = 0, false
	p.seen = p.seen || p.top == last
	shown := lines[p.top:min(p.top+room, len(lines))]
	return append(append(head, shown...), p.footer(style, p.top+len(shown), len(lines)))
}

// all returns all lines of the question and its options, and which of them the cursor is
// at.
func (p *Prompt) all(style Style) (lines []string, from, to int) {
	if p.asked == nil || p.width != style.Width {
		p.asked, p.width = style.Asked(p.Text, p.Detail, "  "), style.Width
		if !p.seen {
			p.top = 0 // the pages have changed
		}
	}
	lines = slices.Clip(p.asked)
	labels := 0
	for _, o := range p.Options {
		labels = max(labels, Width(optionName(o)))
	}
	for i := range len(p.Options) + btoi(p.Custom) {
		if i == p.cursor {
			from = len(lines)
		}
		if i < len(p.Options) {
			lines = append(lines, p.option(i, optionName(p.Options[i]), labels, p.Options[i].Description, style)...)
		} else {
			lines = append(lines, p.option(i, p.ownText(), 0, "", style)...)
		}
		if i == p.cursor {
			to = len(lines)
		}
	}
	return lines, from, to
}

func optionName(o workflow.Option) string {
	switch {
	case o.Label == "" || o.Label == o.Value:
		return RevealLine(o.Value)
	default:
		return RevealLine(o.Label) + " (" + RevealLine(o.Value) + ")"
	}
}

func (p *Prompt) ownText() string {
	switch {
	case p.typed != "":
		return RevealLine(p.typed) + "_"
	case p.field:
		return "_"
	}
	return "type another answer"
}

func (p *Prompt) moreNote(style Style) string {
	if p.More == 0 {
		return ""
	}
	return style.Paint(Dim, "  ("+Count(p.More, "more question")+" after this one)")
}

// option draws one choice with its number. A description that does not fit next to it goes
// below.
func (p *Prompt) option(i int, name string, width int, description string, style Style) []string {
	pointer, paint := "  ", None
	if p.chosen && i == p.cursor || len(p.Options) == 0 {
		pointer, paint = style.pick("❯ ", "> "), BoldCyan
	}
	number := strconv.Itoa(i+1) + " "
	if p.Amount {
		number = ""
	}
	const indent = "    "
	description = RevealLine(strings.TrimSpace(description))
	if description != "" && (style.Width == 0 || len(indent+number)+width+2+Width(description) <= style.Width) {
		return []string{"  " + style.Paint(paint, pointer+number+Pad(name, width)) + "  " + style.Paint(Dim, description)}
	}
	var out []string
	for j, row := range style.Wrap(number+name, len(indent)) {
		if j > 0 {
			pointer = "  "
		}
		out = append(out, "  "+style.Paint(paint, pointer+row))
	}
	if description != "" {
		for _, row := range style.Wrap(description, len(indent+number)) {
			out = append(out, Pad("", len(indent+number))+style.Paint(Dim, row))
		}
	}
	return out
}

func (p *Prompt) cut(s string, style Style, used int) string {
	if style.Width == 0 {
		return s
	}
	return style.Cut(s, style.Width-used)
}

func (p *Prompt) footer(style Style, shown, all int) string {
	if p.typed != "" && !p.Custom && p.hint == "" {
		return "  " + p.cut(style.pick("› ", "> ")+Line(p.typed), style, 2)
	}
	if p.hint != "" {
		return "  " + style.Paint(Yellow, p.cut(p.hint, style, 2))
	}
	if p.Deaf {
		return ""
	}
	if !p.seen {
		return "  " + style.Paint(Yellow, p.cut(fmt.Sprintf("press space for more; line %d of %d", shown, all), style, 2))
	}
	how := howToChoose
	if len(p.Options) == 0 || p.field || p.Amount {
		how = "type an answer, then enter"
	}
	return "  " + style.Paint(Dim, p.cut(how+"; ctrl-d to answer later, ctrl-c to stop the run", style, 2))
}
