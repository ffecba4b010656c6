package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// git is one way to call git: with a repository, a work tree, an index and a place for objects.
type git struct {
	dir      string      // of the process; "": the current one
	env      []string    // added to the environment
	settings []string    // key=value, for -c
	users    bool        // reads the user's own configuration
	repo     *repository // in which it works; nil: the one of dir
	objects  string      // where its repository has its objects; "": not known
	holds    *os.File    // stays open as long as git runs; nil: nothing
}

// cutOffTime is for git to remove its lock files after SIGTERM.
const cutOffTime = 5 * time.Second

// maxStderr is how much of what git prints on standard error is kept: from its beginning, and of the lines that matter
// most as much again. An agent can make git print any number of warnings.
const maxStderr = 64 << 10

// with returns a way to call git with more variables.
func (g git) with(env ...string) git {
	g.env = append(slices.Clip(g.env), env...)
	return g
}

// in returns a way to call git in a directory.
func (g git) in(dir string) git {
	g.dir = dir
	return g
}

// command returns a git command that runs no program of anybody's choice and asks nothing. The caller calls done when it has ended.
func (g git) command(ctx context.Context, args ...string) (cmd *exec.Cmd, done func(), err error) {
	env, done := append(g.environ(), g.env...), func() {}
	if g.repo != nil && g.repo.store == "" && aboutRefs[args[0]] { // they would be lost with the repository, without an error
		return nil, nil, fmt.Errorf("workspace: git %s in a repository without refs", args[0])
	}
	if g.repo != nil {
		var gitDir string
		if gitDir, done, err = g.repo.make(); errors.As(err, new(*DamagedError)) {
			return nil, nil, err
		} else if err != nil {
			return nil, nil, fmt.Errorf("a repository for git cannot be made: %w", err)
		}
		env = append(env, "GIT_DIR="+gitDir)
	}
	cmd = exec.CommandContext(ctx, "git", append(g.options(), args...)...)
	cmd.Dir, cmd.Env = g.dir, env
	if g.holds != nil && runtime.GOOS != "windows" { // where a process inherits only three files
		cmd.ExtraFiles = []*os.File{g.holds}
	}
	cmd.WaitDelay = cutOffTime
	cmd.Cancel = func() error {
		err := cmd.Process.Signal(syscall.SIGTERM)
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return cmd.Process.Kill() // a system without signals
		}
		return err
	}
	return cmd, done, nil
}

// aboutRefs has the commands that only read or write refs.
var aboutRefs = map[string]bool{"update-ref": true, "for-each-ref": true, "pack-refs": true}

// options returns what is the same for all commands.
func (g git) options() []string {
	fixed := []string{
		"--no-pager", "--no-replace-objects",
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"-c", "safe.bareRepository=explicit", // a folder of a clone can be one, with a configuration of its own
		"-c", "core.safecrlf=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
		"-c", "submodule.recurse=false", "-c", "advice.addEmbeddedRepo=false", "-c", "protocol.allow=never",
	}
	if !g.users {
		fixed = append(fixed, "-c", "core.attributesFile=/dev/null")
	}
	for _, s := range g.settings {
		fixed = append(fixed, "-c", s)
	}
	return fixed
}

// environ returns the environment without variables that redirect git.
func (g git) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		whose := name == "GIT_CONFIG_GLOBAL" || name == "GIT_CONFIG_SYSTEM" || name == "GIT_CONFIG_NOSYSTEM"
		return strings.HasPrefix(name, "GIT_") && !(g.users && whose) || name == "LANGUAGE"
	})
	env = append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ATTR_NOSYSTEM=1", "GIT_ADVICE=0", "GIT_ALLOW_PROTOCOL=")
	if !g.users {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	}
	return env
}

// gitError is a failed git command.
type gitError struct {
	command string
	code    int // exit code; -1: none
	stderr  string
	err     error
	dir     string // where it ran; "": its messages have no relative paths
}

func (e *gitError) Error() string {
	if text := lastLines(e.stderr); text != "" {
		return fmt.Sprintf("git %s: %s", e.command, text)
	}
	return fmt.Sprintf("git %s: %v", e.command, e.err)
}

func (e *gitError) Unwrap() error { return e.err }

// lastLines returns the first fatal or error line of git's messages and what follows.
func lastLines(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	at := max(0, slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "fatal: ") || strings.HasPrefix(l, "error: ")
	}))
	return strings.Join(lines[at:min(len(lines), at+6)], "; ")
}

func exitCode(err error) int {
	var failed *gitError
	if errors.As(err, &failed) {
		return failed.code
	}
	return -1
}

func stderrOf(err error) string {
	var failed *gitError
	if errors.As(err, &failed) {
		return failed.stderr
	}
	return ""
}

