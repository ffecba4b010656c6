package protocol_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/handoff/protocol"
)

const valid = `<agent_request version="1.0">
  <mode>spawn</mode>
  <original_intent>Keep the shop running</original_intent>
  <current_task_summary>Check that the shop answers</current_task_summary>
  <workflow>standard</workflow>
  <task_details>
    1. Ask for the first page.
    2. Ask for the basket.
  </task_details>
  <constraints>
    <constraint>Restart nothing</constraint>
    <constraint>Maximum duration: 10 minutes</constraint>
  </constraints>
  <deliverables>
    <file path="docs/{session-id}/result.json">What was found</file>
    <decision>May the shop stay open?</decision>
    <file path="notes.md" required="false"/>
  </deliverables>
  <backlog_notes>Ask the planner if it is down.</backlog_notes>
</agent_request>
`

// fenced puts a request into Markdown.
func fenced(xml string) string { return "# Task\n\nBefore.\n\n```xml\n" + xml + "```\n\nAfter.\n" }

func read(t *testing.T, file, text string, o protocol.Options) *protocol.Handoffs {
	t.Helper()
	h, err := protocol.Read(file, []byte(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// found returns the diagnostics of a text, one per line.
func found(h *protocol.Handoffs) string {
	var lines []string
	for _, d := range h.Found {
		lines = append(lines, fmt.Sprintf("%d:%d %s %s: %s (%s)", d.Line, d.Column, d.Severity, d.Code, d.Summary, d.Detail))
	}
	return strings.Join(lines, "\n")
}

func TestRead(t *testing.T) {
	for file, text := range map[string]string{"a.md": fenced(valid), "a.xml": valid, "-": valid, "crlf.md": strings.ReplaceAll(fenced(valid), "\n", "\r\n"), "bom.md": "\uFEFF" + fenced(valid)} {
		h := read(t, file, text, protocol.Options{})
		if len(h.Requests) != 1 || len(h.Found) > 0 {
			t.Fatalf("%s: %d requests\n%s", file, len(h.Requests), found(h))
		}
		q := h.Requests[0]
		if q.Mode != protocol.Spawn || q.Workflow != protocol.Standard || q.Intent != "Keep the shop running" ||
			q.Details != "1. Ask for the first page.\n2. Ask for the basket." || q.Notes != "Ask the planner if it is down." || q.Priority != protocol.Medium {
			t.Errorf("%s: %+v", file, q)
		}
		if want := []string{"Restart nothing", "Maximum duration: 10 minutes"}; !slices.Equal(q.Constraints, want) {
			t.Errorf("%s: constraints are %q", file, q.Constraints)
		}
		for i := range q.Deliverables {
			q.Deliverables[i].Pos.File = ""
			q.Deliverables[i].Pos.Line = 0
			q.Deliverables[i].Pos.EndLine = 0
			q.Deliverables[i].Pos.Column = 0
			q.Deliverables[i].Pos.EndColumn = 0
		}
		want := []protocol.Deliverable{
			{Kind: protocol.File, Path: "docs/{session-id}/result.json", Required: true, Text: "What was found"},
			{Kind: protocol.Decision, Required: true, Text: "May the shop stay open?"},
			{Kind: protocol.File, Path: "notes.md"},
		}
		if diff := cmp.Diff(want, q.Deliverables); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		if strings.HasSuffix(file, ".md") && strings.ReplaceAll(h.Context, "\r", "") != "# Task\n\nBefore.\n\n\nAfter." {
			t.Errorf("%s: the context is %q", file, h.Context)
		}
	}
}

func TestAttributes(t *testing.T) {
	text := strings.Replace(valid, `version="1.0"`, `version="1.1" session_id="s-1" parent_agent="planner" target_agent="ops" priority="high"
  estimated_duration="10m" timeout="1h30m" max_retries="3" depends_on="a, b" notify_on_completion="planner,tracker" ticket="T-1"
  xmlns:qa="urn:qa"`, 1)
	text = strings.Replace(text, "</agent_request>", `<qa:tests><qa:coverage>90</qa:coverage></qa:tests></agent_request>`, 1)
	h := read(t, "a.xml", text, protocol.Options{})
	if len(h.Requests) != 1 {
		t.Fatal(found(h))
	}
	q := h.Requests[0]
	if q.Version != "1.1" || q.SessionID != "s-1" || q.ParentAgent != "planner" || q.TargetAgent != "ops" || q.Priority != protocol.High ||
		q.Estimate != 10*time.Minute || q.Timeout != 90*time.Minute || q.MaxRetries != 3 ||
		!slices.Equal(q.DependsOn, []string{"a", "b"}) || !slices.Equal(q.Notify, []string{"planner", "tracker"}) {
		t.Errorf("%+v", q)
	}
	if want := []protocol.Attribute{{Name: "ticket", Value: "T-1"}}; !slices.Equal(q.Attributes, want) {
		t.Errorf("attributes are %v", q.Attributes)
	}
	if want := []protocol.Extension{{Name: "qa:tests", Space: "urn:qa", XML: "<qa:tests><qa:coverage>90</qa:coverage></qa:tests>"}}; !slices.Equal(q.Extensions, want) {
		t.Errorf("extensions are %v", q.Extensions)
	}
	for field, want := range map[string]string{
		"mode": "spawn", "@priority": "high", "@ticket": "T-1", "constraints": "Restart nothing|Maximum duration: 10 minutes",
		"//agent_request/constraints/constraint": "", "constraints/constraint": "Restart nothing|Maximum duration: 10 minutes",
		"deliverables/file/@path": "docs/{session-id}/result.json|notes.md", "qa:coverage": "90", "//qa:coverage": "90",
		"{urn:qa}coverage": "90", "qa:tests/qa:coverage": "90", "coverage": "", "nothing": "", "zz:coverage": "",
	} {
		got, err := q.Get(field)
		if strings.HasPrefix(field, "//agent_request/") {
			want = "Restart nothing|Maximum duration: 10 minutes"
		}
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s is %q, %v; want %q", field, got, err, want)
		}
	}
	for _, field := range []string{"", "/", "a//b", "@a/b"} {
		if got, err := q.Get(field); err == nil {
			t.Errorf("%q is %q", field, got)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the expected diagnostics")

// compare compares a text with a file in testdata.
func compare(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, or run with -update):\n%s", file, diff)
	}
}

// mistakes are changes to the valid request that make it doubtful or invalid.
var mistakes = []struct{ name, was, is string }{
	{"mode", "spawn", "invalid-mode"},
	{"case", ">spawn<", "> Spawn<"},
	{"missing", "  <original_intent>Keep the shop running</original_intent>\n", ""},
	{"blank", "Keep the shop running", " "},
	{"misspelt", "<workflow>standard</workflow>", "<workflw>standard</workflw>"},
	{"twice", "<workflow>standard</workflow>", "<workflow>standard</workflow><workflow>TDD</workflow>"},
	{"foreign", "<workflow>standard</workflow>", "<workflow>standard</workflow><colour>red</colour>"},
	{"order", "<mode>spawn</mode>\n  <original_intent>Keep the shop running</original_intent>", "<original_intent>Keep the shop running</original_intent>\n  <mode>spawn</mode>"},
	{"end tag", "Keep the shop running</original_intent>", "Keep the shop running"},
	{"ampersand", "Keep the shop running", "Keep the shop & basket running"},
	{"text", "  <mode>", "  stray <mode>"},
	{"markup", "Keep the shop", "Keep <b>the</b> shop"},
	{"no path", ` path="notes.md"`, ""},
	{"unknown attribute", ` path="notes.md"`, ` path="notes.md" size="3"`},
	{"no constraint", "<constraint>Restart nothing</constraint>\n    <constraint>Maximum duration: 10 minutes</constraint>", ""},
	{"no deliverable", `<file path="docs/{session-id}/result.json">What was found</file>
    <decision>May the shop stay open?</decision>
    <file path="notes.md" required="false"/>`, ""},
	{"version", `"1.0"`, `"2.0"`},
	{"timeout", `version="1.0"`, `version="1.0" timeout="soon"`},
	{"endless timeout", `version="1.0"`, `timeout="99999999999999999999d"`},
	{"priority", `version="1.0"`, `priority="urgent"`},
	{"priority in 1.1", `version="1.0"`, `version="1.1" priority="urgent"`},
	{"retries", `version="1.0"`, `max_retries="-1"`},
	{"session", `version="1.0"`, `session_id="../x"`},
	{"itself", `version="1.0"`, `session_id="s-1" depends_on="s-0,s-1"`},
	{"absolute path", "notes.md", "/etc/passwd"},
	{"parent path", "notes.md", "a/../../x"},
	{"path in .git", "notes.md", "src/.Git/hooks/x"},
	{"the same file", "notes.md", "docs/{session-id}/result.json"},
	{"folder", "notes.md", "notes/"},
	{"backslash", "notes.md", `notes\x`},
	{"short summary", "Check that the shop answers", "Check"},
	{"doctype", "<agent_request", "<!DOCTYPE agent_request [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<agent_request"},
	{"entity", "Restart nothing", "&xxe;"},
	{"other namespace", "<agent_request", `<agent_request xmlns="urn:other"`},
}

// TestMistakes compares the reported diagnostics with testdata, in strict mode, as for a person's
// file, and in lenient mode, as for the answer of a model.
func TestMistakes(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		var b strings.Builder
		for _, m := range mistakes {
			text := strings.Replace(fenced(valid), m.was, m.is, 1)
			if text == fenced(valid) {
				t.Fatalf("%s changes nothing", m.name)
			}
			h := read(t, "a.md", text, protocol.Options{Lenient: lenient})
			fmt.Fprintf(&b, "## %s\n%s\n", m.name, found(h))
			if h.Found.Errors() == (len(h.Requests) == 1) {
				t.Errorf("%s: %d requests", m.name, len(h.Requests))
			}
			if lenient && len(h.Requests) == 1 && h.Requests[0].Mode != protocol.Spawn {
				t.Errorf("%s: the mode is %q", m.name, h.Requests[0].Mode)
			}
		}
		compare(t, map[bool]string{false: "strict.txt", true: "lenient.txt"}[lenient], b.String())
	}
}

// A path must not mean something else on Windows or macOS, on any system.
func TestPathElsewhere(t *testing.T) {
	for path, why := range map[string]string{
		".git./hooks/x": "which Windows ignores", ".git /hooks/x": "which Windows ignores", ".hocket.../x": "which Windows ignores", "docs/a.md.": "which Windows ignores",
		".GIT/x": "is in .GIT", ".Claude/x": "is in .Claude",
		"a/con": "a device on Windows", "nul.txt": "a device on Windows", "COM1/x": "a device on Windows", ".mcp.json": "settings file of CLI agents", "a/OpenCode.json": "settings file of CLI agents",
		"git~1/hooks/x": "Windows may use for another file", "a/HOCKET~1/x": "Windows may use for another file", "GI7EBA~1/x": "Windows may use for another file", "longna~2.txt": "Windows may use for another file",
		"a.txt:b": "a stream of another file", ".git::$INDEX_ALLOCATION/x": "a stream of another file",
		".g\u200cit/x": "invisible characters", "a\u202eb.md": "invisible characters",
	} {
		got := found(read(t, "a.md", strings.Replace(fenced(valid), "notes.md", path, 1), protocol.Options{}))
		if !strings.Contains(got, "Invalid deliverable path: "+path) || !strings.Contains(got, why) {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, id := range []string{"CON", "nul.1", "x.."} {
		got := found(read(t, "a.md", strings.Replace(fenced(valid), "<agent_request", `<agent_request session_id="`+id+`"`, 1), protocol.Options{}))
		if !strings.Contains(got, fmt.Sprintf("invalid session id %q: its directory has a name", id)) {
			t.Errorf("%s: %s", id, got)
		}
	}
	for _, path := range []string{"console.md", "a.con", "a~b.md", "backup~", "notes~1234567890x.md", ".github/x.yml", ".gitignore", "docs/{session-id}/a b.md", "größe.md"} {
		if got := found(read(t, "a.md", strings.Replace(fenced(valid), "notes.md", path, 1), protocol.Options{})); got != "" {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The id of a session cannot turn an allowed path into a forbidden one.
func TestPathWithID(t *testing.T) {
	text := strings.NewReplacer(`version="1.0"`, `session_id="git"`, "notes.md", ".{session-id}/hooks/pre-commit").Replace(fenced(valid))
	if got := found(read(t, "a.md", text, protocol.Options{})); !strings.Contains(got, "Invalid deliverable path: .{session-id}/hooks/pre-commit is in .git") {
		t.Error(got)
	}
}

// TestMarkdown reads requests in places where Markdown allows them.
func TestMarkdown(t *testing.T) {
	lines := func(prefix, text string) string {
		return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
	}
	block := "```xml\n" + valid + "```\n"
	var b strings.Builder
	for _, c := range []struct{ name, text string }{
		{"none", "# Task\n\nWrite a poem.\n"},
		{"without fence", "# Task\n\n" + valid},
		{"indented fence", "1. Do this:\n\n" + lines("   ", block)},
		{"tildes", "~~~~ xml\n" + valid + "~~~~\n"},
		{"no info", "```\n" + valid + "```\n"},
		{"longer fence", "`````xml\n" + valid + "`````\n"},
		{"quotation", lines("> ", block)},
		{"inside a longer fence", "````markdown\n" + block + "````\n"},
		{"declaration", "```xml\n<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + valid + "```\n"},
		{"comment first", "```xml\n<!-- what for -->\n" + valid + "```\n"},
		{"unclosed", "# Task\n\n```xml\n" + valid + "\nAnd then.\n"},
		{"another block", "```xml\n<settings/>\n```\n\n" + block},
		{"two", block + "\n" + block},
		{"the same session twice", strings.Replace(block, "<agent_request", `<agent_request session_id="a"`, 1) + strings.Replace(block, "<agent_request", `<agent_request session_id="a"`, 1)},
		{"circle", strings.Replace(block, "<agent_request", `<agent_request session_id="a" depends_on="b"`, 1) + strings.Replace(block, "<agent_request", `<agent_request session_id="b" depends_on="a"`, 1)},
		{"CDATA", strings.Replace(block, "Restart nothing", "<![CDATA[a < b && c]]>", 1)},
		{"fence in the text", strings.Replace("~"+"~~xml\n"+valid+"~~~\n", "1. Ask", "```\ncurl x\n```", 1)},
		{"not UTF-8", "# T\xe4sk\n"},
		{"UTF-16", "\xff\xfe#\x00 \x00"},
		{"wrong in a quotation", lines("> ", strings.Replace(block, "spawn", "spown", 1))},
	} {
		h := read(t, "a.md", c.text, protocol.Options{})
		fmt.Fprintf(&b, "## %s\n%d blocks, %d requests, %d characters around them\n", c.name, h.Blocks, len(h.Requests), len(h.Context))
		if said := found(h); said != "" {
			b.WriteString(said + "\n")
		}
		if c.name == "CDATA" && h.Requests[0].Constraints[0] != "a < b && c" {
			t.Errorf("%q", h.Requests[0].Constraints[0])
		}
	}
	compare(t, "markdown.txt", b.String())
}

// TestAnswer reads a request from the answer of a model.
func TestAnswer(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct{ name, text string }{
		{"without fence", "Of course! Here it is:\n\n" + valid + "\nAnything else?"},
		{"cut off", "```xml\n" + valid[:strings.Index(valid, "</deliverables>")]},
		{"nothing", "I cannot do that."},
	} {
		h := read(t, "answer", c.text, protocol.Options{Lenient: true})
		fmt.Fprintf(&b, "## %s\n%d requests\n%s\n", c.name, len(h.Requests), found(h))
	}
	compare(t, "answer.txt", b.String())
}

// TestLarge reads the largest possible requests.
func TestLarge(t *testing.T) {
	for name, text := range map[string]string{
		"10 MB":               strings.Replace(valid, "1. Ask", strings.Repeat("Long. ", 10<<20/6), 1),
		"100,000 constraints": strings.Replace(valid, "<constraint>Restart nothing</constraint>", strings.Repeat("<constraint>Restart nothing</constraint>\n", 100_000), 1),
		"100,000 files":       strings.Replace(valid, `<file path="notes.md" required="false"/>`, files(100_000), 1),
		"100,000 extensions":  strings.Replace(valid, "</agent_request>", strings.Repeat(`<x:a xmlns:x="urn:x"/>`, 100_000)+"</agent_request>", 1),
		"100,000 prefixes":    strings.Replace(valid, "<agent_request", "<agent_request"+prefixes(100_000), 1),
		"10,000 attributes":   strings.Replace(valid, "<agent_request", "<agent_request"+attributes(10_000), 1),
	} {
		if h := read(t, "a.md", fenced(text), protocol.Options{}); len(h.Requests) != 1 {
			t.Errorf("%s: %s", name, found(h))
		}
	}
	for _, deep := range []string{strings.Repeat(">", 1_000_000), strings.Repeat(strings.Repeat(">", 500)+"\n", 1000)} {
		if h := read(t, "a.md", deep+"\n\n"+fenced(valid), protocol.Options{}); len(h.Requests) != 1 {
			t.Errorf("after nested quotations: %s", found(h))
		}
	}
	if h := read(t, "a.md", strings.Repeat("```xml\n"+valid+"```\n", 1001), protocol.Options{}); !h.Found.Errors() {
		t.Error("1,001 requests are accepted")
	}
}

func files(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<file path=\"f%d\"/>", i)
	}
	return b.String()
}

func prefixes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " xmlns:p%d=\"u\" p%[1]d:a=\"x\"", i)
	}
	return b.String()
}

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d=\"x\"", i)
	}
	return b.String()
}

