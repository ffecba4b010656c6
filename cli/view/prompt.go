package view

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// Prompt is a question to a person, with what the person has typed so far.
type Prompt struct {
	Address  string
	Question string
	Options  []workflow.Option
	Custom   bool // a text of one's own is taken too
	More     int  // questions that wait behind this one
	Deaf     bool // it has only just come up: keys are not for it yet
	chosen   bool // cursor says what; nothing is chosen for the person
	cursor   int  // the option, or len(Options) for a text of one's own
	typed    string
	hint     string
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
	KeyStop  Key = "stop"  // Ctrl-C
	KeyLeave Key = "leave" // Ctrl-D
)

var namedKeys = map[string]Key{
	"\r": KeyEnter, "\n": KeyEnter, "\x7f": KeyErase, "\b": KeyErase, "\x15": KeyClear, "\t": KeyTab, "\x03": KeyStop, "\x04": KeyLeave,
	"\x1b[A": KeyUp, "\x1bOA": KeyUp, "\x1b[B": KeyDown, "\x1bOB": KeyDown, "\x10": KeyUp, "\x0e": KeyDown,
}

// Keys reads what a terminal sent. Sequences that mean nothing here are dropped.
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
		} else if visible(r) && r != utf8.RuneError && r != '\n' && r != '\t' {
			keys = append(keys, Key(key))
		}
	}
	return keys
}

// Press takes one key. It gives the answer when the person has given one.
func (p *Prompt) Press(k Key) (answer string, done bool) {
	p.hint = ""
	switch k {
	case KeyEnter:
		return p.answer()
	case KeyUp:
		p.move(-1)
	case KeyDown, KeyTab:
		p.move(1)
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

// move goes to another choice, round and round.
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
	p.chosen, p.typed = true, ""
}

// follow lets the cursor stand where the typed text leads: a number, or the
// beginning of an option, or a text of one's own.
func (p *Prompt) follow() {
	if i, ok := p.match(); ok {
		p.cursor, p.chosen = i, true
	} else if p.Custom {
		p.cursor, p.chosen = len(p.Options), true
	}
}

func (p *Prompt) match() (int, bool) {
	typed := strings.ToLower(strings.TrimSpace(p.typed))
	if typed == "" {
		return 0, false
	}
	for i, o := range p.Options {
		if typed == strings.ToLower(o.Value) || typed == strings.ToLower(o.Label) {
			return i, true
		}
	}
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(p.Options) {
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
	case typed == "" && len(p.Options) > 0:
		p.hint = "choose an answer first: " + howToChoose
	case typed == "":
		p.hint = "type an answer first"
	default:
		p.Refuse(strconv.Quote(typed) + " is not one of the answers")
	}
	return "", false
}

const howToChoose = "arrows or a number, then enter"

// Refuse shows why an answer was not taken; the person may try again.
func (p *Prompt) Refuse(why string) { p.hint, p.typed, p.chosen = Line(why), "", false }

// Lines draws the question in at most height lines: of a long text the first
// ones, of many options those around the cursor. questionLines bounds the text.
func (p *Prompt) Lines(style Style, questionLines, height int) []string {
	out := []string{"", style.Paint(BoldYellow, "? ") + style.Paint(Bold, p.cut(Line(p.Address), style, 2)) + p.moreNote(style)}
	choices := p.choices(style)
	room := max(height-len(out)-1, 2) // the last line says how to answer
	text := p.question(style, min(questionLines, max(room-len(choices)-1, 1)))
	out = append(out, text...)
	out = append(out, around(choices, p.cursor, max(room-len(text), 1))...)
	return append(out, p.footer(style))
}

// choices are the options, and the line for a text of one's own.
func (p *Prompt) choices(style Style) []string {
	labels := 0
	for _, o := range p.Options {
		labels = max(labels, Width(optionName(o)))
	}
	var out []string
	for i, o := range p.Options {
		out = append(out, p.option(i, optionName(o), labels, o.Description, style))
	}
	if p.Custom {
		out = append(out, p.option(len(p.Options), p.ownText(), 0, "", style))
	}
	return out
}

// around is the part of a list that fits, with one entry in it.
func around(list []string, at, most int) []string {
	if len(list) <= most {
		return list
	}
	from := min(max(at-most/2, 0), len(list)-most)
	return list[from : from+most]
}

func optionName(o workflow.Option) string {
	switch {
	case o.Label == "" || o.Label == o.Value:
		return Line(o.Value)
	default:
		return Line(o.Label) + " (" + Line(o.Value) + ")"
	}
}

func (p *Prompt) ownText() string {
	if p.typed == "" {
		return "another answer, typed here"
	}
	return Line(p.typed) + "_"
}

func (p *Prompt) moreNote(style Style) string {
	if p.More == 0 {
		return ""
	}
	return style.Paint(Dim, "  ("+Count(p.More, "more question")+" after this)")
}

func (p *Prompt) question(style Style, most int) []string {
	lines := strings.Split(strings.TrimSpace(Text(p.Question)), "\n")
	var out []string
	for i, l := range lines {
		if i == most && len(lines) > most+1 {
			return append(out, style.Paint(Dim, "  "+style.pick("… ", "... ")+Count(len(lines)-most, "more line")))
		}
		out = append(out, "  "+p.cut(strings.ReplaceAll(l, "\t", "    "), style, 2))
	}
	return out
}

func (p *Prompt) option(i int, name string, width int, description string, style Style) string {
	if description != "" {
		name = Pad(name, width)
	}
	pointer, paint := "  ", None
	if p.chosen && i == p.cursor || len(p.Options) == 0 {
		pointer, paint = style.pick("❯ ", "> "), BoldCyan
	}
	number := strconv.Itoa(i+1) + " "
	text := p.cut(number+name, style, 4)
	out := "  " + style.Paint(paint, pointer+text)
	if d := p.cut(Line(description), style, 6+Width(text)); d != "" {
		out += "  " + style.Paint(Dim, d)
	}
	return out
}

func (p *Prompt) cut(s string, style Style, used int) string {
	if style.Width == 0 {
		return s
	}
	return style.Cut(s, style.Width-used)
}

func (p *Prompt) footer(style Style) string {
	if p.typed != "" && !p.Custom && p.hint == "" {
		return "  " + p.cut(style.pick("› ", "> ")+Line(p.typed), style, 2)
	}
	if p.hint != "" {
		return "  " + style.Paint(Yellow, p.cut(p.hint, style, 2))
	}
	if p.Deaf {
		return ""
	}
	how := howToChoose
	if len(p.Options) == 0 {
		how = "type an answer, then enter"
	}
	return "  " + style.Paint(Dim, p.cut(how+"; ctrl-d leaves it open, ctrl-c stops the run", style, 2))
}
