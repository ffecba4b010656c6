package tool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/sandbox"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// command runs the program of a tool and returns what it prints.
func (c *call) command(ctx context.Context, w *Command) (string, error) {
	h, err := c.hold()
	if err != nil {
		return "", err
	}
	defer h.release()
	cmd, err := c.prepare(w, h)
	if err != nil {
		return "", err
	}
	name := cmd.Path
	if cmd.Err != nil {
		return "", c.broken(h, name, "", cmd.Err)
	}
	limit, err := c.confine(w, h, cmd)
	if err != nil {
		return "", err
	}
	out, said := process.Output{Limit: c.limit()}, process.Tail{}
	p := process.Command{Cmd: cmd, Key: c.key, Limit: limit}
	err = p.Run(ctx, workflow.FormatJSON(c.args), out.Add, func(piece []byte) error {
		c.log(piece)
		return said.Add(piece)
	})
	if err != nil && !w.good(err) {
		return "", c.broken(h, name, said.Last(), err)
	}
	printed := out.Bytes()
	if at := agent.NotText(printed); at > 0 {
		return "", agent.Errorf("its output is not UTF-8 text at byte %d", at)
	}
	return strings.TrimRight(string(printed), "\r\n"), nil
}

// good reports whether a program with a nonzero exit status succeeded.
func (w *Command) good(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && slices.Contains(w.Good, exit.ExitCode())
}

// broken explains why a program failed.
func (c *call) broken(h *hold, program, said string, err error) error {
	var exit *exec.ExitError
	var not *sandbox.StartError
	if errors.As(err, &exit) && errors.As(h.failed(), &not) {
		err, exit = not, nil
	}
	switch {
	case errors.Is(err, process.ErrTooMuch):
		return c.tooMuch()
	case exit != nil && said == "":
		return agent.Errorf("%s%s", exit.ProcessState, c.hint(h, exit.String()))
	case exit != nil:
		return agent.Errorf("%s: %s%s", exit.ProcessState, said, c.hint(h, said))
	case not != nil && not.Stage != "":
		return agent.Permanentf("it was not started, because its permissions could not be enforced: %v", not)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return agent.Permanentf("program %q not found; check that it is installed and on the PATH", program)
	case errors.Is(err, fs.ErrPermission):
		return agent.Permanentf("program %q is not executable%s", program, c.hint(h, fs.ErrPermission.Error()))
	case errors.Is(err, syscall.E2BIG):
		return agent.Permanentf("the inputs exceed the system limit")
	}
	return agent.Errorf("program %q: %v", program, err)
}

// prepare returns the process to start, with its directory and environment.
func (c *call) prepare(w *Command, h *hold) (*exec.Cmd, error) {
	if w.File != "" {
		if err := inside(c.Dir, w.File); err != nil {
			return nil, err
		}
	}
	if err := inside(c.dir, "./"+w.Dir); err != nil {
		return nil, err
	}
	argv, dir := w.start(c.dir, c.Dir)
	argv = append(argv, w.arguments(c.args)...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, c.environment(w, h, dir)
	return cmd, nil
}

// start returns what to start, and where: a program with a path is relative to the project,
// and a script to the folder of its tool.
func (w *Command) start(root, folder string) (argv []string, dir string) {
	argv = slices.Clone(w.Argv)
	if len(argv) > 0 {
		argv[0], _ = trust.Locate(root, argv[0], os.Getenv("PATH")) // a missing one does not start
	}
	if w.File != "" {
		argv = append(argv, filepath.Join(folder, filepath.FromSlash(w.File)))
	}
	return argv, filepath.Join(root, filepath.FromSlash(w.Dir))
}

// inside reports whether a path exists below a directory, even after links are followed.
func inside(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return agent.PathError(dir, err)
	}
	defer root.Close()
	// Clean removes "..", which would have another meaning after a link.
	if _, err := root.Stat(filepath.Clean(filepath.FromSlash(path))); err != nil {
		return agent.PathError(path, err)
	}
	return nil
}

// largestInput is the maximum length of an input value in the environment.
const largestInput = 32 << 10

// environment returns what a program sees: harmless variables, those of the sandbox, those
// of the manifest, its secrets and its inputs. The last value of a name counts.
func (c *call) environment(w *Command, h *hold, dir string) []string {
	env := append(secret.Harmless(c.env), h.variables()...)
	if h.forced {
		env = append(env, c.unread()...)
	}
	for _, name := range sorted.Keys(w.Env) {
		env = append(env, name+"="+w.Env[name])
	}
	for _, name := range sorted.Keys(c.secrets) {
		env = append(env, name+"="+c.secrets[name])
	}
	for _, name := range sorted.Keys(c.args) {
		if text := workflow.FormatText(c.args[name]); len(text) <= largestInput && !strings.ContainsRune(text, 0) {
			env = append(env, variable(name)+"="+text)
		}
	}
	return append(env, "HOCKET_PROJECT="+c.dir, "HOCKET_TOOL="+c.Dir, "PWD="+dir)
}

// variable returns the environment variable for an input.
func variable(input string) string {
	return "HOCKET_INPUT_" + strings.Map(func(r rune) rune {
		if isVariable("x" + string(r)) {
			return r
		}
		return '_'
	}, input)
}
