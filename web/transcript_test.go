package web

import (
	"reflect"
	"testing"

	"github.com/hocket-dev/hocket/server"
)

func TestEntriesOfATranscript(t *testing.T) {
	const text = `half a line
{"type":"text","text":"I will look."}
{"type":"tool_call","id":"1","tool":"read","arguments":{"path":"a.txt"}}
{"type":"tool_call","tool":"run","arguments":"ls\nmore"}
{"type":"tool_result","id":"1","tool":"read","text":"no such file","error":true}
{"type":"tool_result","tool":"run","text":"\u001b[1mb.txt"}
{"type":"file_change","path":"b.txt","change":"created"}
{"type":"file_change","path":"c.txt","change":"modified","old":"one\n","new":"two\n"}
{"type":"file_change","path":"d.txt","change":"modified","cut":70000}
{"type":"tool_call","id":"2","tool":"Edit","arguments":{"path":"/p/e.txt","old_string":"a","new_string":"b"}}
{"type":"tool_result","id":"2","tool":"Edit"}
{"type":"file_change","path":"e.txt","change":"modified","old":"a","new":"b"}
{"type":"truncated"}
{"type":"te`
	all := entriesOf([]byte(text), true)
	want := []entry{
		{Kind: "text", Text: "I will look."},
		{Kind: "tool", Title: `read {"path":"a.txt"}`, Text: `{"path":"a.txt"}`, Result: "no such file", Ended: true, Failed: true, id: "1"},
		{Kind: "tool", Title: "run ls", Text: "ls\nmore", Result: "b.txt", Ended: true},
		{Kind: "file", Title: "created b.txt"},
		{Kind: "file", Title: "modified c.txt", Diffs: []diff{{Path: "c.txt", Added: 1, Removed: 1, Lines: []diffLine{{"del", "one"}, {"ins", "two"}}}}},
		{Kind: "file", Title: "modified d.txt (the change was too long to keep)"},
		{Kind: "tool", Title: "Edit /p/e.txt", Diffs: []diff{{Path: "/p/e.txt", Added: 1, Removed: 1, Lines: []diffLine{{"del", "a"}, {"ins", "b"}}}}, Ended: true, id: "2"},
		{Kind: "file", Title: "modified e.txt"},
		{Kind: "truncated", Title: "The rest was too long to keep."},
	}
	if len(all) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(all), len(want), all)
	}
	for i := range want {
		if !reflect.DeepEqual(all[i], want[i]) {
			t.Errorf("entry %d is %+v, want %+v", i, all[i], want[i])
		}
	}
}

// A sum of which a part is unknown is at least what is known.
func TestCostOfUsage(t *testing.T) {
	for _, test := range []struct {
		rows []server.Usage
		want string
	}{
		{nil, "$0"},
		{[]server.Usage{{CostUSD: 2}, {CostUSD: 2.5}}, "$4.50"},
		{[]server.Usage{{CostUSD: 2}, {CostUnknown: true}, {CostUSD: 1}}, "at least $3.00"},
		{[]server.Usage{{CostUnknown: true}}, "unknown"},
	} {
		var u used
		for _, row := range test.rows {
			u.add(row)
		}
		if got := u.Cost(); got != test.want {
			t.Errorf("%v: %s, want %s", test.rows, got, test.want)
		}
	}
}
