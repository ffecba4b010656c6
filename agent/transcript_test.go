package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// transcribe writes entries and returns the lines.
func transcribe(entries ...Entry) []string {
	var lines []string
	record := Transcript(func(line []byte) { lines = append(lines, timeless(string(line))) })
	for _, e := range entries {
		record(e)
	}
	return lines
}

var entryTime = regexp.MustCompile(`,"at":"[0-9-]+T[0-9:.]+Z"}$`)

// timeless returns a line without its time, which it must have.
func timeless(line string) string {
	without := entryTime.ReplaceAllString(strings.TrimSuffix(line, "\n"), "}")
	if len(without)+1 == len(line) {
		return "no time: " + line
	}
	return without + "\n"
}

func TestEntriesHaveAStableForm(t *testing.T) {
	for _, c := range []struct {
		entry Entry
		line  string
	}{
		{AssistantText{Text: "<a> & \"b\"\n"}, `{"type":"text","text":"<a> & \"b\"\n"}`},
		{
			ToolCall{ID: "c1", Tool: "read", Arguments: map[string]any{"n": json.Number("1e3"), "path": []any{"a", nil}}},
			`{"type":"tool_call","id":"c1","tool":"read","arguments":{"n":1e3,"path":["a",null]}}`,
		},
		{ToolCall{Tool: "run", Arguments: "ls -l"}, `{"type":"tool_call","tool":"run","arguments":"ls -l"}`},
		{ToolCall{Tool: "run", TokensIn: 9, TokensOut: 2}, `{"type":"tool_call","tool":"run","tokens_in":9,"tokens_out":2}`},
		{AssistantText{Text: "a", TokensIn: 9, TokensOut: 2}, `{"type":"text","text":"a","tokens_in":9,"tokens_out":2}`},
		{ToolResult{ID: "c1", Tool: "read", Text: "no", Failed: true}, `{"type":"tool_result","id":"c1","tool":"read","text":"no","error":true}`},
		{FileChange{Path: "a.txt", Change: Created}, `{"type":"file_change","path":"a.txt","change":"created"}`},
		{FileChange{Path: "a.txt", Change: Modified, Old: "a\n", New: "b\n"}, `{"type":"file_change","path":"a.txt","change":"modified","old":"a\n","new":"b\n"}`},
		{Truncated{}, `{"type":"truncated"}`},
	} {
		lines := transcribe(c.entry)
		if len(lines) != 1 || lines[0] != c.line+"\n" {
			t.Errorf("%#v is %q, want %s", c.entry, lines, c.line)
			continue
		}
		back, err := ParseEntry([]byte(lines[0]))
		if diff := cmp.Diff(c.entry, back); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.line, err, diff)
		}
	}
	if _, err := ParseEntry([]byte(`{"type":"thought"}`)); err == nil || !strings.Contains(err.Error(), `"thought"`) {
		t.Errorf("an unknown type: %v", err)
	}
}

func TestLongEntriesAreCut(t *testing.T) {
	for name, text := range map[string]string{
		"plain": strings.Repeat("x", 1<<20), "just too long": strings.Repeat("x", maxEntry), "escaped": strings.Repeat("\x00\"", 1<<17),
		"escaped at first": strings.Repeat("\x00", maxEntry) + strings.Repeat("x", 1<<20), "runes": strings.Repeat("ü€", 1<<16),
	} {
		for _, e := range []Entry{
			AssistantText{Text: text}, ToolResult{ID: text, Tool: text, Text: text}, ToolCall{Tool: "t", Arguments: text},
			ToolCall{Tool: "t", Arguments: map[string]any{"content": text}},
		} {
			line := transcribe(e)[0]
			if len(line) > maxEntry || len(line) < maxEntry/2 {
				t.Errorf("%s: the line has %d bytes", name, len(line))
			}
			back, err := ParseEntry([]byte(line))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kept, missing := "", 0
			switch back := back.(type) {
			case AssistantText:
				kept, missing = back.Text, back.Cut
			case ToolResult:
				kept, missing = back.Text, back.Cut
			case ToolCall:
				kept, missing = back.Arguments.(string), back.Cut
			case FileChange, Truncated:
			}
			whole := text
			if call, ok := e.(ToolCall); ok && call.Arguments != any(text) {
				whole = kept + strings.Repeat("?", missing) // the JSON of the arguments
			}
			if missing == 0 || len(kept)+missing != len(whole) || !strings.HasPrefix(whole, kept) {
				t.Errorf("%s: kept %d, missing %d of %d bytes", name, len(kept), missing, len(whole))
			}
		}
	}
	if line := transcribe(FileChange{Path: strings.Repeat("p", 1<<20)})[0]; len(line) > 2*maxName {
		t.Errorf("a path has %d bytes", len(line))
	}
	long := FileChange{Path: "a", Change: Modified, Old: strings.Repeat("x", maxEntry/2), New: strings.Repeat("y", maxEntry/2)}
	if line := transcribe(long)[0]; line != `{"type":"file_change","path":"a","change":"modified","cut":65536}`+"\n" {
		t.Errorf("a long change is %.200s", line)
	}
}

