package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/internal/sandbox"
)

// Sandbox says whether the permissions of programs are enforced.
type Sandbox string

// The zero value enforces them if the system can.
const (
	SandboxRequired Sandbox = "required" // a program whose permissions cannot be enforced is not started
	SandboxNone     Sandbox = "none"     // permissions are not enforced
)

// Enforcement describes how the permissions of programs are enforced here.
type Enforcement struct {
	Held bool
	Why  string   // why not; "" if they are
	Gaps []string // what a program can do anyway
}

// Enforcement returns how the permissions of programs are enforced here.
func (s *Set) Enforcement() Enforcement {
	support := sandbox.Supported()
	switch {
	case s.options.Sandbox == SandboxNone:
		return Enforcement{Why: "your own config.yml says `sandbox: none` under `tools`"}
	case support.None != "":
		return Enforcement{Why: support.None}
	}
	return Enforcement{Held: true, Gaps: support.Gaps}
}

// hold is what a program gets in addition to its own: a directory for temporary files, and
// what enforces its permissions.
type hold struct {
	temp   string
	proxy  *outbound.Proxy // nil: it reaches no host, or any host
	box    *sandbox.Box    // nil: nothing is enforced
	forced bool            // a sandbox is needed

	mu     sync.Mutex
	denied []string // hosts that it was not allowed to reach
	missed []string // and others that it could not reach, with the reason
}

// hold prepares the enforcement for the program of a call.
func (c *call) hold() (*hold, error) {
	h := &hold{}
	switch {
	case c.enforced.Held:
		h.forced = true
	case c.Generated():
		return nil, agent.Permanentf("a model wrote it, and its permissions cannot be enforced here: %s", c.enforced.Why)
	case c.sandbox == SandboxRequired:
		return nil, agent.Permanentf("its permissions cannot be enforced here, but config.yml requires it: %s", c.enforced.Why)
	}
	temp, err := os.MkdirTemp("", "hocket-tool-*")
	if err != nil {
		return nil, agent.Errorf("cannot create a directory for temporary files: %v", err)
	}
	h.temp = temp
	if n := c.Permissions.Network; h.forced && !n.nobody() {
		g := &guard{network: n, redact: c.hide.Mask, heard: h.note}
		if h.proxy, err = outbound.StartProxy(outbound.ProxyOptions{Dial: g.Dial, Forward: g, Token: rand.Text()}); err != nil {
			h.release()
			return nil, agent.Errorf("cannot start its network proxy: %v", err)
		}
	}
	return h, nil
}

// variables tell a program about its proxy and directory. Programs that do not support a
// proxy reach no network.
func (h *hold) variables() []string {
	env := []string{"TMPDIR=" + h.temp, "TMP=" + h.temp, "TEMP=" + h.temp}
	if h.proxy != nil {
		address := "http://hocket:" + h.proxy.Token() + "@" + h.proxy.Address().String()
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+address, strings.ToLower(name)+"="+address)
		}
		env = append(env, "NODE_USE_ENV_PROXY=1") // node reads the others only with this one
	}
	return env
}

// gitSettings are the locations of a person's git settings.
var gitSettings = []string{".gitconfig", ".config/git"}

// unread sets variables for programs that fail if they cannot read a certain file.
func (c *call) unread() []string {
	home := c.variable("HOME")
	for _, p := range append(c.places(c.Permissions.Read), c.places(c.Permissions.Write)...) {
		for _, file := range gitSettings {
			below, err := filepath.Rel(filepath.Join(p.Base, p.Path), filepath.Join(home, file))
			if err == nil && filepath.IsLocal(below) {
				return nil
			}
		}
	}
	return []string{"GIT_CONFIG_GLOBAL=" + os.DevNull}
}

// confine makes the command of a call start with the permissions of its tool enforced.
// The limit is for a program that is not confined otherwise.
func (c *call) confine(w *Command, h *hold, cmd *exec.Cmd) (limit *sandbox.Limit, err error) {
	if limit, err = c.task.Limit(h.temp); err != nil {
		return nil, err
	}
	if !h.forced {
		return limit, c.makeFolders()
	}
	p := &sandbox.Policy{Limit: limit, Home: c.variable("HOME"), Programs: filepath.SplitList(c.variable("PATH"))}
	p.Read = append(c.places(c.Permissions.Read), c.own(w)...)
	p.Write = append(c.places(c.Permissions.Write), itself(h.temp))
	if h.proxy != nil {
		p.Ports = append(c.Permissions.Network.ports(), h.proxy.Address().Port())
		p.Connect = func(ctx context.Context, to netip.AddrPort) bool {
			may := to == h.proxy.Address() || c.Permissions.Network.direct(ctx, to)
			if !may {
				h.note(to.String(), outbound.ErrRefused)
			}
			return may
		}
	}
	h.box, err = sandbox.Confine(cmd, p)
	return nil, c.badPlace(err)
}

