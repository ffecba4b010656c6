package cli

import (
	"embed"
	"fmt"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/workflow"
)

//go:embed manifests/*.yml
var manifests embed.FS

// Builtin lists the names of the CLIs whose manifests are part of Hocket.
func Builtin() []string {
	entries, err := manifests.ReadDir("manifests")
	if err != nil {
		panic(fmt.Sprintf("cli: the embedded manifests cannot be listed: %v", err))
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yml")
	}
	return names
}

// BuiltinManifest returns a manifest that is part of Hocket; nil if there is none of that
// name. It is read once.
func BuiltinManifest(name string) *Manifest {
	text, err := manifests.ReadFile("manifests/" + name + ".yml")
	if err != nil {
		return nil
	}
	load, _ := read.LoadOrStore(name, sync.OnceValue(func() *Manifest {
		m, found := ReadManifest(name+".yml", text)
		if found.Errors() {
			panic(fmt.Sprintf("cli: the manifest of %s: %v", name, describe(found)))
		}
		return m
	}))
	return load.(func() *Manifest)()
}

var read sync.Map // of func() *Manifest, by name

func describe(found workflow.Diagnostics) string {
	var lines []string
	for _, d := range found {
		lines = append(lines, fmt.Sprintf("%v: %s; %s", d.Pos, d.Summary, d.Detail))
	}
	return strings.Join(lines, "\n")
}
