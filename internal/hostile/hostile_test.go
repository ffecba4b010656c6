//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience is a limit for what hangs; nothing else depends on it.
const patience = 30 * time.Second

// ground is the environment of one project: the project is next to the user's files, with an
// address that must not be reached and programs that must not be started.
type ground struct {
	base    string
	hocket  string
	fill    *strings.Replacer
	reached *atomic.Int32
	strace  string // "" if missing; then only the traps detect anything
}

func (g *ground) path(name string) string { return filepath.Join(g.base, name) }

// programs are on the user's PATH. Each leaves a mark with its arguments.
var programs = []string{"git", "sh", "bash", "env", "node", "python3", "claude", "codex", "gemini", "opencode", "qwen", "copilot", "goose", "chromium", "docker", "evil", "ls", "run"}

// allowed matches the programs that may be started anyway: the user's own, for their version.
var allowed = regexp.MustCompile(`^(git|claude|codex|gemini|opencode|qwen|copilot|goose) --version$`)

func TestHostileProjects(t *testing.T) {
	hocket := filepath.Join(t.TempDir(), "hocket")
	if out, err := exec.Command("go", "build", "-o", hocket, "github.com/hocket-dev/hocket/cmd/hocket").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	strace := workingStrace(t)
	if len(projects) < 25 {
		t.Errorf("there are only %d projects", len(projects))
	}
	everyCommand(t, hocket)
	for name, p := range projects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := prepare(t, hocket, strace)
			g.build(t, p)
			for _, verb := range verbs {
				g.look(t, verb)
			}
			g.askMCP(t)
			g.askHTTP(t)
			if n := g.reached.Load(); n > 0 {
				t.Errorf("%d connections were made", n)
			}
		})
	}
}

// everyCommand fails if a command is neither among the verbs nor known to do something.
func everyCommand(t *testing.T, hocket string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(hocket, "man", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "hocket-*.1"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d commands: %v", len(pages), err)
	}
	known := map[string]bool{}
	for _, verb := range verbs {
		for i := range verb {
			known[strings.Join(verb[:i+1], "-")] = true
		}
	}
	for _, verb := range slices.Concat(acts, groups) {
		known[strings.ReplaceAll(verb, " ", "-")] = true
	}
	for _, page := range pages {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(page), "hocket-"), ".1")
		if !known[name] {
			t.Errorf("hocket %s is neither in verbs nor in acts", strings.ReplaceAll(name, "-", " "))
		}
	}
}

// workingStrace returns the path of strace if it is installed and permitted. It stops a
// program only at the relevant calls; otherwise the suite would take three times as long.
func workingStrace(t *testing.T) string {
	path, err := exec.LookPath("strace")
	if err != nil || exec.Command(path, "--seccomp-bpf", "-f", "-qq", "-o", os.DevNull, "-e", "trace=execve", "true").Run() != nil {
		t.Log("strace does not work here: files that are opened are not seen, only programs and connections")
		return ""
	}
	return path
}

func prepare(t *testing.T, hocket, strace string) *ground {
	t.Helper()
	g := &ground{base: t.TempDir(), hocket: hocket, reached: &atomic.Int32{}, strace: strace}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			g.reached.Add(1)
			c.Close()
		}
	}()
	g.fill = strings.NewReplacer("{outside}", g.path("outside"), "{home}", g.path("home"), "{evil}", "http://"+listener.Addr().String(), "{run}", g.path("bin/run"))
	for _, name := range programs {
		g.write(t, "bin/"+name, "#!/bin/sh\necho \"${0##*/} $*\" >> "+g.path("marks")+"\necho 99.9.9\n", 0o700)
	}
	for name, text := range map[string]string{
		"home/.ssh/id_rsa": "agent: shell\n", "outside/secret.txt": "agent: shell\n", "outside/secret.md": "secret\n", "outside/run.sh": "#!/bin/sh\n", "outside/flow.yml": harmless,
		"outside/vendor/x/flow.yml": harmless, "outside/hocket/config.yml": "model: x\n", "outside/hocket/agents/a.yml": "agent: shell\n", "outside/hocket/workflows/w.yml": harmless,
		"outside/hocket/tools/t/tool.yml": "description: x\nkind: command\ncommand: [ls]\n", "outside/hocket/clis/evil.yml": "program: ls\nargs: [x]\nstdin: \"{prompt}\"\nreply: {format: text}\n",
		"outside/repository/.git/worktrees/x/gitdir": g.path("project/.git") + "\n", "outside/repository/.git/worktrees/x/commondir": "../..\n",
	} {
		g.write(t, name, text, 0o600)
	}
	return g
}

