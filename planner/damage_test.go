package planner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

var (
	tag   = regexp.MustCompile(`</?(workflow|root|agents?|nodes?|task|input|config|url|command|human|question|option|route|loop|name|thought|forEach|output)(\s[^<>]*)?>`)
	marks = regexp.MustCompile(`="|"(\s|/?>)`)
)

// TestDamage removes every tag in XML, and every mark in a tag, one at a time. What is left is either
// refused, or read as it was before.
func TestDamage(t *testing.T) {
	files, err := filepath.Glob("testdata/goals/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried, accepted := 0, 0
	for _, file := range files {
		answer := lastAnswer(t, file)
		whole := read(answer)
		if len(whole.wrong) > 0 {
			continue
		}
		want := workflow.Print(whole.workflow)
		try := func(from, to int) {
			tried++
			r := read(answer[:from] + answer[to:])
			if len(r.wrong) > 0 {
				return
			}
			accepted++
			if got := workflow.Print(r.workflow); got != want {
				t.Errorf("%s: without %q after %q\n%s", filepath.Base(file), answer[from:to], answer[max(0, from-40):from], got)
			}
		}
		for _, m := range tag.FindAllStringIndex(answer, -1) {
			if !strings.HasSuffix(answer[:m[1]], "/>") { // otherwise it is what the model said
				try(m[0], m[1])
			}
			try(m[0], m[0]+1)
			try(m[1]-1, m[1])
			for _, k := range marks.FindAllStringIndex(answer[m[0]:m[1]], -1) {
				try(m[0]+k[0], m[0]+k[0]+1)
			}
		}
	}
	if tried < 1000 || accepted < tried/10 {
		t.Errorf("%d of %d were accepted", accepted, tried)
	}
}

func lastAnswer(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "-- want --\n")
	answers := strings.Split(before, "-- answer --\n")
	return answers[len(answers)-1]
}

var word = regexp.MustCompile(`[\pL\d_]+`)

// without are words that mean nothing: how a diagram is laid out and where it ends, the id of a task for other
// programs, and what a branch is called in a drawing.
var without = regexp.MustCompile("taskId=\"$|flowchart $|graph $|@$|```$|(then|else) \\($")

// TestEveryWordCounts changes every word of the workflows in the answers, one at a time. Then the answer is
// refused, or repaired, or something else is read: nothing that a model writes is ignored.
func TestEveryWordCounts(t *testing.T) {
	files, err := filepath.Glob("testdata/goals/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		answer := lastAnswer(t, file)
		whole := read(answer)
		found := syntax.Answers([]byte(answer))
		if len(whole.wrong) > 0 || len(found) != 1 || wrapped([]byte(answer)) != nil {
			continue
		}
		text, want := string(found[0].Text), said(whole) // the text around the workflow is blank
		for _, m := range word.FindAllStringIndex(text, -1) {
			if without.MatchString(text[:m[0]]) {
				continue
			}
			tried++
			r := read(answer[:m[1]] + "zq" + answer[m[1]:])
			if len(r.wrong) == 0 && len(r.notes) == len(whole.notes) && said(r) == want {
				t.Errorf("%s: %q has no effect in %q", filepath.Base(file), text[m[0]:m[1]], text[max(0, m[0]-30):min(len(text), m[1]+10)])
			}
		}
	}
	if tried < 2000 {
		t.Errorf("only %d words were tried", tried)
	}
}

// said returns everything that was read.
func said(r reading) string {
	text := r.thought + "\n" + fmt.Sprint(r.reasons) + workflow.Print(r.workflow)
	r.workflow.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) { text += n.Title + "\n" })
	return text
}
