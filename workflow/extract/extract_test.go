package extract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

func TestValue(t *testing.T) {
	full, jsonMode := workflow.Output{}, workflow.Output{Mode: workflow.JSON}
	path := func(p string) workflow.Output { return workflow.Output{Mode: workflow.JSONPath, Pattern: p} }
	regex := func(p string) workflow.Output { return workflow.Output{Mode: workflow.Regex, Pattern: p} }
	line := workflow.Output{Mode: workflow.FirstLine}
	object := map[string]any{"a": json.Number("1")}
	tests := []struct {
		name   string
		output workflow.Output
		raw    string
		want   any
	}{
		{"text as it is", full, "  a\n\n", "  a\n"},
		{"text with a Windows line end", full, "a\r\n", "a"},
		{"empty text", full, "", ""},
		{"json", jsonMode, ` {"a": 1} `, object},
		{"json scalar", jsonMode, "12345678901234567890\n", json.Number("12345678901234567890")},
		{"json in a fence", jsonMode, "Here it is:\n```json\n{\"a\": 1}\n```\nDone.", object},
		{"json in the second fence", jsonMode, "```sh\nls\n```\n```\n{\"a\": 1}\n```", object},
		{"json in a fence that is not closed", jsonMode, "```json\n{\"a\": 1}", object},
		{"json in prose", jsonMode, "The result {as promised} is {\"a\": 1}, I think.", object},
		{"json behind an open bracket", jsonMode, "[ {\"a\": 1}", object},
		{"path", path("$.a"), `{"a": 1}`, json.Number("1")},
		{"path with several", path("$[*].a"), `[{"a": 1}, {"a": 2}]`, []any{json.Number("1"), json.Number("2")}},
		{"regex group", regex(`score: (\d+)`), "final score: 8 of 10", "8"},
		{"regex match", regex(`\d+`), "final score: 8 of 10", "8"},
		{"regex optional group", regex(`a(b)?`), "xa", "a"},
		{"first line", line, "\n \n  yes \nbecause", "yes"},
		{"schema on the whole output", workflow.Output{Schema: map[string]any{"type": "object"}}, "```\n{\"a\": 1}\n```", object},
		{"schema on what a regex found", workflow.Output{Mode: workflow.Regex, Pattern: `\d+`, Schema: map[string]any{"type": "integer"}}, "8 of 10", json.Number("8")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, err := extract.New(tt.output)
			if err != nil {
				t.Fatal(err)
			}
			got, err := x.Value(tt.raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestValueErrors(t *testing.T) {
	schema := map[string]any{
		"type": "object", "required": []any{"severity", "score"},
		"properties": map[string]any{
			"severity": map[string]any{"enum": []any{"low", "high"}},
			"lines":    map[string]any{"type": "array", "items": map[string]any{"type": "integer", "minimum": json.Number("1")}},
		},
	}
	tests := []struct {
		name   string
		output workflow.Output
		raw    string
		want   string
	}{
		{"no json", workflow.Output{Mode: workflow.JSON}, "I could not do it.", `expected JSON, found "I could not do it."; answer with the JSON value alone`},
		{"nothing", workflow.Output{Mode: workflow.JSON}, "  ", `expected JSON, found nothing; answer with the JSON value alone`},
		{"bad json", workflow.Output{Mode: workflow.JSON}, "See:\n{\"a\": 1,\n 'b': 2}", `expected JSON, found an object at line 2, column 1 that is not valid JSON: invalid character '\'' looking for beginning of object key string at line 3, column 2`},
		{"cut json", workflow.Output{Mode: workflow.JSON}, `{"a": [1, 2`, `expected JSON, found an object at line 1, column 1 that is not valid JSON: it ends too early`},
		{"path", workflow.Output{Mode: workflow.JSONPath, Pattern: "$.b"}, `{"a": 1}`, `expected a value at $['b'] in the JSON output, found none; the output is an object with a`},
		{"regex", workflow.Output{Mode: workflow.Regex, Pattern: `^\d+$`}, "none", `expected text that matches the regular expression ^\d+$, found "none"`},
		{"first line", workflow.Output{Mode: workflow.FirstLine}, "\n\n", `expected a line of text, found nothing`},
		{"schema", workflow.Output{Mode: workflow.JSON, Schema: schema}, `{"severity": "bad", "lines": [1, "two", 0]}`, `the output does not match its schema:
- /: expected the property score, found an object with lines, severity
- /lines/1: expected integer, found the text "two"
- /lines/2: minimum: got 0, want 1
- /severity: expected one of "low", "high", found the text "bad"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			x, err := extract.New(tt.output)
			if err != nil {
				t.Fatal(err)
			}
			_, err = x.Value(tt.raw)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		output workflow.Output
		want   string
	}{
		{workflow.Output{Mode: "xpath"}, `extract: unknown output mode "xpath"`},
		{workflow.Output{Mode: workflow.Regex, Pattern: "("}, "extract: error parsing regexp: missing closing ): `(`"},
		{workflow.Output{Mode: workflow.JSONPath, Pattern: "a"}, "extract: jsonpath: a path must begin with $ at offset 0"},
		{workflow.Output{Schema: map[string]any{"type": "strng"}}, `extract: schema: /type: `},
		{workflow.Output{Schema: map[string]any{"$ref": "file:///etc/passwd"}}, `external references are not followed`},
		{workflow.Output{Schema: map[string]any{"$ref": "other.json"}}, `external references are not followed`},
	}
	for _, tt := range tests {
		_, err := extract.New(tt.output)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.output, err, tt.want)
		}
	}
}

// TestHostileTextEnds extracts from texts for which a naive search would take minutes.
func TestHostileTextEnds(t *testing.T) {
	x, err := extract.New(workflow.Output{Mode: workflow.JSON})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() {
		for _, text := range []string{strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<18), strings.Repeat("```", 1<<18)} {
			if v, err := x.Value(text); err == nil {
				t.Errorf("got %v", v)
			}
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on and on")
	}
}

func TestPlainOutputIsFree(t *testing.T) {
	got := testing.AllocsPerRun(100, func() {
		x, err := extract.New(workflow.Output{Var: "v"})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := x.Value("text"); err != nil || v == nil {
			t.Fatal(err)
		}
	})
	if got > 1 { // the text in its interface
		t.Errorf("%v allocations", got)
	}
}
