package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// bench builds and tests mutants.
type bench struct {
	root string // of the module
	dir  string
	env  []string
	// patience is how long tests may take with a mutant, and three times as long as without
	// one. The machine may become busier than it was when they were measured.
	patience time.Duration
}

func newBench() (*bench, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, dir: dir, env: os.Environ(), patience: 30 * time.Second}
	// Broken code may write anywhere, so it gets its own home directory. The caches of
	// the go command stay where they are, for tests that build programs.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, explain(err)
		}
		b.env = append(b.env, name+"="+strings.TrimSpace(string(value)))
	}
	// Tests of permissions start processes of other users.
	return b, os.Chmod(dir, 0o755)
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// tests are those of a package.
type tests struct {
	dir     string // of the package, below the module's root
	short   bool   // see target
	program []byte
	groups  []group
}

// group are tests that run together. The groups with the quick ones run first, because they
// kill most mutants.
type group struct {
	names []string
	took  time.Duration
}

func (t tests) String() string {
	n, took := 0, time.Duration(0)
	for _, g := range t.groups {
		n += len(g.names)
		took += g.took
	}
	return fmt.Sprintf("%d tests of %s in %s", n, t.dir, took.Round(time.Millisecond))
}

// add adds a test to the group of those that take about as long.
func (t *tests) add(name string, took time.Duration) {
	i := 0
	for limit := 50 * time.Millisecond; took > limit; limit *= 10 {
		i++
	}
	for len(t.groups) <= i {
		t.groups = append(t.groups, group{})
	}
	t.groups[i].names = append(t.groups[i].names, name)
	t.groups[i].took += took
}

var passed = regexp.MustCompile(`(?m)^ *--- PASS: ([^\s/]+)\S* \(([\d.]+)s\)$`)

// durations returns how long each test took, from what go test -v prints, in order of names. The time
// of a test does not include that of its parallel subtests, so the longest of them counts too.
func durations(printed string) (names []string, took map[string]time.Duration) {
	took = map[string]time.Duration{}
	for _, line := range passed.FindAllStringSubmatch(printed, -1) {
		if d, err := time.ParseDuration(line[2] + "s"); err == nil {
			took[line[1]] = max(took[line[1]], d)
		}
	}
	return sorted.Keys(took), took
}

// measure builds the tests of a package with changed files and runs them without a mutant.
// They must pass.
func (b *bench) measure(ctx context.Context, t tests, changed map[string][]byte) (tests, error) {
	var err error
	if t.program, err = b.build(ctx, t.dir, changed); err != nil {
		return t, err
	}
	if !bytes.Contains(t.program, []byte(undecided)) {
		return t, fmt.Errorf("the tests of %s do not use the package", t.dir)
	}
	printed, err := b.test(ctx, t, with(t.program, 0), time.Hour, "-test.v")
	if err != nil {
		return t, fmt.Errorf("the tests of %s fail without a mutant; they must pass, and not depend on lines or allocations: %w: %q\n%s", t.dir, err, failed.FindAllString(printed, -1), process.LastLines(printed))
	}
	names, took := durations(printed)
	for _, name := range names {
		t.add(name, took[name])
	}
	return t, nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// timeout is reported as the killer of a mutant that makes the tests hang.
const timeout = "a timeout"

// try returns which test fails with a mutant; "" if none does.
func (b *bench) try(ctx context.Context, suites []tests, program func(tests) ([]byte, error)) (killer string, err error) {
	for _, t := range suites {
		program, err := program(t)
		if ctx.Err() == nil && errors.As(err, new(*exec.ExitError)) {
			return "the compiler", nil // only the tests depend on what has changed
		}
		if err != nil {
			return "", err
		}
		for _, g := range t.groups {
			if len(g.names) == 0 {
				continue
			}
			if killer, err := b.run(ctx, t, program, g); killer != "" || err != nil {
				return killer, err
			}
		}
	}
	return "", nil
}

// run runs some of the tests of a program, and returns the one that fails.
func (b *bench) run(ctx context.Context, t tests, program []byte, g group) (killer string, err error) {
	printed, err := b.test(ctx, t, program, b.patience+3*g.took, "-test.failfast", "-test.run", "^("+strings.Join(g.names, "|")+")$")
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, process.ErrCutOff):
		return timeout, nil
	case errors.As(err, &exit), errors.Is(err, process.ErrTooMuch):
		if name := failed.FindStringSubmatch(printed); name != nil {
			return name[1], nil
		}
		return "a crash", nil
	}
	return "", err
}

// build builds the tests of a package, with some files replaced.
func (b *bench) build(ctx context.Context, dir string, changed map[string][]byte) ([]byte, error) {
	work, err := os.MkdirTemp(b.dir, "build")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	overlay := map[string]map[string]string{"Replace": {}}
	for name, source := range changed {
		copied := filepath.Join(work, filepath.Base(name))
		if err := os.WriteFile(copied, source, 0o600); err != nil {
			return nil, err
		}
		overlay["Replace"][filepath.Join(b.root, filepath.FromSlash(name))] = copied
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	file, program := filepath.Join(work, "overlay.json"), filepath.Join(work, "test")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", program, "./"+dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(program)
}

// limits keep a mutant that never stops from using all memory and disk space: 8 GB of
// address space, and files of 1 GB.
const limits = `ulimit -v 8388608; ulimit -f 2097152; exec "$0" "$@"`

// test runs a test program until it ends or the time is up.
func (b *bench) test(ctx context.Context, t tests, program []byte, patience time.Duration, args ...string) (printed string, err error) {
	work, err := os.MkdirTemp(b.dir, "run")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	// It is accessible to all users, like /tmp.
	file, scratch := filepath.Join(work, "test"), filepath.Join(work, "tmp")
	if err := errors.Join(os.Chmod(work, 0o755), os.Mkdir(scratch, 0o700), os.Chmod(scratch, 0o777|os.ModeSticky), writeProgram(file, program)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.Command("sh", append([]string{"-c", limits, file, fmt.Sprintf("-test.short=%t", t.short)}, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(t.dir))
	cmd.Env = append(slices.Clip(b.env), "HOME="+scratch, "TMPDIR="+scratch)
	out := process.Output{Limit: 64 << 20}
	err = (&process.Command{Cmd: cmd, Grace: time.Millisecond}).Run(ctx, "", out.Add, out.Add)
	return string(out.Bytes()), err
}

// writeProgram writes a program that can be run at once. A process that this program starts
// meanwhile must not inherit the open file, because then the program could not be executed.
func writeProgram(file string, program []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, program, 0o755)
}
