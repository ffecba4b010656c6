package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flowDir creates a directory with files.
func flowDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const releaseFlow = `name: release
steps:
  - id: build
    agent: shell
    config: {command: 'printf "compiling \033[2J 日本語\n"; while test -e wait; do sleep 0.02; done; echo built'}
  - id: scan
    for_each: ["a", "b"]
    agent: shell
    config: {command: 'echo scanned'}
  - id: approve
    human: {question: 'Ship it?', options: [{value: 'yes', label: Ship}, 'no']}
  - id: ship
    agent: shell
    config: {command: 'echo shipped'}
`

func TestLiveTreeAsksInPlace(t *testing.T) {
	flow := strings.Replace(releaseFlow, `for_each: ["a", "b"]`, "for_each: ${steps.list.output}", 1)
	flow = strings.Replace(flow, "  - id: scan", "  - id: list\n    agent: shell\n    config: {command: 'echo \"[1, 2]\"'}\n    output: {mode: json}\n  - id: scan", 1)
	dir := flowDir(t, map[string]string{"release.yml": flow, "wait": ""})
	c := startConsole(t, dir, 24, 80, "run", "release.yml")

	c.until("compiling 日本語") // the escape sequence did not clear the screen
	c.until("· ship")
	if err := os.Remove(filepath.Join(dir, "wait")); err != nil {
		t.Fatal(err)
	}
	c.until("1 Ship (yes)")
	c.listens("")
	c.press("\r")
	c.until("choose an answer first")
	c.press("\x1b[B\x1b[B")
	c.until("❯ 2 no")
	c.press("maybe\r")
	c.until("\"maybe\" is not an option")
	c.press("yes\r")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	seen := c.see()
	for _, want := range []string{"✓ build", "✓ scan", "  ├ ✓ [0]", "  └ ✓ [1]", "✓ approve", "✓ ship", "success in", "\nshipped\n"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the screen lacks %q", want)
		}
	}
	for _, bad := range []string{"strange sequence", "❯", "Ship (yes)", "⠋"} {
		if strings.Contains(seen, bad) {
			t.Errorf("the screen has %q", bad)
		}
	}
	if t.Failed() {
		t.Logf("the screen:\n%s", seen)
	}
	if !strings.HasSuffix(strings.TrimRight(c.raw.String(), "\r\n"), "shipped") || !strings.Contains(c.raw.String(), "\x1b[?25h") {
		t.Error("the cursor was not given back before the result")
	}
}

// slowGate asks after a file has been removed.
const slowGate = `name: gate
steps:
  - {id: work, agent: shell, config: {command: 'echo working; while test -e wait; do sleep 0.02; done'}}
  - {id: ask, human: {question: 'Go?', options: ['yes', 'no']}}
`

// A key pressed before a question appeared is not an answer to it.
func TestKeysBeforeAQuestionAreForgotten(t *testing.T) {
	for _, c := range []struct {
		mode    string
		working string
		early   string
	}{
		{"--plain=false", "working", "1\r"},
		{"--plain", "work started", "1\n"},
		{"-q", "", "1\n"},
	} {
		dir := flowDir(t, map[string]string{"gate.yml": slowGate, "wait": ""})
		con := startConsole(t, dir, 24, 80, "run", "gate.yml", c.mode)
		con.until(c.working)
		con.press(c.early)
		con.press(c.early)
		if err := os.Remove(filepath.Join(dir, "wait")); err != nil {
			t.Fatal(err)
		}
		con.listens(c.mode)
		con.press("\x15no\n")
		if code := con.exit(); code != 0 || !strings.HasSuffix(strings.TrimSpace(con.see()), "no") {
			t.Errorf("%v: exit code %d, the screen:\n%s", c.mode, code, con.see())
		}
	}
}

