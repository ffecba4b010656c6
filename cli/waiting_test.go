package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// What answers mean is above the commands, which have no comments: some shells would run them. All of it fits.
func TestAnswersAreExplainedAboveCommands(t *testing.T) {
	q := hocket.Question{Question: engine.Question{ID: "ship",
		Text: "Ship it?", Custom: true,
		Options: []workflow.Option{
			{Value: "yes", Label: "Ship it", Description: "to everybody; date\n  hocket trust"},
			{Value: "a long answer of words", Description: strings.Repeat("words that go on ", 6)},
			{Value: "no"},
		},
	}}
	const want = `
waiting for an answer: ship
  Ship it?

  yes   Ship it to everybody; date hocket trust
  a long answer of words
        words that go on words that go on words that go on words that go on
        words that go on words that go on
  no
  TEXT  any other text
to answer:
  hocket answer w-1 ship yes --resume
  hocket answer w-1 ship 'a long answer of words' --resume
  hocket answer w-1 ship no --resume
  hocket answer w-1 ship TEXT --resume
`
	if got := (&app{}).questionText("w-1", q, view.Style{Width: 80}); got != want {
		t.Errorf("%s\nwant%s", got, want)
	}
}

// If one answer is explained, the others are listed beside it.
func TestMeaningsOfAnswers(t *testing.T) {
	free := choice{word: "TEXT", about: "any other text", free: true}
	for want, choices := range map[string][]choice{
		"\n  staging\n  production  Production\n  TEXT        any other text\n": {{word: "staging"}, {word: "production", about: "Production"}, free},
		"\n  TEXT  any other text\n": {{word: "yes"}, {word: "no"}, free},
		"":                           {{word: "yes"}, {word: "no"}},
	} {
		if got := meanings(choices, view.Style{}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestConflictElsewhere: if the directory of a conflict is on another machine, the commands to answer are set apart from those that
// work there, and name no path of this machine.
func TestConflictElsewhere(t *testing.T) {
	here := t.TempDir()
	for dir, want := range map[string]string{
		here:                         "to answer:\n  cd " + here + "\n",
		filepath.Join(here, "other"): "to answer, here or on any machine with the project:\n  hocket answer r-1 both resolved",
	} {
		q := hocket.Question{Question: engine.Question{ID: "both", Text: "Resolve that.", Detail: dir + "\n\nrun git", Options: []workflow.Option{{Value: "resolved"}}}}
		if text := (&app{}).questionText("r-1", q, view.Style{}); !strings.Contains(text, want) {
			t.Errorf("%s, want %q", text, want)
		}
	}
}
