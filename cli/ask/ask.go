// Package ask asks people questions, line by line. [Render] and [Interpret] are pure, so
// that they work for any interface that shows text and reads a line. [Terminal] uses them
// with a reader and a writer.
package ask

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

// Question is what a person is asked.
type Question struct {
	Text    string
	Detail  string // what it is about, verbatim
	Options []workflow.Option
	Custom  bool   // any other text is an answer, too
	Amount  bool   // that text is a number, so options are not numbered
	How     string // how to answer; "": as the options say
}

// Render returns the lines of a question: its text, its numbered options, and how to
// answer. The text comes from agents, so control and invisible characters are escaped.
func Render(q Question, style view.Style) []string {
	lines := style.Asked(q.Text, q.Detail, "")
	for i, o := range q.Options {
		text := view.RevealLine(name(o))
		if o.Label != "" && o.Label != o.Value {
			text += " (" + view.RevealLine(o.Value) + ")"
		}
		if o.Description != "" {
			text += ": " + view.RevealLine(o.Description)
		}
		for j, row := range style.Wrap(text, len("  1) ")) {
			mark := "     "
			switch {
			case j == 0 && q.Amount:
				mark = "  -  "
			case j == 0:
				mark = fmt.Sprintf("  %d) ", i+1)
			}
			lines = append(lines, mark+row)
		}
	}
	how := "Answer with a number or a name."
	switch {
	case q.How != "":
		how = q.How
	case len(q.Options) == 0:
		how = "Answer with any text."
	case q.Custom && !q.Amount:
		how = "Answer with a number, a name, or any other text."
	}
	return append(lines, how)
}

// Interpret returns the answer in a line: the value of the option with that value, label
// (ignoring case) or number, or as [workflow.Chosen] understands it, in this order; else
// the line itself, if the question allows that.
func Interpret(q Question, line string) (string, error) {
	said := strings.TrimSpace(line)
	if said == "" {
		return "", fmt.Errorf("the answer is empty")
	}
	for _, same := range []func(string, string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, o := range q.Options {
			if same(said, o.Value) || o.Label != "" && same(said, o.Label) {
				return o.Value, nil
			}
		}
	}
	if n, err := strconv.Atoi(said); err == nil && !q.Amount && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1].Value, nil
	}
	if len(q.Options) == 2 && q.Options[0].Value == "yes" && q.Options[1].Value == "no" {
		for _, o := range q.Options {
			if strings.EqualFold(said, o.Value[:1]) {
				return o.Value, nil
			}
		}
	}
	if value, ok := workflow.Chosen(q.Options, said); ok {
		return value, nil
	}
	if q.Custom {
		return said, nil
	}
	values := make([]string, len(q.Options))
	for i, o := range q.Options {
		values[i] = view.RevealLine(o.Value)
	}
	return "", fmt.Errorf("%q is not an option; answer with one of: %s", said, strings.Join(values, ", "))
}

func name(o workflow.Option) string {
	if o.Label != "" {
		return o.Label
	}
	return o.Value
}