// Output of steps cannot affect the terminal in which it is shown later.
func TestLookingIsSafe(t *testing.T) {
	flow := "name: evil\nsteps:\n  - {id: say, agent: shell, config: {command: 'printf \"\\033[2Jshown\\302\\2332J\"'}}\n"
	dir := flowDir(t, map[string]string{"evil.yml": flow})
	if code := startConsole(t, dir, 24, 80, "run", "evil.yml").exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, args := range [][]string{{"show", "evil-"}, {"show", "evil-", "say"}, {"show", "evil-", "--json"}, {"logs", "evil-"}, {"events", "evil-"}} {
		c := startConsole(t, dir, 24, 80, args...)
		if code := c.exit(); code != 0 || !strings.Contains(c.raw.String(), "shown") {
			t.Errorf("%v: exit code %d, %q", args, code, c.raw.String())
		}
		if strings.Contains(c.raw.String(), "\x1b[2J") || strings.Contains(c.raw.String(), "\u009b") {
			t.Errorf("%v: %q", args, c.raw.String())
		}
	}
}

// Ctrl-D leaves a question open for another person.
func TestCtrlDLeavesAQuestionOpen(t *testing.T) {
	for _, mode := range []string{"--plain=false", "--plain"} {
		c := startConsole(t, flowDir(t, map[string]string{"gate.yml": slowGate}), 24, 80, "run", "gate.yml", mode)
		c.listens(mode)
		c.press("\x04")
		if code := c.exit(); code != 3 || !strings.Contains(c.see(), "waiting for an answer: ask") {
			t.Errorf("%s: exit code %d, the screen:\n%s", mode, code, c.see())
		}
	}
}

func TestCtrlCStopsAndSaysHowToResume(t *testing.T) {
	dir := flowDir(t, map[string]string{"release.yml": strings.Split(releaseFlow, "  - id: scan")[0], "wait": ""})
	c := startConsole(t, dir, 24, 80, "run", "release.yml")
	c.until("compiling")
	c.press("\x03")
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	seen := c.see()
	at := strings.Index(seen, "hocket resume release-")
	if at < 0 || !strings.Contains(seen, "■ build") || !strings.Contains(seen, "interrupted") {
		t.Fatalf("the screen:\n%s", seen)
	}
	if err := os.Remove(filepath.Join(dir, "wait")); err != nil {
		t.Fatal(err)
	}
	run := strings.Fields(seen[at:])[2]
	c = startConsole(t, dir, 24, 80, "resume", run)
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "✓ build") {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
}

// An exhausted budget is a question, and a number typed there is the new limit, not the
// number of an option.
func TestBudgetsAreAskedFor(t *testing.T) {
	files := map[string]string{
		"cost.yml":    "name: cost\nsteps:\n  - {id: work, agent: shell, config: {command: ['true']}}\n",
		"replies.yml": "work: {output: done, cost_usd: 0.8}\n",
	}
	for _, mode := range []string{"--plain=false", "--plain"} {
		c := startConsole(t, flowDir(t, files), 24, 80, "run", "cost.yml", "--replies", "replies.yml", "--max-cost", "0.5", mode)
		c.listens(mode)
		c.press("1\n")
		if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\ndone\n") {
			t.Errorf("%s: exit code %d, the screen:\n%s", mode, code, c.see())
		}
	}
}