// makeFolders creates the folders that a program may write, if nothing confines it.
func (c *call) makeFolders() error {
	for _, p := range c.places(c.Permissions.Write) {
		if strings.HasSuffix(p.Path, "/") {
			if err := os.MkdirAll(filepath.Join(p.Base, filepath.FromSlash(p.Path)), 0o777); err != nil {
				return agent.PathError(p.Name, err)
			}
		}
	}
	return nil
}

// own returns what a program may always read of its tool: the folder. If that is a link, it
// could point anywhere, so only the script is included.
func (c *call) own(w *Command) []sandbox.Place {
	if info, err := os.Lstat(c.Dir); err == nil && info.IsDir() {
		return []sandbox.Place{itself(c.Dir)}
	}
	if w.File == "" {
		return nil
	}
	return []sandbox.Place{{Base: c.Dir, Path: filepath.ToSlash(w.File)}}
}

// itself returns a path whose last element is not a link.
func itself(path string) sandbox.Place {
	return sandbox.Place{Base: filepath.Dir(path), Path: filepath.Base(path)}
}

// places returns the resolved paths of a permission.
func (c *call) places(paths []string) []sandbox.Place {
	return places(paths, c.dir, c.variable("HOME"))
}

// variable returns a variable of the environment from which tools get theirs.
func (c *call) variable(name string) string {
	for _, pair := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// badPlace explains what is wrong with a path of a permission.
func (c *call) badPlace(err error) error {
	var at *sandbox.PlaceError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at):
		return agent.Errorf("it was not started, because its permissions could not be enforced: %v", err)
	case at.Link != "":
		return agent.Permanentf("fs names %q, in which %q is a link to %q; write the path without links in %s", at.Place, at.Link, at.Target, c.file())
	case errors.Is(err, fs.ErrNotExist):
		return agent.Permanentf("fs names %q for writing, which does not exist; create it, or write \"%s/\" in %s for a folder to be created when needed", at.Place, at.Place, c.file())
	}
	return agent.Permanentf("fs names %q, which cannot be used: %v", at.Place, at.Err)
}

// file returns where the tool is described, as a person finds it.
func (c *call) file() string {
	file := filepath.Join(c.Dir, File)
	if near, err := filepath.Rel(c.dir, file); err == nil && filepath.IsLocal(near) {
		file = near
	}
	return filepath.ToSlash(file)
}

// note records a host that the program could not reach.
func (h *hold) note(host string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if badHost(host) != "" || strings.Contains(host, "[") { // which YAML would parse as a list
		host = strconv.Quote(shorten(host))
	}
	list, entry := &h.missed, host+" ("+err.Error()+")"
	if errors.Is(err, outbound.ErrRefused) {
		list, entry = &h.denied, host
	}
	const most = 5
	if !slices.Contains(*list, entry) && len(*list) < most {
		*list = append(*list, entry)
	}
}

// failed explains why the program did not run; nil if it did.
func (h *hold) failed() error {
	if h.box == nil {
		return nil
	}
	return h.box.Failed()
}

// release ends the enforcement after the program has ended, and removes its files.
func (h *hold) release() {
	if h.box != nil {
		h.box.Close()
	}
	if h.proxy != nil {
		h.proxy.Close()
	}
	remove(h.temp)
}

// remove removes a directory in which a program could do anything: directories may be
// unreadable for their owner, or nested more deeply than file descriptors allow. Every
// directory is moved to the top before it is emptied. What still cannot be removed is left
// to the system.
func remove(dir string) {
	defer os.Remove(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	for left := []string{"."}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		_ = root.Chmod(at, 0o700)
		entries, _ := fs.ReadDir(root.FS(), at) // as many as can be read
		for _, e := range entries {
			below := path.Join(at, e.Name())
			if !e.IsDir() {
				_ = root.Remove(below)
				continue
			}
			_ = root.Chmod(below, 0o700)
			if top := rand.Text(); root.Rename(below, top) == nil {
				left = append(left, top)
			}
		}
		if at != "." {
			_ = root.Remove(at)
		}
	}
}

// tellOnce writes to the log of an attempt what is not enforced for its programs.
func (c *call) tellOnce(told *sync.Map, attempt string) {
	e := c.enforced
	if e.Held && len(e.Gaps) == 0 {
		return
	}
	if _, known := told.LoadOrStore(attempt, true); known && attempt != "" {
		return
	}
	if !e.Held {
		c.log([]byte(fmt.Sprintf("the network and file permissions of tools are not enforced for programs: %s\n", e.Why)))
		return
	}
	for _, gap := range e.Gaps {
		c.log([]byte("the program of a tool is confined to its permissions, but " + gap + "\n"))
	}
}
