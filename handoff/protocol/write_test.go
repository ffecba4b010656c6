package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Reading what Format writes gives the same requests, with the same text around them.
func TestFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "Ä", " ", "\n", "\r", "\t", "```", "~~~", "]]>", "<b>", "&amp;", `"`, "- ", "> ", "    ", "</agent_request>"}), 1, 8).Draw(t, "parts")
			return "x" + strings.Join(parts, "") + "x"
		})
		name := rapid.SampledFrom([]string{"", "worker", `a "b" <c>`})
		list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b-2", "c.d"}), 0, 2)
		requests := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Request {
			q := &Request{
				Version: rapid.SampledFrom([]string{"1.0", "1.1"}).Draw(t, "version"), ParentAgent: name.Draw(t, "parent"), TargetAgent: name.Draw(t, "target"),
				Mode: Spawn, Intent: text.Draw(t, "intent"), Summary: text.Draw(t, "summary"), Workflow: TDD, Details: text.Draw(t, "details"),
				Constraints: rapid.SliceOfN(text, 0, 2).Draw(t, "constraints"), Notes: text.Draw(t, "notes"),
				Priority: rapid.SampledFrom([]Priority{High, Medium, Low}).Draw(t, "priority"), Estimate: 90_000_000_000, MaxRetries: rapid.IntRange(0, 2).Draw(t, "retries"),
				DependsOn: list.Draw(t, "depends"), Notify: list.Draw(t, "notify"),
				Deliverables: []Deliverable{{Kind: Decision, Required: true, Text: text.Draw(t, "decision")}, {Kind: File, Path: `a "b".txt`, Text: text.Draw(t, "file")}},
			}
			if rapid.Bool().Draw(t, "extended") {
				q.Namespaces = map[string]string{"qa": "urn:qa&co"}
				q.Attributes = []Attribute{{"qa:level", "a\nb"}, {"team", ""}}
				q.Extensions = []Extension{{"qa:cov", "urn:qa&co", "<qa:cov>\n\t80</qa:cov>"}, NewExtension("h", "step", "urn:step", text.Draw(t, "extension"))}
			}
			return q
		}), 1, 3).Draw(t, "requests")
		around := strings.TrimSpace(rapid.SampledFrom([]string{"", "# Work\n\n- do it", "<!-- open", "```\nopen", "> quoted"}).Draw(t, "context"))
		written, err := Format(around, requests, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("x.md", written, Options{})
		if err != nil || again.Found.Errors() {
			t.Fatalf("%v %v\n%s", err, again.Found, written)
		}
		want, _ := json.Marshal(requests)
		got, _ := json.Marshal(again.Requests)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || again.Context != around {
			t.Fatalf("%s\n%s\n%s", diff, again.Context, written)
		}
	})
}

func TestFormatRefuses(t *testing.T) {
	for _, q := range []*Request{
		{Version: "1.0", Mode: Spawn, Intent: "bell \a", Summary: "x", Workflow: None, Details: "x", Deliverables: []Deliverable{{Kind: Report, Text: "x"}}},
		{Version: "1.0", Mode: "later", Intent: "x", Summary: "x", Workflow: None, Details: "x", Deliverables: []Deliverable{{Kind: Report, Text: "x"}}},
		{Version: "1.0", Mode: Spawn, Intent: "x", Summary: "x", Workflow: None, Details: "x"},
	} {
		if text, err := Format("", []*Request{q}, nil); err == nil {
			t.Errorf("%s", text)
		}
	}
}