// run runs git and returns what it prints. Standard error is returned, too, since some of git's
// warnings matter.
func (g git) run(ctx context.Context, stdin io.Reader, args ...string) (stdout, stderr string, err error) {
	cmd, done, err := g.command(ctx, args...)
	if err != nil {
		return "", "", err
	}
	defer done()
	var out bytes.Buffer
	var said messages
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &said
	err = cmd.Run()
	text := said.text()
	err = explain(ctx, args[0], err, text)
	var failed *gitError
	if errors.As(err, &failed) {
		failed.dir = cmd.Dir
	}
	return out.String(), text.String(), g.repo.explain(err, gitDirOf(cmd))
}

// gitDirOf returns the repository of a command; "": it is that of its directory.
func gitDirOf(cmd *exec.Cmd) (dir string) {
	for _, pair := range cmd.Env {
		if value, found := strings.CutPrefix(pair, "GIT_DIR="); found {
			dir = value
		}
	}
	return dir
}

func explain(ctx context.Context, command string, err error, messages *bytes.Buffer) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errNoGit
	}
	code := -1
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	}
	text := messages.String()
	if strings.Contains(text, "No space left on device") || strings.Contains(text, "Disk quota exceeded") {
		err = errors.Join(err, syscall.ENOSPC)
	}
	return &gitError{command: command, code: code, stderr: text, err: err}
}

// out runs git and returns what it prints, without the line end.
func (g git) out(ctx context.Context, args ...string) (string, error) {
	text, _, err := g.run(ctx, nil, args...)
	return strings.TrimSuffix(text, "\n"), err
}

// do runs git.
func (g git) do(ctx context.Context, args ...string) error {
	_, _, err := g.run(ctx, nil, args...)
	return err
}

// input runs git with standard input.
func (g git) input(ctx context.Context, stdin string, args ...string) (string, error) {
	text, _, err := g.run(ctx, strings.NewReader(stdin), args...)
	return strings.TrimSuffix(text, "\n"), err
}

// messages keeps what git prints on standard error, within limits.
type messages struct {
	first  bytes.Buffer // the beginning
	matter bytes.Buffer // lines that matter, from where the beginning ends
	line   []byte       // an incomplete line after the beginning
}

// mattering are the beginnings of messages that are never dropped silently.
var mattering = [][]byte{[]byte("fatal: "), []byte("error: "), []byte(unopened)}

func (m *messages) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		m.line = append(m.line, line[:min(len(line), maxStderr-len(m.line))]...)
		if whole {
			m.end()
		}
	}
	return n, nil
}

// end takes over a line.
func (m *messages) end() {
	matters := slices.ContainsFunc(mattering, func(start []byte) bool { return bytes.HasPrefix(m.line, start) })
	switch line := append(m.line, '\n'); {
	case m.first.Len()+len(line) <= maxStderr && m.matter.Len() == 0:
		m.first.Write(line)
	case matters && m.matter.Len()+len(line) <= maxStderr:
		m.matter.Write(line)
	}
	m.line = m.line[:0]
}

func (m *messages) text() *bytes.Buffer {
	if len(m.line) > 0 {
		m.end()
	}
	return bytes.NewBuffer(slices.Concat(m.first.Bytes(), m.matter.Bytes()))
}

// limitedWriter drops what is beyond a limit.
type limitedWriter struct{ to *bytes.Buffer }

func limited(to *bytes.Buffer) io.Writer { return limitedWriter{to} }

func (w limitedWriter) Write(b []byte) (int, error) {
	w.to.Write(b[:max(0, min(len(b), maxStderr-w.to.Len()))])
	return len(b), nil
}

// records splits what git prints with -z.
func records(text string) []string {
	if text = strings.TrimSuffix(text, "\x00"); text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

var errNoGit = errors.New("git is not installed: own workspaces need git 2.38 or newer")

// goodGits are the programs that CheckGit has found to be good.
var goodGits sync.Map

// CheckGit returns an error if git is missing or too old for own workspaces.
func CheckGit(ctx context.Context) error {
	program, _ := exec.LookPath("git") // if there is none, git says so
	if _, good := goodGits.Load(program); good {
		return nil
	}
	text, err := git{}.out(ctx, "version")
	if err == nil {
		err = checkVersion(text)
	}
	if err == nil {
		goodGits.Store(program, true)
	}
	return err
}

func checkVersion(text string) error {
	var major, minor int
	if _, err := fmt.Sscanf(text, "git version %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("git reports an unknown version: %.60q", text)
	}
	if major < 2 || major == 2 && minor < 38 {
		return fmt.Errorf("git %d.%d is too old: own workspaces need git 2.38 or newer", major, minor)
	}
	return nil
}

// isCommit reports whether a text is the full name of an object. Nothing else that comes from
// outside may become an argument of git.
func isCommit(text string) bool {
	if len(text) != 40 && len(text) != 64 {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

func checkCommits(commits ...string) error {
	for _, c := range commits {
		if !isCommit(c) {
			return fmt.Errorf("invalid workspace %.80q: expected the full name of a commit", c)
		}
	}
	return nil
}
