package llm

import (
	"context"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/workflow"
)

func schemaOf(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// An API that only allows properties named in the schema cannot enforce a schema that
// allows others, because the model could not return them.
func TestOpenObjectsAreNotClosed(t *testing.T) {
	for name, schema := range map[string]string{
		"anything":               `{"type":"object"}`,
		"anything inside":        `{"type":"object","required":["a"],"properties":{"a":{"type":"object"}}}`,
		"anything or nothing":    `{"type":"object","required":["a"],"properties":{"a":{"type":["object","null"]}}}`,
		"a map":                  `{"type":"object","additionalProperties":{"type":"number"}}`,
		"a map inside":           `{"type":"object","required":["a"],"properties":{"a":{"type":"object","additionalProperties":{"type":"number"}}}}`,
		"more than the named":    `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"additionalProperties":true}`,
		"by patterns":            `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"patternProperties":{"^x-":{"type":"string"}}}`,
		"required and not named": `{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"}}}`,
		"in two parts":           `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`,
		"one part of two":        `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"anyOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":{"type":"string"}},"required":["c"]}]}`,
		"and another":            `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, api := range []API{Anthropic, OpenAI, Compatible} {
				fake := fakemodel.Start(t)
				tk := task(fakemodel.Prompt(fakemodel.Step{Text: `{"a": 1, "b": "x"}`}))
				tk.Output = workflow.Output{Mode: workflow.JSON, Schema: schemaOf(t, schema)}
				_, _ = executor(t, api, fake.URL, "k").Run(t.Context(), tk, func([]byte) {}) // whether the answer fits is not tested here
				body := string(fake.Requests()[0].Body)
				if strings.Contains(body, `"additionalProperties":false`) || strings.Contains(body, `"strict":true`) {
					t.Errorf("%s is held to %s", api, body)
				}
			}
		})
	}
}

// A schema that names every property is sent to each API that can enforce it.
func TestClosedObjectsAreKeptTo(t *testing.T) {
	for name, schema := range map[string]string{
		"as written":  `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}},"additionalProperties":false}`,
		"as meant":    `{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}}}}}`,
		"by choice":   `{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"null"},{"type":"object","required":["b"],"properties":{"b":{"type":"string"}}}]}}}`,
		"with a name": `{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"object","required":["c"],"properties":{"c":{"type":"string"}}}}}`,
		"and nothing": `{"type":"object","required":["a"],"properties":{"a":{"type":"object","additionalProperties":false}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			for api, want := range map[API]string{Anthropic: `"additionalProperties":false`, OpenAI: `"strict":true`, Compatible: `"strict":true`, Gemini: `"responseJsonSchema"`} {
				fake := fakemodel.Start(t)
				tk := task(fakemodel.Prompt(fakemodel.Step{Text: `{}`}))
				tk.Output = workflow.Output{Mode: workflow.JSON, Schema: schemaOf(t, schema)}
				_, _ = executor(t, api, fake.URL, "k").Run(t.Context(), tk, func([]byte) {})
				if body := string(fake.Requests()[0].Body); !strings.Contains(body, want) {
					t.Errorf("%s has no %s: %s", api, want, body)
				}
			}
		})
	}
}

// A constant becomes an enumeration of one value for an API without constants.
func TestConstants(t *testing.T) {
	got := onlyWith(geminiKeywords, schemaOf(t, `{"type":"object","properties":{"kind":{"const":"x"}}}`))
	if text := workflow.FormatJSON(got); !strings.Contains(text, `{"enum":["x"]}`) {
		t.Error(text)
	}
}

// The APIs require an object as arguments, without alternatives at the top level. The
// schemas of MCP servers are less strict; they are checked completely on our side.
func TestSchemasOfTools(t *testing.T) {
	input := schemaOf(t, `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"],"description":"list"},"c":{"type":"string"}},
		"oneOf":[{"required":["a"]},{"required":["c"]}],"not":{"required":["a","c"]}}`)
	each(t, func(t *testing.T, api API) {
		fake := fakemodel.Start(t)
		tk := task(fakemodel.Prompt(fakemodel.Step{Tool: "t", Args: map[string]any{"a": []any{1}, "c": "x"}}, fakemodel.Step{Text: "ok"}))
		var called bool
		tk.Tools = []agent.Tool{{Name: "t", Input: input, Call: func(_ context.Context, _ map[string]any, _ *agent.Task, _ agent.Log) (string, error) {
			called = true
			return "", nil
		}}}
		if got, err := executor(t, api, fake.URL, "k").Run(t.Context(), tk, func([]byte) {}); err != nil || got.Output != "ok" || called {
			t.Fatalf("%q, %v, called %v", got.Output, err, called)
		}
		requests := fake.Requests()
		schema := requests[0].Tools[0].Schema
		for _, key := range []string{"oneOf", "anyOf", "allOf", "not"} {
			if schema[key] != nil {
				t.Errorf("%s stands at the top: %s", key, workflow.FormatJSON(schema))
			}
		}
		if text := workflow.FormatJSON(schema); strings.Count(text, `"items":{}`) != 2 {
			t.Errorf("a list says nothing of what it holds: %s", text)
		}
		if body := string(requests[1].Body); !strings.Contains(body, "invalid arguments for the tool t") {
			t.Errorf("what is wrong was not told: %s", body)
		}
	})
}
