package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// modulesOf reads from a binary which modules were linked into it, besides our own.
func modulesOf(binary string) ([]*debug.Module, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var modules []*debug.Module
	for _, m := range info.Deps {
		switch {
		case m.Path == hocket.module(): // of the same commit
		case m.Replace != nil:
			modules = append(modules, m.Replace)
		default:
			modules = append(modules, m)
		}
	}
	return modules, nil
}

// A licence is in one of these files at the root of a module.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// licences returns the licence texts of Go and of all modules. A module without a licence
// may not be distributed, so it is an error.
func (s source) licences(a part, modules []*debug.Module) ([]byte, error) {
	dirs, err := s.moduleDirs(a)
	if err != nil {
		return nil, err
	}
	goroot, err := s.command(nil, "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(string(goroot)), "\n")
	var text bytes.Buffer
	text.WriteString("Hocket contains the following software, each under the licence given below it.\n")
	add := func(name, dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenceFile.MatchString(e.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("=", 80), name, e.Name(), bytes.TrimSpace(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))))
			found = true
		}
		if !found {
			return fmt.Errorf("%s has no licence in %s", name, dir)
		}
		return nil
	}
	if err := add("The Go standard library "+version, root); err != nil {
		return nil, err
	}
	for _, m := range modules {
		dir := dirs[m.Path+"@"+m.Version]
		if dir == "" {
			return nil, fmt.Errorf("go list has no directory for %s %s; run go mod download", m.Path, m.Version)
		}
		if err := add(m.Path+" "+m.Version, dir); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// moduleDirs returns the directories of all modules that a program may use, by path@version.
func (s source) moduleDirs(a part) (map[string]string, error) {
	text, err := s.command(nil, "go", "list", "-C", a.dir, "-m", "-f", `{{with or .Replace .}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}`, "all")
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		dirs[name] = dir
	}
	return dirs, nil
}

// sbom lists the modules in CycloneDX 1.6.
func sbom(s source, a part, p platform, modules []*debug.Module, binarySum string) ([]byte, error) {
	type hash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	type component struct {
		Type    string `json:"type"`
		Ref     string `json:"bom-ref"`
		Name    string `json:"name"`
		Version string `json:"version"`
		URL     string `json:"purl"`
		Hashes  []hash `json:"hashes,omitempty"`
	}
	type dependency struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn,omitempty"`
	}
	made := func(kind, path, version, query string) component {
		url := "pkg:golang/" + path + "@" + version + query
		return component{Type: kind, Ref: url, Name: path, Version: version, URL: url}
	}
	self := made("application", a.module(), s.Version, "?goos="+p.OS+"&goarch="+p.Arch)
	self.Hashes = []hash{{"SHA-256", binarySum}}
	all, on := []component{}, []string{}
	for _, m := range modules {
		c := made("library", m.Path, m.Version, "")
		all, on = append(all, c), append(on, c.Ref)
	}
	// The serial number is derived from the content, so that it is the same for the same
	// build.
	id := sha256.Sum256([]byte(self.Ref + binarySum))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // a UUID of version 8
	serial := fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:16])
	return json.MarshalIndent(map[string]any{
		"$schema":      "http://cyclonedx.org/schema/bom-1.6.schema.json",
		"bomFormat":    "CycloneDX",
		"specVersion":  "1.6",
		"serialNumber": serial,
		"version":      1,
		"metadata":     map[string]any{"timestamp": s.Time.Format("2006-01-02T15:04:05Z"), "component": self},
		"components":   all,
		"dependencies": []dependency{{Ref: self.Ref, On: on}},
	}, "", "  ")
}
