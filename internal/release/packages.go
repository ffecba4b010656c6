package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"text/template"
)

// The files of other package managers, as templates of a release.
//
//go:embed files
var templates embed.FS

// packages writes what people install Hocket with, in addition to the archives.
func (r *release) packages() error {
	for _, p := range []struct {
		name string
		mode fs.FileMode
	}{{"install.sh", 0o755}, {"hocket.rb", 0o644}, {"Containerfile", 0o644}, {"hocket.service", 0o644}, {"hocket-user.service", 0o644}} {
		text, err := r.filled(p.name)
		if err != nil {
			return err
		}
		if err := r.write(p.name, text, p.mode); err != nil {
			return err
		}
	}
	return r.npm()
}

func (r *release) filled(name string) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(templates, "files/"+name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = t.Execute(&text, map[string]any{
		"Version": r.source.Version, "Number": r.source.number(), "Repository": repository,
		"Stem": program + "_" + r.source.number(), "Archives": r.archives, "Systems": r.systems(),
	})
	return text.Bytes(), err
}

// systems returns the archives by Homebrew's names for their systems and processors.
func (r *release) systems() map[string][]brewed {
	systems, cpus := map[string]string{"linux": "linux", "darwin": "macos"}, map[string]string{"amd64": "intel", "arm64": "arm"}
	all := map[string][]brewed{}
	for _, a := range r.archives {
		if system := systems[a.OS]; system != "" {
			all[system] = append(all[system], brewed{a, cpus[a.Arch]})
		}
	}
	return all
}

type brewed struct {
	archive
	CPU string
}

// npm names platforms after process.platform and process.arch of Node.
var (
	npmOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// npm writes one package for every platform, with the program inside, and the package
// `hocket`, which depends on all of them: npm installs the one that fits. Nothing is
// downloaded by a script, so npm's own checksums cover the program.
func (r *release) npm() error {
	about := func(name, description string, more map[string]any) ([]byte, error) {
		all := map[string]any{
			"name": name, "version": r.source.number(), "description": description, "license": "Apache-2.0",
			"homepage": repository, "repository": map[string]string{"type": "git", "url": "git+" + repository + ".git"},
		}
		for key, value := range more {
			all[key] = value
		}
		text, err := json.MarshalIndent(all, "", "  ")
		return append(text, '\n'), err
	}
	pack := func(name string, files []file) error {
		for i := range files {
			files[i].name = path.Join("package", files[i].name)
		}
		data, err := tarball(files, r.source.Time)
		if err != nil {
			return err
		}
		return r.write(name+"-"+r.source.number()+".npm.tgz", data, 0o644)
	}
	license, err := fs.ReadFile(r.source.files(), "LICENSE")
	if err != nil {
		return err
	}
	depends := map[string]string{}
	for _, a := range r.archives {
		os, arch := npmOS[a.OS], npmArch[a.Arch]
		name := "@hocket-dev/hocket-" + os + "-" + arch
		depends[name] = r.source.number()
		json, err := about(name, fmt.Sprintf("The hocket program for %s on %s", a.OS, a.Arch), map[string]any{
			"os": []string{os}, "cpu": []string{arch}, "preferUnplugged": true, "files": []string{"bin", "LICENSES-OF-DEPENDENCIES.txt"},
		})
		if err != nil {
			return err
		}
		if err := pack("hocket-"+os+"-"+arch, []file{
			{"package.json", json, 0o644}, {"LICENSE", license, 0o644},
			{"LICENSES-OF-DEPENDENCIES.txt", a.licences, 0o644}, {"bin/" + a.binary(hocket), a.program, 0o755},
		}); err != nil {
			return err
		}
	}
	json, err := about(program, "Run workflows of agents, tools and people, durably", map[string]any{
		"bin": map[string]string{program: "bin/hocket.js"}, "files": []string{"bin"}, "engines": map[string]string{"node": ">=18"},
		"optionalDependencies": depends,
	})
	if err != nil {
		return err
	}
	starter, err := r.filled("hocket.js")
	if err != nil {
		return err
	}
	readme, err := fs.ReadFile(r.source.files(), "README.md")
	if err != nil {
		return err
	}
	return pack(program, []file{
		{"package.json", json, 0o644}, {"LICENSE", license, 0o644}, {"README.md", readme, 0o644}, {"bin/hocket.js", starter, 0o755},
	})
}
