//go:build amd64 || arm64

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// What programs need to run at all, on common systems. In /proc the kernel itself shows
// only public information about other processes.
var (
	systemPlaces = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix /gnu/store /snap /proc
		/sys/devices/system /sys/fs/cgroup /sys/kernel/mm /var/lib/ca-certificates /run/current-system`)
	devices = strings.Fields("/dev/null /dev/zero /dev/full /dev/random /dev/urandom")
)

// settings returns what may be read in /etc. For most users the system's permissions
// suffice. Root could read everything, so for root it is limited to what others may read
// too: no keys, no passwords.
var settings = sync.OnceValue(func() []string { return settingsFor(os.Geteuid() == 0) })

func settingsFor(root bool) []string {
	if !root {
		return []string{"/etc"}
	}
	shown, _ := public("/etc")
	return shown
}

// public returns the parts of a directory that everybody may read, and whether that is all
// of it.
func public(dir string) (shown []string, all bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false
	}
	all = true
	for _, e := range entries {
		info, err := e.Info()
		file := filepath.Join(dir, e.Name())
		switch {
		case err != nil:
			all = false
		case info.Mode()&fs.ModeSymlink != 0: // its target has its own rules
		case info.IsDir() && info.Mode().Perm()&0o005 == 0o005:
			part, whole := public(file)
			if shown = append(shown, part...); !whole {
				all = false
			}
		case info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0:
			shown = append(shown, file)
		default:
			all = false
		}
	}
	if all {
		return []string{dir}, true
	}
	return shown, false
}

// beside lists directories next to a program's directory that it may need.
var beside = map[string][]string{
	"bin":   {"lib", "lib32", "lib64", "libexec", "include", "opt", "Cellar", "ssl", "pyvenv.cfg"},
	"shims": {"bin", "lib", "libexec", "versions", "installs", "plugins", "version", "pyenv.d", "rbenv.d"},
}

// installed returns the places that belong to programs outside the system's directories:
// pyenv, nvm and pipx install into the home directory. That directory itself, and its
// parents, are not included.
func installed(program string, p *Policy) []Place {
	if p.Home == "" {
		return nil // then it could be any of them
	}
	home := resolved(p.Home)
	var places []Place
	add := func(dir string) {
		if dir = resolved(dir); dir != "" && !contains(dir, home) {
			places = append(places, Place{Base: dir})
			if prefix := filepath.Dir(dir); !contains(prefix, home) {
				for _, part := range beside[filepath.Base(dir)] {
					places = append(places, Place{Base: prefix, Path: part})
				}
			}
		}
	}
	for _, dir := range p.Programs {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	onPath := slices.Contains(p.Programs, filepath.Dir(program))
	const mostLinks = 40
	for range mostLinks {
		target, err := os.Readlink(program)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(program), target)
		}
		if program = target; onPath {
			add(filepath.Dir(program))
		}
	}
	return places
}

// resolved returns a path without links; "" if it does not exist.
func resolved(file string) string {
	if file == "" {
		return ""
	}
	file, _ = filepath.EvalSymlinks(file) // "" with an error
	return file
}

// contains reports whether a directory contains another, or is the same.
func contains(dir, other string) bool {
	below, err := filepath.Rel(dir, other)
	return other != "" && err == nil && below != ".." && !strings.HasPrefix(below, "../")
}