func (g *ground) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	path := g.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		t.Fatal(err)
	}
}

// build creates the project, and adds the files that verbs look for unless the project
// has them.
func (g *ground) build(t *testing.T, p hostileProject) {
	t.Helper()
	for name, target := range p.links {
		path := g.path("project/" + name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(g.fill.Replace(target), path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range p.pipes {
		path := g.path("project/" + name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range p.files {
		g.write(t, "project/"+name, g.fill.Replace(text), 0o700)
	}
	for name, text := range map[string]string{"workflow.yml": harmless, ".hocket/workflows/w.yml": harmless} {
		if _, err := os.Lstat(g.path("project/" + name)); err == nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(g.path("project/" + name))); err == nil && !strings.HasPrefix(real, g.path("project")) {
			continue
		}
		g.write(t, "project/"+name, text, 0o600)
	}
}

// look runs a verb in the project and checks what it did.
func (g *ground) look(t *testing.T, verb []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	cmd := g.command(ctx, verb)
	out, err := cmd.CombinedOutput()
	name := strings.Join(verb, " ")
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	if bytes.Contains(out, []byte("panic:")) || bytes.Contains(out, []byte("\x1b[2J")) {
		t.Errorf("%s printed\n%s", name, out)
	}
	g.unharmed(t, name)
}

// command returns a command of hocket in the project, which leaves a trace.
func (g *ground) command(ctx context.Context, verb []string) *exec.Cmd {
	argv := append([]string{g.hocket}, verb...)
	if g.strace != "" {
		argv = append([]string{g.strace, "--seccomp-bpf", "-f", "-y", "-qq", "-s", "4096", "-e", "trace=execve,execveat,open,openat,openat2,connect", "-o", g.path("trace")}, argv...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = g.path("project")
	proxy := g.fill.Replace("{evil}")
	cmd.Env = []string{
		"HOME=" + g.path("home"), "PATH=" + g.path("bin"), "XDG_STATE_HOME=" + g.path("state"), "XDG_CACHE_HOME=" + g.path("cache"), "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"ANTHROPIC_API_KEY=sk-ant-0123456789", "http_proxy=" + proxy, "https_proxy=" + proxy, "HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the traced program ends with strace
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// unharmed checks what a verb did that has ended.
func (g *ground) unharmed(t *testing.T, verb string) {
	t.Helper()
	g.started(t, verb)
	if g.strace != "" {
		g.traced(t, verb, g.path("trace"))
	}
}

// started checks the marks that programs left.
func (g *ground) started(t *testing.T, verb string) {
	t.Helper()
	marks, err := os.ReadFile(g.path("marks"))
	if err != nil {
		return // there are no marks
	}
	for line := range strings.Lines(string(marks)) {
		if line = strings.TrimSpace(line); verb != "doctor" || !allowed.MatchString(line) {
			t.Errorf("%s started %q", verb, line)
		}
	}
	if err := os.Remove(g.path("marks")); err != nil {
		t.Fatal(err)
	}
}

var (
	executed = regexp.MustCompile(`execve(?:at)?\((?:[^"]*, )?"([^"]*)", \[(.*?)\]`)
	opened   = regexp.MustCompile(`open(?:at2?)?\(.*\) = \d+<([^>]*)>`)
	connects = regexp.MustCompile(`connect\(.*sa_family=AF_INET`)
)

// traced checks the system calls.
func (g *ground) traced(t *testing.T, verb, trace string) {
	t.Helper()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for line := range strings.Lines(string(text)) {
		if m := executed.FindStringSubmatch(line); m != nil {
			words := strings.Fields(strings.NewReplacer(`"`, "", ",", "").Replace(m[2]))
			asked := filepath.Base(m[1]) + " " + strings.Join(words[min(1, len(words)):], " ")
			switch {
			case m[1] == g.hocket:
				seen = true
			case verb == "doctor" && allowed.MatchString(asked):
			default:
				t.Errorf("%s executed %s", verb, asked)
			}
		}
		if m := opened.FindStringSubmatch(line); m != nil && g.private(m[1]) {
			t.Errorf("%s opened %s", verb, strings.TrimPrefix(m[1], g.base+"/"))
		}
		if connects.MatchString(line) {
			t.Errorf("%s: %s", verb, line)
		}
	}
	if !seen {
		t.Fatalf("the trace of %s shows nothing:\n%s", verb, text)
	}
}

// private reports whether a file is the user's, and must not be opened for a project.
func (g *ground) private(path string) bool {
	return strings.HasPrefix(path, g.path("outside")) || strings.HasPrefix(path, g.path("home")) || path == "/dev/zero"
}
