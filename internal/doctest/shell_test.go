package doctest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/trust"
)

// asHocket makes this test binary act as the command.
const asHocket = "HOCKET_DOCTEST_AS_COMMAND"

// underAgent names the agent that runs the tests, if any.
const underAgent = "HOCKET_DOCTEST_UNDER_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asHocket) != "" {
		os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: os.Getenv(underAgent)}))
	}
	os.Setenv(underAgent, trust.Supervisor(os.Environ()))
	os.Exit(m.Run())
}

// hocket runs the command in a directory with its own state directory, and returns its
// output and exit code.
func hocket(t *testing.T, dir, state string, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	usual, _ := secret.Usual(os.Environ()) // a run would name any others
	cmd.Env = append(usual, asHocket+"=1", "XDG_STATE_HOME="+state, "XDG_CONFIG_HOME="+state, "NO_COLOR=1", "USER=you", "LC_ALL=C.UTF-8")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// shell executes a block of commands and compares their output. The id of a run in a command stands for the last
// run of that workflow.
func (b *block) shell(t *testing.T, dir, state string, runs map[string]string) {
	t.Helper()
	if !strings.Contains(b.text, "$ ") {
		b.commandsAlone(t)
		return
	}
	code := 0
	for n, step := range steps(b.text) {
		got := ""
		switch words := split(withIDs(step.command, runs)); {
		case step.command == "echo $?":
			got = strconv.Itoa(code) + "\n"
		case words[0] == "hocket":
			got, code = hocket(t, dir, state, words[1:]...)
			for _, m := range runLine.FindAllStringSubmatch(got, -1) {
				runs[m[1]] = m[1] + m[2]
			}
		case words[0] == "git" && dir != root:
			needsGit(t)
			got = git(t, dir, append([]string{"-c", "user.name=you", "-c", "user.email=you@example.com"}, words[1:]...)...)
		default:
			t.Fatalf("%s:%d: only hocket and git can be run here, not %q", b.page, b.line, step.command)
		}
		switch {
		case matches(step.output, got):
		case *update:
			b.rewrite(t, step, got)
		default:
			t.Errorf("%s:%d: command %d, %s\nsays:\n%s\nthe page says:\n%s", b.page, b.line, n+1, step.command, got, step.output)
		}
	}
}

// runLine is the line of a command's output that has the id of a run: the name of its workflow, and eight characters.
var runLine = regexp.MustCompile(`(?m)^run (\S+)(-[0-9a-z]{8})$`)

// withIDs replaces the ids of runs in a command.
func withIDs(command string, runs map[string]string) string {
	for name, id := range runs {
		command = regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`-[0-9a-z]{8}\b`).ReplaceAllString(command, id)
	}
	return command
}

// rewrite writes the output of a command into the page.
func (b *block) rewrite(t *testing.T, s step, got string) {
	t.Helper()
	file := filepath.Join(root, b.page)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	old := "$ " + s.command + "\n" + s.output
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, "$ "+s.command+"\n"+got, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// step is one command of a block and its output.
type step struct {
	command, output string
}

func steps(text string) []step {
	var all []step
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, step{command: strings.TrimSpace(command)})
		} else {
			all[len(all)-1].output += line
		}
	}
	return all
}

// split splits a command line into words; quotes keep words together.
func split(command string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`(?:[^\s'"]|'[^']*'|"[^"]*")+`).FindAllString(command, -1) {
		words = append(words, strings.NewReplacer(`'`, "", `"`, "").Replace(m))
	}
	return words
}

// fleeting matches what differs from run to run: times, durations, and the ends of run
// ids.
var fleeting = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?|\b\d\d:\d\d:\d\d\.\d{3}|"clock":\d+|\bin (?:…|\d+(?:\.\d+)?m?s\b)|-[0-9a-z]{8}\b`)

// matches compares output with the expected text, in which … matches any text in a line
// and, as a line, any lines.
func matches(want, got string) bool {
	want, got = fleeting.ReplaceAllString(want, "#"), fleeting.ReplaceAllString(got, "#")
	var pattern strings.Builder
	pattern.WriteString("^")
	for line := range strings.Lines(want) {
		line = strings.TrimRight(line, " \n")
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		pattern.WriteString(strings.Join(parts, ".*") + ` *\n`)
	}
	pattern.WriteString("$")
	return regexp.MustCompile(pattern.String()).MatchString(got)
}

// commandsAlone checks commands that are only shown: that make has the target, and that
// hocket has the verb.
func (b *block) commandsAlone(t *testing.T) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.text) {
		line, _, _ = strings.Cut(line, " #")
		words := split(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch words[0] {
		case "make":
			for _, target := range words[1:] {
				if !strings.Contains(target, "=") && !regexp.MustCompile(`(?m)^`+target+`:`).Match(makefile) {
					t.Errorf("%s:%d: make has no target %s", b.page, b.line, target)
				}
			}
		case "hocket":
			b.verb(t, words[1:])
		case "go", "git", "cd", "mkdir", "kill", "curl", "npm", "brew", "docker":
		default:
			t.Errorf("%s:%d: nobody looks at the command %q", b.page, b.line, words[0])
		}
	}
}

// verb runs the help of hocket for the verb of a command line.
func (b *block) verb(t *testing.T, args []string) {
	t.Helper()
	if out, code := hocket(t, t.TempDir(), t.TempDir(), append(args, "--help")...); code != 0 {
		t.Errorf("%s:%d: hocket %s: %s", b.page, b.line, strings.Join(args, " "), out)
	}
}