// The outputs of several last steps are printed as a list for people, and as an object
// for programs.
func TestManyOutputsAreAList(t *testing.T) {
	flow := `name: scans
execution: parallel
steps:
  - {id: speed, agent: shell, config: {command: 'printf "first\nsecond\n"'}}
  - {id: security, agent: shell, config: {command: 'echo fine'}}
`
	c := startConsole(t, flowDir(t, map[string]string{"scans.yml": flow}), 24, 80, "run", "scans.yml")
	if code := c.exit(); code != 0 || !strings.HasSuffix(c.see(), "\n\nspeed:\n  first\n  second\nsecurity: fine\n\n") {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
}

// After any resize, the terminal shows one frame and the text that was there before.
func TestLiveTreeFollowsTheTerminalsSize(t *testing.T) {
	flow := "name: wide\nexecution: parallel\nlimits: {max_parallel: 12}\nsteps:\n"
	for i := range 12 {
		flow += fmt.Sprintf("  - {id: step-%02d, agent: shell, config: {command: 'echo %s; while test -e wait; do sleep 0.1; done'}}\n", i, strings.Repeat("long ", 14))
	}
	dir := flowDir(t, map[string]string{"wide.yml": flow, "wait": ""})
	c := startConsole(t, dir, 24, 100, "run", "wide.yml")
	c.until("step-11")
	for _, size := range []struct{ rows, cols int }{{24, 90}, {24, 100}, {24, 50}, {24, 100}, {8, 40}, {30, 120}} {
		c.resize(size.rows, size.cols)
		c.wait(fmt.Sprintf("%d rows, %d columns: one frame", size.rows, size.cols), func() bool {
			seen := c.screen.visible()
			return c.screen.wiped && strings.Count(seen, "step-00  ") == 1 && strings.Count(seen, " wide-") == 1 && !strings.Contains(seen, "strange")
		})
	}
	if err := os.Remove(filepath.Join(dir, "wait")); err != nil {
		t.Fatal(err)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
}

func TestNoColour(t *testing.T) {
	dir := flowDir(t, map[string]string{"bad.yml": "name: bad\nsteps:\n  - {agent: nobody, prompt: x}\n"})
	c := startConsole(t, dir, 24, 80, "check", "bad.yml")
	if code := c.exit(); code != 2 || !strings.Contains(c.raw.String(), "\x1b[1;31merror") {
		t.Errorf("exit code %d, no colours in %q", code, c.raw.String())
	}
	t.Setenv("NO_COLOR", "1")
	c = startConsole(t, dir, 24, 80, "check", "bad.yml")
	if code := c.exit(); code != 2 || strings.Contains(c.raw.String(), "\x1b[") {
		t.Errorf("exit code %d, colours in %q", code, c.raw.String())
	}
}

func TestSecondCtrlCForces(t *testing.T) {
	stubborn := "name: stubborn\nsteps:\n  - {id: work, agent: shell, config: {command: 'trap \"\" TERM; echo deaf; while :; do sleep 0.05; done'}}\n"
	c := startConsole(t, flowDir(t, map[string]string{"stubborn.yml": stubborn}), 24, 80, "run", "stubborn.yml")
	c.until("deaf")
	c.press("\x03")
	c.until("stopping (press ctrl-c again to force it)")
	c.press("\x03")
	if code := c.exit(); code != 130 || strings.Contains(c.see(), "hocket resume") { // as it says when everything has ended
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
	if !strings.Contains(c.raw.String(), "\x1b[?25h") {
		t.Error("the cursor was not given back")
	}
}

func TestPlainLinesInATerminalAskToo(t *testing.T) {
	dir := flowDir(t, map[string]string{"gate.yml": "name: gate\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes', 'no']}}\n"})
	c := startConsole(t, dir, 24, 80, "run", "--plain", "gate.yml")
	c.listens("--plain")
	c.press("maybe\n")
	c.until(`"maybe" is not an option`)
	c.press("1\n")
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "ask answered yes (tester)") {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
}

func TestQuestionAnsweredElsewhere(t *testing.T) {
	dir := flowDir(t, map[string]string{"gate.yml": "name: gate\nsteps:\n  - {id: ask, human: {question: 'Go?', options: ['yes', 'no']}}\n"})
	c := startConsole(t, dir, 24, 80, "run", "gate.yml")
	_, footer, _ := strings.Cut(c.until("  1 yes"), "\n? gate-")
	if footer == "" {
		t.Fatalf("the screen:\n%s", c.see())
	}
	run := "gate-" + strings.Fields(footer)[0]
	other := startConsole(t, dir, 24, 80, "answer", run, "ask", "no")
	if code := other.exit(); code != 0 || !strings.Contains(other.see(), "another process is driving the run") {
		t.Errorf("answer: exit code %d\n%s", code, other.see())
	}
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "no (tester)") || strings.Contains(c.see(), "❯") {
		t.Errorf("exit code %d, the screen:\n%s", code, c.see())
	}
}
