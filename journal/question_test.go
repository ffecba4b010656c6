package journal

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func question(address string, number int) Question {
	return Question{
		Address: address, Number: number, Asked: start.Add(time.Duration(number) * time.Second),
		Text: "May it run this?\n\nrm -r build", Options: []string{"allow", "deny"},
	}
}

func wantQuestions(t *testing.T, s *Store, run string, want ...Question) {
	t.Helper()
	got, err := s.Questions(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("open questions (-want +got):\n%s", diff)
	}
}

func TestQuestionsOfTheMoment(t *testing.T) {
	dir := t.TempDir()
	driver, other := openStore(t, dir), openStore(t, dir)
	w := createRun(t, driver, "demo-1")
	quiet := createRun(t, driver, "demo-2")
	a, b, c, first := question("review", 1), question("review", 2), question("review", 3), question("other[0]", 1)
	for _, c := range []struct{ open, want []Question }{ // wanted in the order in which they were asked
		{[]Question{a, b}, []Question{a, b}},
		{[]Question{b, a}, []Question{a, b}},
		{[]Question{a, c, first}, []Question{first, a, c}},
		{[]Question{c}, []Question{c}},
		{[]Question{a}, []Question{a}},
		{nil, nil},
	} {
		if err := w.SetQuestions(c.open); err != nil {
			t.Fatal(err)
		}
		wantQuestions(t, other, "demo-1", c.want...)
		wantQuestions(t, other, "demo-2")
	}
	// The numbers outlive the questions.
	for w, want := range map[*Writer]map[string]int{w: {"review": 3, "other[0]": 1}, quiet: {}} {
		last, err := w.LastQuestions(t.Context())
		if diff := cmp.Diff(want, last); err != nil || diff != "" {
			t.Errorf("last numbers of %s: %v\n%s", w.Run(), err, diff)
		}
	}
	var rows int
	if err := driver.read.QueryRow("SELECT count(*) FROM questions").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows are kept for two steps (%v)", rows, err)
	}
}

// What a driver that was killed left open is forgotten by the next one.
func TestQuestionsOfAKilledDriver(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.SetQuestions([]Question{question("review", 4)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	w, err := s.Writer(context.Background(), "demo-1")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	wantQuestions(t, s, "demo-1")
	if last, err := w.LastQuestions(t.Context()); err != nil || last["review"] != 4 {
		t.Errorf("last numbers: %v, %v", last, err)
	}
}

func TestDamagedQuestion(t *testing.T) {
	s := openStore(t, t.TempDir())
	w := createRun(t, s, "demo-1")
	if err := w.SetQuestions([]Question{question("review", 1)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.Exec("UPDATE questions SET data = '{'"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Questions(t.Context(), "demo-1"); !IsProblem(err, Corrupt) || !strings.Contains(err.Error(), "review@1") {
		t.Errorf("%v", err)
	}
}

func TestSplitQuestion(t *testing.T) {
	for name, want := range map[string]string{
		"review@2": "review 2", "call#2/scan[3]@11": "call#2/scan[3] 11", "a@b@1": "a@b 1",
		"review": "", "review@": "", "review@0": "", "review@-1": "", "review@+1": "", "review@01": "", "review@x": "", "review@99999999999999999999": "",
	} {
		got := ""
		if address, number, ok := SplitQuestion(name); ok {
			got = fmt.Sprintf("%s %d", address, number)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func FuzzSplitQuestion(f *testing.F) {
	f.Add("review@2")
	f.Add("a@b@03")
	f.Fuzz(func(t *testing.T, name string) {
		if address, number, ok := SplitQuestion(name); ok && (number < 1 || QuestionName(address, number) != name) {
			t.Errorf("%q: %q, %d", name, address, number)
		}
	})
}
