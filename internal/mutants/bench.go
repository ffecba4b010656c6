package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/process"
)

// bench builds and tests mutants, one at a time.
type bench struct {
	root string // of the module
	dir  string
	env  []string
	// patience is how long tests may take with a mutant, and three times as long as without
	// one. The machine may become much busier than it was when they were measured.
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
	b := &bench{root: root, dir: dir, env: os.Environ(), patience: time.Minute}
	// Broken code may write anywhere, so it gets a home directory of its own. The caches of
	// the go command stay where they are, for tests that build programs.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, explain(err)
		}
		b.env = append(b.env, name+"="+strings.TrimSpace(string(value)))
	}
	b.env = append(b.env, "HOME="+b.scratch(), "TMPDIR="+b.scratch())
	return b, nil
}

func (b *bench) scratch() string { return filepath.Join(b.dir, "tmp") }
func (b *bench) binary() string  { return filepath.Join(b.dir, "test") }
func (b *bench) close()          { _ = os.RemoveAll(b.dir) }

// tests are the names of a package's tests. The quick ones run first, because they kill
// most mutants.
type tests struct {
	dir         string // of the package, below the module's root
	quick, slow []string
	took        time.Duration // all of them
}

func (t tests) String() string {
	return fmt.Sprintf("%d tests of %s in %s", len(t.quick)+len(t.slow), t.dir, t.took.Round(time.Millisecond))
}

// quick is how long a test may take to be one of the first.
const quick = 50 * time.Millisecond

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \(([\d.]+)s\)$`)

// measure runs the tests of the unchanged package. They must pass.
func (b *bench) measure(ctx context.Context, dir string) (tests, error) {
	t := tests{dir: dir}
	if err := b.build(ctx, dir, nil); err != nil {
		return t, err
	}
	start := time.Now()
	printed, err := b.test(ctx, dir, time.Hour, "-test.v")
	if err != nil {
		return t, fmt.Errorf("the tests of %s fail without a mutant: %w: %q\n%s", dir, err, failed.FindAllString(printed, -1), process.LastLines(printed))
	}
	t.took = time.Since(start)
	for _, line := range passed.FindAllStringSubmatch(printed, -1) {
		if took, err := time.ParseDuration(line[2] + "s"); err == nil && took <= quick {
			t.quick = append(t.quick, line[1])
		} else {
			t.slow = append(t.slow, line[1])
		}
	}
	return t, nil
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// timeout is the reported killer of a mutant with which the tests do not end.
const timeout = "a timeout"

// try returns which test fails with a changed file; "" if none does.
func (b *bench) try(ctx context.Context, suites []tests, name string, source []byte) (killer string, err error) {
	for _, t := range suites {
		if err := b.build(ctx, t.dir, map[string][]byte{name: source}); err != nil {
			return "", err
		}
		for _, some := range [][]string{t.quick, t.slow} {
			if len(some) == 0 {
				continue
			}
			if killer, err := b.run(ctx, t, some); killer != "" || err != nil {
				return killer, err
			}
		}
	}
	return "", nil
}

// run runs some of the tests that were built, and returns the one that fails.
func (b *bench) run(ctx context.Context, t tests, some []string) (killer string, err error) {
	printed, err := b.test(ctx, t.dir, b.patience+3*t.took, "-test.failfast", "-test.run", "^("+strings.Join(some, "|")+")$")
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
func (b *bench) build(ctx context.Context, dir string, changed map[string][]byte) error {
	overlay := map[string]map[string]string{"Replace": {}}
	for name, source := range changed {
		copied := filepath.Join(b.dir, filepath.Base(name))
		if err := os.WriteFile(copied, source, 0o600); err != nil {
			return err
		}
		overlay["Replace"][filepath.Join(b.root, filepath.FromSlash(name))] = copied
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", file, "-o", b.binary(), "./"+dir).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// limits keep a mutant that never stops from using all memory and disk space: 8 GB of
// address space, and files of 1 GB.
const limits = `ulimit -v 8388608; ulimit -f 2097152; exec "$0" "$@"`

// test runs the tests that were built until they end or the time is up.
func (b *bench) test(ctx context.Context, dir string, patience time.Duration, args ...string) (printed string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Tests of permissions start processes of other users, so it is accessible to all, like
	// /tmp.
	if err := errors.Join(os.Chmod(b.dir, 0o755), os.MkdirAll(b.scratch(), 0o700), os.Chmod(b.scratch(), 0o777|os.ModeSticky)); err != nil {
		return "", err
	}
	defer os.RemoveAll(b.scratch())
	cmd := exec.Command("sh", append([]string{"-c", limits, b.binary()}, args...)...)
	cmd.Dir = filepath.Join(b.root, filepath.FromSlash(dir))
	cmd.Env = b.env
	out := process.Output{Limit: 64 << 20}
	err = (&process.Command{Cmd: cmd, Grace: time.Millisecond}).Run(ctx, "", out.Add, out.Add)
	return string(out.Bytes()), err
}
