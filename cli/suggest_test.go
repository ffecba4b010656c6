//go:build unix

package cli_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// suggested lists situations in which the command suggests what to type next: the files of a
// project, and commands; the output of the last command is checked.
var suggested = []struct {
	name  string
	least int // minimum number of suggestions
	text  string
}{
	{"a step fails", 3, `
hocket run w.yml
-- w.yml --
name: w
steps: [{id: a, agent: shell, config: {command: 'exit 1'}}]
`},
	{"a step in a loop and an item fail", 3, `
hocket run w.yml
-- w.yml --
name: w
steps:
  - loop:
      max: 2
      until: 'false'
      steps:
        - {id: 'a', agent: shell, for_each: '[1, 2]', config: {command: 'exit 1'}}
`},
	{"a step takes too long", 3, `
hocket run w.yml
-- w.yml --
name: w
steps: [{id: a, agent: shell, timeout: 100ms, config: {command: 'sleep 5'}}]
`},
	{"too few branches came through", 2, `
hocket run w.yml
-- w.yml --
name: w
steps:
  - {id: a, agent: shell, config: {command: 'echo A'}, route: {A: j, B: k}}
  - {id: b, agent: shell, needs: [], config: {command: 'echo B'}, route: {A: j, B: k}}
  - {id: j, agent: shell, join: 2, config: {command: 'echo J'}, next: []}
  - {id: k, agent: shell, config: {command: 'echo K'}, next: []}
`},
	{"a called workflow fails", 3, `
hocket run w.yml
-- w.yml --
name: w
steps: [{id: c, workflow: inner.yml}]
-- inner.yml --
name: inner
steps: [{id: a, agent: shell, config: {command: 'exit 1'}}]
`},
	{"a value does not fit", 3, `
hocket run w.yml --replies FILE
-- w.yml --
name: w
steps: [{id: a, agent: model, prompt: x, output: {var: v, mode: json}}]
-- FILE --
a: no object
`},
	{"steps are used up", 1, `
hocket run w.yml --max-steps 1 --replies FILE
-- w.yml --
name: w
steps:
  - {id: a, agent: model, prompt: x, output: {var: list, mode: json}}
  - {id: b, agent: model, for_each: "${list}", prompt: "${item}"}
-- FILE --
a: [1, 2]
b: fine
`},
	{"steps are used up by items that run beside each other", 2, `
hocket run w.yml --max-steps 3 --input 'xs=[1,2,3,4,5,6]'
-- w.yml --
name: w
inputs: {xs: array}
steps:
  - {id: a, agent: shell, for_each: '${xs}', config: {command: 'echo'}}
  - {id: z, agent: shell, config: {command: 'echo'}}
`},
	{"the time is used up", 3, `
hocket run w.yml --max-runtime 1ms
-- w.yml --
name: w
steps: [{id: a, agent: shell, config: {command: 'sleep 0.2'}}]
`},
	{"a question that is rejected", 2, `
hocket run w.yml --replies FILE
-- w.yml --
name: w
steps: [{id: ask, human: 'Go on?'}]
-- FILE --
ask: reject
`},
	{"a question that is not answered in time", 2, `
hocket run w.yml -q
sleep 0.2
hocket resume w-
-- w.yml --
name: w
steps: [{id: ask, timeout: 100ms, human: 'Go on?'}]
`},
	{"a question", 2, `
hocket run w.yml
-- w.yml --
name: w
steps: [{id: ask, human: 'Go on?'}]
`},
	{"a question with text of one's own", 2, `
hocket run w.yml
-- w.yml --
name: w
steps: [{id: ask, human: {question: 'Which one?', options: [a, b], custom: true}}]
`},
	{"a question whose answer is not taken", 2, `
hocket run w.yml --replies FILE
-- w.yml --
name: w
steps: [{id: a, agent: shell, config: {command: echo}}, {id: ask, human: {question: 'Go on?', required: true}}]
-- FILE --
ask: approve
`},
	{"an answer without resuming", 1, `
hocket run w.yml -q
hocket answer w- ask approve
-- w.yml --
name: w
steps: [{id: ask, human: 'Go on?'}, {id: a, agent: shell, config: {command: echo}}]
`},
	{"a budget", 2, `
hocket run w.yml --replies FILE --max-cost 0.5
-- w.yml --
name: w
steps: [{id: a, agent: model, prompt: x}, {id: b, agent: model, prompt: y}]
-- FILE --
"*": {output: fine, cost_usd: 0.4}
`},
	{"a quota", 2, `
hocket run w.yml --replies FILE
-- w.yml --
name: w
steps: [{id: a, agent: model, prompt: x}]
-- FILE --
a: [{error: rate limited, retry_after: 2h}, fine]
`},
	{"a new run that is not driven", 1, `
hocket run w.yml -q
hocket retry w- --from a --no-run
-- w.yml --
name: w
steps: [{id: a, agent: shell, config: {command: echo}}]
`},
	{"a run that is waiting is shown", 2, `
hocket run w.yml -q
hocket show w-
-- w.yml --
name: w
steps: [{id: ask, human: 'Go on?'}]
`},
	{"a project that is gone", 1, `
hocket -C old --state runs run w.yml -q
cp -r old new; rm -r old
hocket -C new --state runs answer w- ask approve --resume
-- old/w.yml --
name: w
steps: [{id: ask, human: 'Go on?'}, {id: a, agent: shell, config: {command: echo}}]
`},
	{"no project", 1, `
hocket doctor
`},
	{"no runs", 1, `
hocket runs
-- WORKFLOW --
name: w
steps: [{id: a, agent: shell, config: {command: echo}}]
`},
	{"an unknown run", 1, `
hocket show nothing
`},
	{"an unknown verb", 1, `
hocket frobnicate
`},
	{"a powerful project", 1, `
hocket run sends.yml
-- sends.yml --
steps:
  - {agent: http, config: {url: "http://127.0.0.1:1", headers: {X: {env: TOKEN}}}}
`},
	{"a new tool", 1, `
hocket tools new search --kind http
`},
}

