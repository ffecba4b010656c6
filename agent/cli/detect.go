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

	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// lookPath finds the first of some programs that is there, seen from a project; "" none
// is.
func lookPath(root string, programs, env []string) string {
	for _, program := range programs {
		if found, err := trust.Locate(root, program, lookupEnv(env, "PATH")); err == nil {
			return found
		}
	}
	return ""
}

// lookupEnv is the value of a variable; the last counts.
func lookupEnv(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}

// versionPatience is how long a CLI may take to tell its version, also where much else
// is going on.
const versionPatience = time.Minute

var versionText = lazy(`[0-9]+(\.[0-9]+)+`)

// askVersion is what a program says when it is asked for its version.
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

// older says whether a version comes before another one.
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

// versions remembers the versions of programs, as long as their files are the same: to
// ask may take seconds. With a file they are remembered from run to run.
type versions struct {
	file string // "" none

	mu    sync.Mutex
	known map[string]string // by identity
}

// identity is what was run: it changes when a program is replaced, and when it is asked
// in another way.
func identity(path string, args []string, info fs.FileInfo) string {
	return fmt.Sprintf("%s %q %d %d", path, args, info.Size(), info.ModTime().UnixNano())
}

// of is the version of a program; "" it tells none.
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

// keeping is for one program at a time: several are asked at once, and what one keeps
// may not undo what another one did.
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
		return known // half a file, perhaps: it is asked for again
	}
	object, _ := value.(map[string]any)
	for id, version := range object {
		if text, ok := version.(string); ok {
			known[id] = text
		}
	}
	return known
}

// save keeps what is known. It only saves time, so that it may fail.
func (v *versions) save(known map[string]string) {
	if v.file == "" || os.MkdirAll(filepath.Dir(v.file), 0o700) != nil {
		return
	}
	_ = wholefile.Write(v.file, []byte(workflow.FormatJSON(known)), 0o600)
}

// untried is the warning about a program that is older than all that were tried.
func (m *Manifest) untried(version string) error {
	text := fmt.Sprintf("%s is version %s, and %s is the oldest that was tried", m.Name, version, m.Oldest)
	if m.Install != "" {
		text += "; to update it, " + m.Install
	}
	return errors.New(text)
}
