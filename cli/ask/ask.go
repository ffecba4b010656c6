// Package ask asks people, line by line. [Render] and [Interpret] are pure: they
// serve every surface that shows text and takes a line back. [Terminal] asks with
// them on a reader and a writer.
package ask

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// Question is what a person is asked.
type Question struct {
	Text    string
	Options []workflow.Option
	Custom  bool // an answer that is no option is taken as it is
}

// Render shows a question with its options, numbered, and how to answer. Control
// characters in it are left out: they come from agents and could rewrite what
// stands on the screen.
func Render(q Question) string {
	var b strings.Builder
	b.WriteString(printable(strings.TrimSpace(q.Text)) + "\n")
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d) %s", i+1, oneLine(name(o)))
		if o.Label != "" && o.Label != o.Value {
			fmt.Fprintf(&b, " (%s)", oneLine(o.Value))
		}
		if o.Description != "" {
			b.WriteString(": " + oneLine(o.Description))
		}
		b.WriteByte('\n')
	}
	switch {
	case len(q.Options) == 0:
		b.WriteString("Answer with any text.\n")
	case q.Custom:
		b.WriteString("Answer with a number, a name, or any other text.\n")
	default:
		b.WriteString("Answer with a number or a name.\n")
	}
	return b.String()
}

// Interpret is the answer that a line gives: the value of an option that it names
// by value, by label (in any case of letters), by number, or as [workflow.Chosen]
// understands it, in this order; else the line itself where the question allows
// that.
func Interpret(q Question, line string) (string, error) {
	said := strings.TrimSpace(line)
	if said == "" {
		return "", fmt.Errorf("an empty line is no answer")
	}
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, o := range q.Options {
			if same(said, o.Value) || o.Label != "" && same(said, o.Label) {
				return o.Value, nil
			}
		}
	}
	if n, err := strconv.Atoi(said); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Value, nil
	}
	if value, ok := workflow.Chosen(q.Options, said); ok {
		return value, nil
	}
	if q.Custom {
		return said, nil
	}
	values := make([]string, len(q.Options))
	for i, o := range q.Options {
		values[i] = oneLine(o.Value)
	}
	return "", fmt.Errorf("%q is not offered; answer with %s", said, strings.Join(values, ", "))
}

func name(o workflow.Option) string {
	if o.Label != "" {
		return o.Label
	}
	return o.Value
}

// printable leaves out what a terminal would act on, but for newlines and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, s)
}

func oneLine(s string) string { return strings.Join(strings.Fields(printable(s)), " ") }