// FuzzRead looks for texts that make the reader panic, or that it accepts in strict but not in
// lenient mode.
func FuzzRead(f *testing.F) {
	f.Add(fenced(valid))
	f.Add(valid)
	f.Add("> ```xml\n> <agent_request>\n")
	for _, m := range mistakes {
		f.Add(strings.Replace(fenced(valid), m.was, m.is, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{"a.md", "a.xml", "-"} {
			strict, err := protocol.Read(file, []byte(text), protocol.Options{})
			if err != nil {
				t.Fatal(err)
			}
			lenient, err := protocol.Read(file, []byte(text), protocol.Options{Lenient: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(strict.Requests) > len(lenient.Requests) {
				t.Errorf("%s: %d requests strictly, %d leniently", file, len(strict.Requests), len(lenient.Requests))
			}
			for _, q := range strict.Requests {
				if _, err := json.Marshal(q); err != nil || !json.Valid(q.SeedJSON()) {
					t.Errorf("not JSON: %v", err)
				}
			}
			lines := strings.Count(text, "\n") + 1
			for _, d := range slices.Concat(strict.Found, lenient.Found) {
				if d.Line > lines {
					t.Errorf("%s: line %d of %d: %s", file, d.Line, lines, d.Summary)
				}
			}
		}
	})
}

func TestJSON(t *testing.T) {
	q := read(t, "a.xml", strings.Replace(valid, "shop stay", "shöp 😀 stay", 1), protocol.Options{}).Requests[0]
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if out["mode"] != "spawn" || out["version"] != "1.0" || len(out["deliverables"].([]any)) != 3 {
		t.Errorf("%s", text)
	}
	want := `{
  "mode": "spawn",
  "original_intent": "Keep the shop running",
  "task_summary": "Check that the shop answers",
  "workflow": "standard",
  "task_details": "\n    1. Ask for the first page.\n    2. Ask for the basket.\n  ",
  "constraints": [
    "Restart nothing",
    "Maximum duration: 10 minutes"
  ],
  "deliverables": {
    "files": [
      [
        "docs/{session-id}/result.json",
        "What was found"
      ],
      [
        "notes.md",
        ""
      ]
    ],
    "decisions": [
      "May the sh\u00f6p \ud83d\ude00 stay open?"
    ],
    "reports": []
  },
  "backlog_notes": "Ask the planner if it is down."
}
`
	if diff := cmp.Diff(want, string(q.SeedJSON())); diff != "" {
		t.Error(diff)
	}
}

// TestSeed reads the examples of the first draft of the protocol.
func TestSeed(t *testing.T) {
	text, err := os.ReadFile("../../../shared/seeds/003_db9bb5119b69e71a.txt")
	if err != nil {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	complete := 0
	for _, m := range regexp.MustCompile("(?s)<agent_request.*?</agent_request>").FindAllString(string(text), -1) {
		if strings.Contains(m, "<!--") || !strings.Contains(m, "<deliverables>") {
			continue
		}
		complete++
		for _, xml := range []string{m, strings.Replace(m, "<agent_request", `<agent_request xmlns="`+protocol.Namespace+`"`, 1)} {
			if h := read(t, "a.xml", xml, protocol.Options{}); len(h.Requests) != 1 {
				t.Errorf("%s\n%s", m[:min(200, len(m))], found(h))
			}
		}
	}
	if complete != 11 {
		t.Errorf("%d examples, want 11", complete)
	}
}

// TestProjectSchema reads requests with schemas that are less strict than the built-in ones.
func TestProjectSchema(t *testing.T) {
	for _, c := range []struct{ content, text, want string }{
		{`<xs:sequence/>`, `<agent_request/>`, ""},
		{
			`<xs:sequence><xs:element name="deliverables"><xs:complexType><xs:sequence><xs:element name="file" type="xs:string"/></xs:sequence></xs:complexType></xs:element></xs:sequence>`,
			`<agent_request><deliverables><file>x</file></deliverables></agent_request>`,
			"1:31 error handoff-path: Invalid deliverable path: is missing (write the path of a file in the project, relative to its root)",
		},
		{
			`<xs:sequence><xs:any namespace="##other" processContents="lax"/></xs:sequence>`, `<agent_request/>`,
			"1:2 error handoff-missing: <agent_request> requires an element from another namespace (see the schema)",
		},
	} {
		schema := `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="agent_request"><xs:complexType>` + c.content + `</xs:complexType></xs:element></xs:schema>`
		h := read(t, "a.xml", c.text, protocol.Options{Schemas: func(string) ([]byte, error) { return []byte(schema), nil }})
		if got := found(h); got != c.want {
			t.Errorf("%s: %s", c.text, got)
		}
		for _, q := range h.Requests {
			if !json.Valid(q.SeedJSON()) {
				t.Error("not JSON")
			}
		}
	}
}
