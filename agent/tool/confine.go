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

// Sandbox is whether programs are held to their permissions.
type Sandbox string

// The zero value is where the system can.
const (
	SandboxRequired Sandbox = "required" // a program that cannot be held to them is not started
	SandboxNone     Sandbox = "none"     // no program is
)

// Enforcement is how programs are held to their permissions here.
type Enforcement struct {
	Held bool
	Why  string   // not; "" if they are
	Gaps []string // what one can do all the same
}

// Enforcement says how programs are held to their permissions here.
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

// hold is what a program has besides its own: a directory for temporary files, and what
// keeps it to its permissions.
type hold struct {
	temp   string
	proxy  *outbound.Proxy // nil: it reaches nobody, or whomever it wants
	box    *sandbox.Box    // nil: nothing holds it
	forced bool            // a box is to be made

	mu     sync.Mutex
	denied []string // hosts that it was not let through to
	missed []string // and others that were not reached, with why
}

// hold begins to hold the program of a call.
func (c *call) hold() (*hold, error) {
	h := &hold{}
	switch {
	case c.enforced.Held:
		h.forced = true
	case c.sandbox == SandboxRequired:
		return nil, agent.Permanentf("its permissions cannot be enforced here, and config.yml requires that: %s", c.enforced.Why)
	}
	temp, err := os.MkdirTemp("", "hocket-tool-*")
	if err != nil {
		return nil, agent.Errorf("there is no place for temporary files: %v", err)
	}
	h.temp = temp
	if n := c.Permissions.Network; h.forced && !n.nobody() {
		g := &guard{network: n, redact: c.hide.Mask, heard: h.note}
		if h.proxy, err = outbound.StartProxy(outbound.ProxyOptions{Dial: g.Dial, Forward: g, Token: rand.Text()}); err != nil {
			h.release()
			return nil, agent.Errorf("it cannot be given a network: %v", err)
		}
	}
	return h, nil
}

// variables are those by which a program finds what it is held with. For programs that use
// no proxy there is nothing to be found.
func (h *hold) variables() []string {
	env := []string{"TMPDIR=" + h.temp, "TMP=" + h.temp, "TEMP=" + h.temp}
	if h.proxy != nil {
		address := "http://hocket:" + h.proxy.Token() + "@" + h.proxy.Address().String()
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
			env = append(env, name+"="+address, strings.ToLower(name)+"="+address)
		}
		env = append(env, "NODE_USE_ENV_PROXY=1") // node looks at the others only then
	}
	return env
}

// gitSettings are where git has those of a person.
var gitSettings = []string{".gitconfig", ".config/git"}

// unread are variables for programs that would not do without a file that they cannot read.
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

// confine makes the command of a call start held to the permissions of its tool.
func (c *call) confine(w *Command, h *hold, cmd *exec.Cmd) (err error) {
	if !h.forced {
		return c.makeFolders()
	}
	p := &sandbox.Policy{Home: c.variable("HOME"), Programs: filepath.SplitList(c.variable("PATH"))}
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
	return c.badPlace(err)
}

// makeFolders makes the folders that a program is to write, where nothing confines it.
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

// own is what a program may always read of its tool: the folder. One that is a link leads to
// whatever its author liked, so that of it there is no more than the script.
func (c *call) own(w *Command) []sandbox.Place {
	if info, err := os.Lstat(c.Dir); err == nil && info.IsDir() {
		return []sandbox.Place{itself(c.Dir)}
	}
	if w.File == "" {
		return nil
	}
	return []sandbox.Place{{Base: c.Dir, Path: filepath.ToSlash(w.File)}}
}

// itself is a path whose last part is no link.
func itself(path string) sandbox.Place {
	return sandbox.Place{Base: filepath.Dir(path), Path: filepath.Base(path)}
}

// places are the paths of a permission, here.
func (c *call) places(paths []string) []sandbox.Place {
	return places(paths, c.dir, c.variable("HOME"))
}

// variable is one of the environment that tools are given variables from.
func (c *call) variable(name string) string {
	for _, pair := range slices.Backward(c.env) {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// badPlace says what is wrong with a path of a permission.
func (c *call) badPlace(err error) error {
	var at *sandbox.PlaceError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &at):
		return agent.Errorf("it could not be confined to its permissions, and was not started: %v", err)
	case at.Link != "":
		return agent.Permanentf("fs names %q, and in it %q is a link to %q; write the path without links in %s", at.Place, at.Link, at.Target, c.file())
	case errors.Is(err, fs.ErrNotExist):
		return agent.Permanentf("fs names %q to write, which is not there; make it, or write \"%s/\" in %s for a folder that is made when it is needed", at.Place, at.Place, c.file())
	}
	return agent.Permanentf("fs names %q, which cannot be used: %v", at.Place, at.Err)
}

// file is where the tool is described, as a person finds it.
func (c *call) file() string {
	file := filepath.Join(c.Dir, File)
	if near, err := filepath.Rel(c.dir, file); err == nil && filepath.IsLocal(near) {
		file = near
	}
	return filepath.ToSlash(file)
}

// note keeps a host that the program did not reach.
func (h *hold) note(host string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if badHost(host) != "" || strings.Contains(host, "[") { // which YAML would take for a list
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

// failed says why the program did not run; nil: it did.
func (h *hold) failed() error {
	if h.box == nil {
		return nil
	}
	return h.box.Failed()
}

// release ends what held the program, once it has ended, and removes its files.
func (h *hold) release() {
	if h.box != nil {
		h.box.Close()
	}
	if h.proxy != nil {
		h.proxy.Close()
	}
	remove(h.temp)
}

// remove removes a directory in which a program could do whatever it liked: its own may be
// closed to their owner, and deeper than there are files to open. Every directory is moved
// to the top before it is emptied. What cannot be removed even so is left to the system.
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

// tellOnce writes into the log of an attempt what does not hold its programs.
func (c *call) tellOnce(told *sync.Map, attempt string) {
	e := c.enforced
	if e.Held && len(e.Gaps) == 0 {
		return
	}
	if _, known := told.LoadOrStore(attempt, true); known && attempt != "" {
		return
	}
	if !e.Held {
		c.log([]byte(fmt.Sprintf("what the permissions of tools say about network and files is not enforced for programs: %s\n", e.Why)))
		return
	}
	for _, gap := range e.Gaps {
		c.log([]byte("the program of a tool is confined to its permissions, but " + gap + "\n"))
	}
}
