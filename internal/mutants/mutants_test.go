package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeModule creates a module as the working directory of the test, with its package m
// as the only target.
func writeModule(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files["go.mod"] = "module example.com\n\ngo 1.26\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved := targets
	targets = []target{{name: "m", goal: 90}}
	t.Cleanup(func() { targets = saved })
}

func TestMutants(t *testing.T) {
	writeModule(t, map[string]string{"m/m.go": `package m

import "errors"

var words = []string{"one", "two"}

func word(n int) (string, error) {
	if n > 1 && n != 3 {
		return "", errors.New("too many")
	}
	return words[n], nil
}

func count(n int) bool {
	for !(n == 0) {
		n--
	}
	defer println("done")
	return true
}

func sign(n int) (text string, small bool) {
	switch {
	case n < 0:
		text = "-"
	case n == 0:
		return
	}
	return text, n/2 < 9 || !small
}

func index(n int) (int, error) {
	if n > 0 {
		return -1, errors.ErrUnsupported
	}
	return 7, nil
}
`})
	p, err := load(targets[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range p.mutants() {
		if p.compiles(m) {
			got = append(got, strings.TrimPrefix(m.String(), "m/m.go "))
		}
	}
	want := []string{
		`-: "one" => nothing`,
		`-: "two" => nothing`,
		`word: n > 1 && n != 3 => false && (n > 1 && n != 3)`,
		`word: n > 1 && n != 3 => true || (n > 1 && n != 3)`,
		`word: n > 1 && n != 3 => n > 1 || n != 3`,
		`word: n > 1 => n >= 1`,
		`word: 1 => 1+1`,
		`word: n != 3 => n == 3`,
		`word: 3 => 3+1`,
		`word: errors.New("too many") => nil`,
		`word: words[n] => ""`,
		`count: !(n == 0) => false && !(n == 0)`,
		`count: n == 0 => n != 0`,
		`count: 0 => 0+1`,
		`count: n-- => nothing`,
		`count: defer println("done") => nothing`,
		`count: true => !true`,
		`sign: n < 0 => false && (n < 0)`,
		`sign: n < 0 => n <= 0`,
		`sign: 0 => 0+1`,
		`sign: text = "-" => nothing`,
		`sign: n == 0 => false && (n == 0)`,
		`sign (2): 0 => 0+1`,
		`sign: text => ""`,
		`sign: n/2 < 9 || !small => !(n/2 < 9 || !small)`,
		`sign: n/2 < 9 || !small => n/2 < 9 && !small`,
		`sign: n/2 < 9 => n/2 <= 9`,
		`sign: n/2 => n * 2`,
		`sign: 2 => 2+1`,
		`sign: 9 => 9+1`,
		`sign: !small => small`,
		`index: n > 0 => false && (n > 0)`,
		`index: n > 0 => true || (n > 0)`,
		`index: n > 0 => n >= 0`,
		`index: 0 => 0+1`,
		`index: errors.ErrUnsupported => nil`,
		`index: 7 => 0`,
		`index: 7 => 7+1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestScore(t *testing.T) {
	writeModule(t, map[string]string{
		"m/m.go": `package m

func tested(n int) bool { return n > 9 }

var numbers [6]int

func untested(n int) int { n++; return n }

func Elsewhere(n int) int { return n }
`, "m/m_test.go": `package m

import "testing"

func TestTested(t *testing.T) {
	if tested(9) || !tested(10) {
		t.Error("wrong")
	}
	numbers = [6]int{}
}
`, "user/user_test.go": `package user

import (
	"testing"

	"example.com/m"
)

func TestElsewhere(t *testing.T) {
	if m.Elsewhere(1) != 1 {
		t.Error("wrong")
	}
}
`,
	})
	b, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	const gone = "m/m.go removed: n-- => nothing"
	listed := survivors{"m/m.go untested: n++ => nothing": true, gone: true, "other/m.go x: n++ => nothing": true}
	var s score
	for _, c := range []struct {
		also             []string
		killed, survived int
	}{
		{nil, 3, 2},
		{[]string{"user"}, 4, 1},
	} {
		s, err = try(t.Context(), b, target{name: "m", goal: 90, also: c.also}, options{jobs: 2}, listed)
		if err != nil || s.killed != c.killed || s.survived != c.survived || s.timedOut != 0 || !slices.Equal(s.stale, []string{gone}) {
			t.Errorf("with the tests of %q too: killed %d, survived %d, timed out %d, stale %q, %v", c.also, s.killed, s.survived, s.timedOut, s.stale, err)
		}
	}
	err = report([]score{s})
	if err == nil || !strings.Contains(err.Error(), "m is below its goal of 90%") || !strings.Contains(err.Error(), gone) {
		t.Error(err)
	}
}

// A mutant on the list belongs to one target.
func TestStale(t *testing.T) {
	const file, folder = "agent/permission.go f: 1 => 2", "agent/read.go f: 1 => 2"
	listed := survivors{file: true, folder: true, "agent/secret/mask.go f: 1 => 2": true}
	for name, want := range map[string]string{"agent": folder, "agent/permission.go": file} {
		if got := listed.stale(target{name: name}, nil); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestTimeout(t *testing.T) {
	writeModule(t, map[string]string{"m/m.go": "package m\n\nfunc f(n int) {\n\tfor n > 0 {\n\t\tn--\n\t}\n}\n", "m/m_test.go": `package m

import "testing"

func TestF(t *testing.T) { f(1) }
`})
	b, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	b.patience = time.Second
	s, err := try(t.Context(), b, targets[0], options{only: "f: n-- =>"}, nil)
	if err != nil || s.killed != 1 || s.survived != 0 || s.timedOut != 1 {
		t.Errorf("killed %d, survived %d, timed out %d, %v", s.killed, s.survived, s.timedOut, err)
	}
}

// Every line of the list has a reason, and names a file that still exists.
func TestSurvivors(t *testing.T) {
	t.Chdir("../..")
	listed, err := readSurvivors(survivorsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range listed {
		file, _, _ := strings.Cut(line, " ")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		"a.go f: x => y\n":                         ":1: write the reason",
		"# Why.\n\na.go f: x => y\n":               ":3: write the reason",
		"# Why.\na.go f: x => y\na.go f: x => y\n": ":3: this mutant is listed twice",
	} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readSurvivors(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The time of a test with parallel subtests is not that of the line of the test alone.
func TestDurations(t *testing.T) {
	names, took := durations("=== RUN   TestB\n--- PASS: TestB (0.00s)\n    --- PASS: TestB/one (0.20s)\n    --- PASS: TestB/two (0.90s)\n--- PASS: TestA (0.10s)\n    --- PASS: TestA/sub (0.05s)\nPASS\n")
	if !slices.Equal(names, []string{"TestA", "TestB"}) || took["TestA"] != 100*time.Millisecond || took["TestB"] != 900*time.Millisecond {
		t.Errorf("%q, %v", names, took)
	}
}