// TestSuggestionsWork runs the commands that the command suggests.
func TestSuggestionsWork(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\n" + asHocket + "=1 exec " + self + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "hocket"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range suggested {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			said, _, _ := situation(t, bin, s.text)
			found := suggestions(said)
			if len(found) < s.least {
				t.Errorf("%d suggestions, want %d:\n%s", len(found), s.least, said)
			}
			for i := range found {
				said, home, run := situation(t, bin, s.text) // each starts from the same situation
				line := suggestions(said)[i]
				for word, value := range map[string]string{"LIMIT": "5", "TEXT": "text"} {
					line = strings.ReplaceAll(line, " "+word, " "+value)
				}
				out, code := run(line)
				// The test has no terminal, so it cannot be asked for trust.
				if code == 2 && !strings.Contains(out, "cannot ask for approval: not a terminal") {
					t.Errorf("%s\n%s(in %s, after)\n%s", line, out, home, said)
				}
				if strings.HasPrefix(line, "hocket logs ") && out == "" {
					t.Errorf("%s prints nothing\n(after)\n%s", line, said)
				}
				if strings.Contains(line, " --max-") && code != 0 {
					t.Errorf("%s: the limit is too low\n%s", line, out)
				}
			}
		})
	}
}

// suggestions returns the commands in a text: those in quotes and on lines of their own.
func suggestions(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?m)(?:^  |`|: )(hocket -?[^`\n]+?)(?:`|   #.*|$)").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(found, m[1]) && !strings.Contains(m[1], "VERB") {
			found = append(found, m[1])
		}
	}
	return found
}

// situation creates a project, runs its commands, and returns the output of the last one and how to
// continue.
func situation(t *testing.T, bin, text string) (said, home string, run func(line string) (string, int)) {
	t.Helper()
	home = t.TempDir()
	archive := txtar.Parse([]byte(text))
	for _, f := range archive.Files {
		file := filepath.Join(home, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, f.Data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run = func(line string) (string, int) {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = home
		cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "USER=tester", underAgent + "=" + os.Getenv(underAgent)}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(archive.Comment)), "\n") {
		said, _ = run(line)
	}
	return said, home, run
}

// TestSuggestionsInMessages finds the commands in the messages of the program, and checks that
// their verbs and flags exist.
func TestSuggestionsInMessages(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value) // the parser has read it
			for _, m := range regexp.MustCompile("`hocket ([a-z][^`|]*)").FindAllStringSubmatch(text, -1) {
				seen++
				if err := known(strings.Fields(m[1])); err != nil {
					t.Errorf("%s: `hocket %s`: %v", path, m[1], err)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || seen < 20 {
		t.Errorf("%d suggestions, %v", seen, err)
	}
}

// known reports whether the command has the verb and the flags of a line.
func known(words []string) error {
	verbs := 1
	if len(words) > 1 && slices.Contains([]string{"agents", "tools", "mcp", "sessions", "memory", "runs", "trust", "handoff"}, words[0]) && !strings.HasPrefix(words[1], "-") && !strings.HasPrefix(words[1], "%") {
		verbs = 2
	}
	help, errs, code := hocketHere(append([]string{"help"}, words[:verbs]...)...)
	if code != 0 {
		return errors.New(errs)
	}
	for _, w := range words[verbs:] {
		if flag, _, _ := strings.Cut(w, "="); strings.HasPrefix(flag, "--") && !strings.Contains(help, flag+" ") {
			return fmt.Errorf("no flag %s", flag)
		}
	}
	return nil
}