func TestPrefix(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcd", "abcü": "abc", "abc\xff": "abc\xff"} {
		if got := prefix(text, 4); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestATranscriptEndsAtItsLimit(t *testing.T) {
	var all bytes.Buffer
	record := Transcript(func(line []byte) { all.Write(line) })
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				record(AssistantText{Text: strings.Repeat("x", 60<<10)})
			}
		})
	}
	wg.Wait()
	record(AssistantText{Text: "late"})
	if all.Len() > maxTranscript+100 || all.Len() < maxTranscript-maxEntry {
		t.Errorf("it has %d bytes", all.Len())
	}
	lines := strings.Split(strings.TrimSuffix(all.String(), "\n"), "\n")
	if timeless(lines[len(lines)-1]) != `{"type":"truncated"}`+"\n" || strings.Count(all.String(), "truncated") != 1 {
		t.Errorf("it ends with %.100q", lines[len(lines)-1])
	}
}

func TestEntriesAreMasked(t *testing.T) {
	const secret = "hunter2"
	mask := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, secret, "***"), "314159", "***")
	}
	deep := map[string]any{"a": []any{map[string]any{"key " + secret: "is " + secret, "n": json.Number("314159")}}, "pin": 314159, "ok": true, "none": nil}
	for _, e := range []Entry{
		AssistantText{Text: secret}, ToolCall{ID: secret, Tool: secret, Arguments: deep}, ToolCall{Tool: "t", Arguments: secret},
		ToolCall{Tool: "t", Arguments: struct{ A string }{secret}}, ToolResult{ID: secret, Tool: secret, Text: secret}, FileChange{Path: secret + ".txt"}, FileChange{Old: secret, New: secret},
	} {
		line := transcribe(MaskEntry(e, mask))[0]
		if strings.Contains(line, secret) || strings.Contains(line, "314159") || !strings.Contains(line, "***") {
			t.Errorf("%T: %s", e, line)
		}
	}
	if inner := deep["a"].([]any)[0].(map[string]any); inner["key "+secret] != "is "+secret {
		t.Error("the arguments of the call itself were changed")
	}
	if MaskEntry(Truncated{}, mask) != (Truncated{}) {
		t.Error("the end was changed")
	}
}

func TestPathsAreInTheProject(t *testing.T) {
	var got []string
	task := &Task{Dir: t.TempDir(), KeepEntry: func(e Entry) { got = append(got, e.(FileChange).Path) }}
	for _, path := range []string{task.Dir + "/a/b.txt", "c.txt", "/etc/passwd", task.Dir + "x/d.txt"} {
		task.Record(FileChange{Path: path})
	}
	if diff := cmp.Diff([]string{"a/b.txt", "c.txt", "/etc/passwd", task.Dir + "x/d.txt"}, got); diff != "" {
		t.Error(diff)
	}
	(&Task{}).Record(AssistantText{Text: "nobody keeps it"})
	var kept Entry
	task.KeepEntry = func(e Entry) { kept = e }
	if task.Record(AssistantText{Text: "x"}); kept != (AssistantText{Text: "x"}) {
		t.Errorf("kept %#v", kept)
	}
}

// FuzzParseEntry parses any line: it is refused, or can be written and parsed again.
func FuzzParseEntry(f *testing.F) {
	f.Add([]byte(`{"type":"tool_call","id":"c","tool":"t","arguments":{"a":[1,null,"\ud800"]},"cut":3}`))
	f.Add([]byte(`{"type":"text","text":"x"}`))
	f.Add([]byte(`{"type":"truncated"} {`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := ParseEntry(line)
		if err != nil {
			return
		}
		written := transcribe(e)[0]
		if len(written) > maxEntry || strings.Count(written, "\n") != 1 {
			t.Fatalf("%q", written)
		}
		if again, err := ParseEntry([]byte(written)); err != nil || fmt.Sprintf("%T", again) != fmt.Sprintf("%T", e) {
			t.Fatalf("%q: %v", written, err)
		}
	})
}

func TestInvalidEntries(t *testing.T) {
	for line, want := range map[string]string{`{`: "agent: invalid transcript entry: unexpected EOF", `{"type":"dance"}`: `agent: unknown transcript entry type "dance"`} {
		if e, err := ParseEntry([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v", line, e, err)
		}
	}
	if got := transcribe(ToolCall{Tool: "x", Arguments: func() {}}); len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"tool_call","tool":"x","arguments":"0x`) {
		t.Errorf("arguments that are not JSON: %q", got)
	}
	mask := func(text string) string { return strings.ReplaceAll(text, "123456", "***") }
	for _, c := range []struct{ value, want any }{
		{json.Number("123456"), "***"}, {json.Number("12345"), json.Number("12345")}, {true, true}, {nil, nil}, {"x123456", "x***"}, {[]any{"123456", 1}, []any{"***", 1}}, {map[string]any{"123456": "123456"}, map[string]any{"***": "***"}},
	} {
		if diff := cmp.Diff(c.want, maskValue(c.value, mask)); diff != "" {
			t.Errorf("%v: %s", c.value, diff)
		}
	}
	(&Task{}).Record(Truncated{}) // without a recorder
}
