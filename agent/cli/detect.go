package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// lookPath returns the first of some programs that exists, resolved from a project; "" if
// none does.
func lookPath(root string, programs, env []string) string {
	for _, program := range programs {
		if found, err := trust.Locate(root, program, lookupEnv(env, "PATH")); err == nil {
			return found
		}
	}
	return ""
}

// lookupEnv returns the value of a variable; the last one counts.
func lookupEnv(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// versionPatience is how long a CLI may take to report its version, even on a busy machine.
const versionPatience = time.Minute

var versionText = lazy.Regexp(`[0-9]+(\.[0-9]+)+`)

// askVersion returns what a program prints when it is asked for its version.
func askVersion(ctx context.Context, path string, args, env []string, dir string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, versionPatience)
	defer stop()
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Dir = env, dir
	var said process.Tail
	p := &process.Command{Cmd: cmd, Grace: time.Second}
	if err := p.Run(ctx, "", said.Add, said.Add); err != nil {
		if last := said.Last(); last != "" {
			return "", fmt.Errorf("%w: %s", err, last)
		}
		return "", err
	}
	return versionText().FindString(said.String()), nil
}

// older reports whether a version precedes another one.
func older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range max(len(a), len(b)) {
		x, y := part(a, i), part(b, i)
		if x != y {
			return x < y
		}
	}
	return false
}

func part(version []string, i int) int {
	if i >= len(version) {
		return 0
	}
	n, _ := strconv.Atoi(version[i]) // only digits get here; too many of them count as the largest number
	return n
}

// versions caches the versions of programs as long as their files stay the same, because
// asking may take seconds. With a file, the cache persists between runs.
type versions struct {
	file string // "" none

	mu    sync.Mutex
	known map[string]string // by identity
}

// identity describes what was run: it changes when a program is replaced, and when it is
// asked in a different way.
func identity(path string, args []string, info fs.FileInfo) string {
	return fmt.Sprintf("%s %q %d %d", path, args, info.Size(), info.ModTime().UnixNano())
}

// of returns the version of a program; "" if it reports none.
func (v *versions) of(path string, args []string, ask func() (string, error)) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	id := identity(path, args, info)
	v.mu.Lock()
	if v.known == nil {
		v.known = v.load()
	}
	version, known := v.known[id]
	v.mu.Unlock()
	if known {
		return version, nil
	}
	if version, err = ask(); err != nil { // others need not wait for it
		return "", err
	}
	v.keep(id, version)
	return version, nil
}

// keeping serializes updates of the file: several programs are asked at once, and one
// update must not undo another.
var keeping sync.Mutex

func (v *versions) keep(id, version string) {
	keeping.Lock()
	defer keeping.Unlock()
	all := v.load()
	all[id] = version
	v.save(all)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known = all
}

func (v *versions) load() map[string]string {
	known := map[string]string{}
	if v.file == "" {
		return known
	}
	data, err := os.ReadFile(v.file)
	if err != nil {
		return known
	}
	value, err := workflow.ParseJSON(data)
	if err != nil {
		return known // possibly a partial file: ask again
	}
	object, _ := value.(map[string]any)
	for id, version := range object {
		if text, ok := version.(string); ok {
			known[id] = text
		}
	}
	return known
}

// save stores the cache. It only saves time, so errors are ignored.
func (v *versions) save(known map[string]string) {
	if v.file == "" || os.MkdirAll(filepath.Dir(v.file), 0o700) != nil {
		return
	}
	_ = wholefile.Write(v.file, []byte(workflow.FormatJSON(known)), 0o600)
}

// untried returns a warning about a program that is older than all tested versions.
func (m *Manifest) untried(version string) error {
	text := fmt.Sprintf("%s is version %s, and the oldest tested version is %s", m.Name, version, m.Oldest)
	if m.Install != "" {
		text += "; to update it, " + m.Install
	}
	return errors.New(text)
}
