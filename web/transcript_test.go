package web

import (
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
{"type":"truncated"}
{"type":"te`
	all := entriesOf([]byte(text), true)
	want := []entry{
		{Kind: "text", Text: "I will look."},
		{Kind: "tool", Title: `read {"path":"a.txt"}`, Text: `{"path":"a.txt"}`, Result: "no such file", Ended: true, Failed: true, id: "1"},
		{Kind: "tool", Title: "run ls", Text: "ls\nmore", Result: "b.txt", Ended: true},
		{Kind: "file", Title: "created b.txt"},
		{Kind: "truncated", Title: "The rest was too long to keep."},
	}
	if len(all) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(all), len(want), all)
	}
	for i := range want {
		if all[i] != want[i] {
			t.Errorf("entry %d is %+v, want %+v", i, all[i], want[i])
		}
	}
}

// A cost that is unknown for one run is unknown in total, also if others follow.
func TestSpentOfUnknownCosts(t *testing.T) {
	known := 2.0
	var s spent
	for _, cost := range []*float64{&known, nil, &known} {
		r := line(cost)
		s.add(r)
	}
	if s.CostUSD != nil || s.Runs != 3 {
		t.Errorf("spent %v in %d runs", s.CostUSD, s.Runs)
	}
	s = spent{}
	s.add(line(&known))
	s.add(line(&known))
	if s.CostUSD == nil || *s.CostUSD != 4 {
		t.Errorf("spent %v", s.CostUSD)
	}
}

func line(cost *float64) server.RunLine { return server.RunLine{CostUSD: cost} }
