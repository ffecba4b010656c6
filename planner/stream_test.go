package planner

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// TestStreamReadsEveryPrefix reads the answers of the goals while they are written. There is a workflow
// long before the end, and at the end it has the steps of the plan.
func TestStreamReadsEveryPrefix(t *testing.T) {
	files, err := filepath.Glob("testdata/goals/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	early := 0
	for _, file := range files {
		answer := lastAnswer(t, file)
		whole := read(answer)
		if whole.workflow == nil || len(whole.notes) > 0 || wrapped([]byte(answer)) != nil {
			continue // JSON around a workflow is read when it is complete
		}
		var s unfinished
		first := 0
		for i, c := range answer {
			s.Write([]byte(string(c)))
			if i%7 == 0 && first == 0 && s.Workflow() != nil {
				first = i
			}
		}
		if first > 0 && first < len(answer)*3/4 {
			early++
		}
		w := s.Workflow()
		if w == nil || workflow.Print(w) != workflow.Print(whole.workflow) {
			t.Errorf("%s: at the end there is\n%v\nwant\n%s", filepath.Base(file), w, workflow.Print(whole.workflow))
		}
	}
	if early < 30 {
		t.Errorf("only %d plans were visible before three quarters of them were written", early)
	}
}

// FuzzStream splits an answer into pieces, even within a character: what is read does not depend on it.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/goals/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		f.Add([]byte(lastAnswer(f, file)), uint16(i*37), uint16(i*91))
	}
	f.Fuzz(func(t *testing.T, text []byte, one, two uint16) {
		a, b := int(one)%(len(text)+1), int(two)%(len(text)+1)
		a, b = min(a, b), max(a, b)
		var s, whole unfinished
		for _, piece := range [][]byte{text[:a], text[a:b], text[b:]} {
			s.Write(piece)
			s.Workflow()
			if tail := s.Tail(); !utf8.ValidString(tail) {
				t.Fatalf("the tail %q is not valid", tail)
			}
		}
		whole.Write(text)
		if got, want := s.Workflow(), whole.Workflow(); (got == nil) != (want == nil) || got != nil && workflow.Print(got) != workflow.Print(want) {
			t.Fatalf("in pieces: %v, as a whole: %v", got, want)
		}
		first, second := read(string(text)), read(string(text))
		if len(first.wrong) == 0 && (first.workflow == nil || workflow.Digest(first.workflow) != workflow.Digest(second.workflow)) {
			t.Fatalf("accepted as %v", first.workflow)
		}
	})
}

// A slow reader sees the newest text, and a fast model is not shown piece by piece.
func TestListenerSkipsPieces(t *testing.T) {
	calls, last := 0, Partial{}
	l := newListener(Partial{Round: 1}, 1<<20, func(p Partial) { calls++; last = p }, func() { t.Error("stopped") })
	began := time.Now()
	text := longPlan(200)
	for _, piece := range pieces(text, 1000) {
		l.Log("generate", 1, piece)
		time.Sleep(200 * time.Microsecond)
	}
	l.close()
	if most := int(time.Since(began)/pause) + 3; calls > most {
		t.Errorf("seen %d times, want at most %d", calls, most)
	}
	if last.Workflow == nil || len(last.Workflow.Body.Nodes) != 200 || last.Size != len(text) || last.Tail != "</workflow>" {
		t.Errorf("at the end, %d bytes and %q", last.Size, last.Tail)
	}
}

func TestListenerStopsALongAnswer(t *testing.T) {
	stopped := 0
	l := newListener(Partial{}, 100, nil, func() { stopped++ })
	for range 30 {
		l.Log("generate", 1, []byte("and more "))
	}
	l.close()
	if len(l.written()) > 100 || stopped == 0 {
		t.Errorf("%d bytes, stopped %d times", len(l.written()), stopped)
	}
	l.Log("generate", 2, []byte("again"))
	if l.written() != "again" {
		t.Errorf("the second attempt begins with %q", l.written())
	}
}

// longPlan returns a plan of n steps.
func longPlan(n int) []byte {
	var b bytes.Buffer
	b.WriteString("<thought>One after the other, three at a time.</thought>\n<workflow name=\"long\">\n")
	for i := 1; i <= n; i++ {
		depends := ""
		if i > 3 {
			depends = fmt.Sprintf(" depends=\"s%d\"", i-3)
		}
		fmt.Fprintf(&b, "  <agent name=\"writer\" id=\"s%d\"%s>\n    <task>Summarize the results of part %d in a few words, and say what is missing.</task>\n  </agent>\n", i, depends, i)
	}
	b.WriteString("</workflow>\n")
	return b.Bytes()
}

// pieces splits a text.
func pieces(text []byte, n int) [][]byte {
	var all [][]byte
	for i := range n {
		all = append(all, text[len(text)*i/n:len(text)*(i+1)/n])
	}
	return all
}
