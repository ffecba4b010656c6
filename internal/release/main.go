// Command release builds what a release of Hocket consists of: an archive for every
// platform with the program, its licences, completions and manual pages, and one with the program for
// Temporal; checksums; a
// list of the modules inside (SBOM); an install script; a Homebrew formula; npm packages;
// and what a container image is built from.
//
//	make release
//
// Everything is built from a clone of the commit that is checked out: its tag is the
// version, and its time is the time of every file. Two builds of one commit with the same
// Go are identical byte for byte.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	out := flag.String("out", "dist", "the directory to write to; what it holds is replaced")
	only := flag.String("only", "", "the platforms to build for, such as linux/amd64,darwin/arm64; all if empty")
	flag.Parse()
	if err := run(".", *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run builds the commit that is checked out in a repository.
func run(repository, out, only string) (err error) {
	platforms, err := choose(only)
	if err != nil {
		return err
	}
	source, err := clone(repository)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.remove()) }()
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	r := &release{source: source, out: out}
	if err := r.prepare(); err != nil {
		return err
	}
	for _, p := range platforms {
		for _, a := range parts {
			fmt.Printf("building %s %s for %s/%s\n", a.name, r.source.Version, p.OS, p.Arch)
			if err := r.platform(a, p); err != nil {
				return fmt.Errorf("%s for %s/%s: %w", a.name, p.OS, p.Arch, err)
			}
		}
	}
	if err := r.packages(); err != nil {
		return err
	}
	return r.checksums()
}

// choose returns all platforms, or those that are named.
func choose(only string) ([]platform, error) {
	if only == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.OS+"/"+p.Arch == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown platform %q in -only: want one such as linux/amd64", name)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// release is a release that is being built.
type release struct {
	source   source
	out      string
	pages    []file // completions and manual pages, the same on every platform
	archives []archive
}

// archive is an archive of the main program that was built.
type archive struct {
	platform
	Name     string // of the file in out
	SHA256   string
	program  []byte
	licences []byte
}

// stem returns the name of an archive without its extension.
func (r *release) stem(a part, p platform) string {
	return strings.Join([]string{a.name, r.source.number(), p.OS, p.Arch}, "_")
}

func (r *release) write(name string, data []byte, mode os.FileMode) error {
	path := filepath.Join(r.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		return err
	}
	return os.Chmod(path, mode) // independent of the umask
}
