package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// platform is one that Hocket is built for.
type platform struct{ OS, Arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"},
	{"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

// part is a program of the release, with archives of its own.
type part struct {
	name string
	dir  string // of its module
}

var (
	hocket = part{program, "."}
	parts  = []part{hocket, {program + "-temporal", "driver/temporal"}}
)

// module returns the path of the module that has the program.
func (a part) module() string { return path.Join("github.com/hocket-dev/hocket", a.dir) }

func (p platform) binary(a part) string {
	if p.OS == "windows" {
		return a.name + ".exe"
	}
	return a.name
}

// build compiles a program for a platform into a file. If it is not in the main module, Go does not know its version.
func (s source) build(a part, p platform, to string) error {
	flags := "-ldflags=-s -w -buildid="
	if a != hocket {
		flags += " -X " + hocket.module() + "/cli.version=" + s.Version
	}
	_, err := s.command([]string{"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"},
		"go", "build", "-C", a.dir, "-trimpath", "-buildvcs=true", flags, "-o", to, "./cmd/"+a.name)
	return err
}

// platform builds the archive of a program for a platform, and the list of modules next to it.
func (r *release) platform(a part, p platform) error {
	dir, err := os.MkdirTemp("", "hocket-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, p.binary(a))
	if err := r.source.build(a, p, built); err != nil {
		return err
	}
	modules, err := modulesOf(built)
	if err != nil {
		return err
	}
	licences, err := r.source.licences(a, modules)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	files := []file{{p.binary(a), binary, 0o755}, {"LICENSES-OF-DEPENDENCIES.txt", licences, 0o644}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source.Dir, name))
		if err != nil {
			return err
		}
		files = append(files, file{name, data, 0o644})
	}
	if a == hocket {
		files = append(files, r.pages...)
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	stem := r.stem(a, p)
	name, pack := stem+".tar.gz", tarball
	if p.OS == "windows" {
		name, pack = stem+".zip", zipped
	}
	packed, err := pack(files, r.source.Time)
	if err != nil {
		return err
	}
	if err := r.write(name, packed, 0o644); err != nil {
		return err
	}
	if a == hocket {
		r.archives = append(r.archives, archive{platform: p, Name: name, SHA256: sum(packed), program: binary, licences: licences})
	}
	list, err := sbom(r.source, a, p, modules, sum(binary))
	if err != nil {
		return err
	}
	return r.write(stem+".sbom.json", list, 0o644)
}

// prepare builds the program for this machine, and lets it print its version, completions
// and manual pages.
func (r *release) prepare() error {
	dir, err := os.MkdirTemp("", "hocket-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	here := platform{runtime.GOOS, runtime.GOARCH}
	path := filepath.Join(dir, here.binary(hocket))
	if err := r.source.build(hocket, here, path); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	if r.source.Version = info.Main.Version; !strings.HasPrefix(r.source.Version, "v") {
		return fmt.Errorf("go build gave the program the version %q, not one of git", r.source.Version)
	}
	for _, shell := range []struct{ name, file string }{{"bash", "hocket.bash"}, {"zsh", "_hocket"}, {"fish", "hocket.fish"}, {"powershell", "hocket.ps1"}} {
		text, err := r.source.command(nil, path, "completion", shell.name)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{"completions/" + shell.file, text, 0o644})
	}
	man := filepath.Join(dir, "man")
	if _, err := r.source.command(nil, path, "man", man); err != nil {
		return err
	}
	entries, err := os.ReadDir(man)
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(man, e.Name()))
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{"man/man1/" + e.Name(), text, 0o644})
	}
	return nil
}

// checksums writes the checksums of all files of the release, in the format of sha256sum
// -c.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum(data), e.Name())
	}
	return r.write("checksums.txt", []byte(text.String()), 0o644)
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
