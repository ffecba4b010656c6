package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
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

func (p platform) binary() string {
	if p.OS == "windows" {
		return program + ".exe"
	}
	return program
}

// build compiles the program for a platform into a file.
func (s source) build(p platform, to string) error {
	_, err := s.command([]string{"CGO_ENABLED=0", "GOOS=" + p.OS, "GOARCH=" + p.Arch, "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0"},
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/hocket")
	return err
}

// platform builds the archive of a platform, and the list of modules next to it.
func (r *release) platform(p platform) error {
	dir, err := os.MkdirTemp("", "hocket-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, p.binary())
	if err := r.source.build(p, path); err != nil {
		return err
	}
	modules, err := modulesOf(path)
	if err != nil {
		return err
	}
	licences, err := r.source.licences(modules)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := []file{{p.binary(), binary, 0o755}, {"LICENSES-OF-DEPENDENCIES.txt", licences, 0o644}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source.Dir, name))
		if err != nil {
			return err
		}
		files = append(files, file{name, data, 0o644})
	}
	files = append(files, r.pages...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	name, pack := r.stem(p)+".tar.gz", tarball
	if p.OS == "windows" {
		name, pack = r.stem(p)+".zip", zipped
	}
	packed, err := pack(files, r.source.Time)
	if err != nil {
		return err
	}
	if err := r.write(name, packed, 0o644); err != nil {
		return err
	}
	r.archives = append(r.archives, archive{platform: p, Name: name, SHA256: sum(packed), program: binary, licences: licences})
	list, err := sbom(r.source, p, modules, sum(binary))
	if err != nil {
		return err
	}
	return r.write(r.stem(p)+".sbom.json", list, 0o644)
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
	path := filepath.Join(dir, here.binary())
	if err := r.source.build(here, path); err != nil {
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
