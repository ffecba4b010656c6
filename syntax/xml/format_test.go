package xml_test

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// Texts that are difficult in XML come back byte for byte, wherever they are.
func TestTextsSurvive(t *testing.T) {
	long := strings.Repeat("A prompt of twenty kilobytes & more.\n\t<indented>\n\n", 400)
	for _, text := range []string{
		"plain", " leading", "trailing ", "\n\nlines around\n\n", "  both\n  indented\n", "a\r\nb\rc", "\ttab\t", "]]>", "a]]>b\n<c>", "-->", "<!-- -->",
		"&amp; &#10;", `"quotes" 'and' ` + "`ticks`", "{{braces", "}}", "${", "$$", "<b>bold</b>\n<i>", "👩‍🚀 שלום \u202E", "\u00a0\u2028\u0085", "\x00", "\x0b\x1f",
		"\uFFFE\uFFFF", "null", "12", "true", "{\"a\": 1}", "[]", " 12", "\n", " ", "a\n \nb", "a\n\n\nb", long, strings.Repeat("x", 500),
	} {
		w := &workflow.Workflow{
			Name: text, Description: text, State: map[string]any{"s": text, text: "k"}, Agents: []workflow.AgentRef{{Name: text, Role: text, Color: text}},
			Inputs: []workflow.Param{{Name: text, Description: text, HasDefault: true, Default: []any{text, map[string]any{"k": text}}}},
		}
		task := &workflow.Task{Agent: text, Inputs: []workflow.Binding{{Name: text, Value: map[string]any{"a": "b"}}, {Name: "value", Value: json(text)}}}
		w.Body.Nodes = []workflow.Node{
			{ID: "1", Title: text, Step: task, Labels: map[string]string{"l": text, text: "k"}},
			{ID: "2", Step: &workflow.Combine{Strategy: workflow.Array, Separator: text}},
			{ID: "3", Step: &workflow.Human{Options: []workflow.Option{{Value: text, Label: text, Description: text}}}},
		}
		w.Body.Edges = []workflow.Edge{{From: "1", To: "2", On: workflow.OnLabel, Label: text}, {From: "2", To: "3"}}
		written, err := xml.Format(w)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, _ := xml.Parse("", written)
		if got.Body.Nodes[0].Title != text || got.Agents[0].Color != text {
			t.Errorf("%q is lost where the digest does not look", text)
		}
	}
}

// json returns a value that holds a text that is not a template.
func json(text string) any {
	if strings.ContainsAny(text, "${") {
		return nil
	}
	return []any{text, nil, true}
}

func TestFormatSaysWhyItCannot(t *testing.T) {
	for _, id := range []string{"a\xffb", "a,b"} {
		w := &workflow.Workflow{Name: "w", Body: workflow.Graph{
			Nodes: []workflow.Node{{ID: id, Step: &workflow.Task{}}, {ID: "b", Step: &workflow.Task{}}},
			Edges: []workflow.Edge{{From: id, To: "b"}},
		}}
		if _, err := xml.Format(w); err == nil || !strings.Contains(err.Error(), "not UTF-8, or an id with a comma") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
