// Package importer turns the agents of other programs (claude, codex, copilot, cursor,
// gemini, opencode, qwen) into definitions of a project. It works in one direction: nothing
// is ever written back.
//
// Files are read leniently, since they come from people who wrote them for another program.
// What cannot be imported is listed, key by key, with the reason. An agent with a
// restriction that cannot be imported is refused.
//
// An imported definition stores the digests of its source and of itself, so that a later
// import can tell which of the two has changed. It never replaces an edited definition
// unless told to.
package importer

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// Lost is something that a definition cannot express.
type Lost struct {
	Key    string `json:"key"`
	Reason string `json:"reason"`
}

// Found is one agent of another program, as a definition.
type Found struct {
	From   string // the program
	File   string // its file, with slashes, relative to the place
	User   bool   // it belongs to the user, not to the project
	Agent  agent.Definition
	Lost   []Lost
	Refuse string // why it cannot be imported; then Agent is not set
	Digest string // of what was read
}

// Place is where agents are looked for.
type Place struct {
	FS   fs.FS // the project's root, or the user's home
	User bool
}

// Target describes where the definitions will be used.
type Target struct {
	// Knows reports whether an executor exists. Nil means that none does.
	Knows func(executor string) bool
	// Takes reports whether an executor supports a setting. Nil means that it supports
	// none.
	Takes func(executor, setting string, value any) bool
	// Serves reports whether the project has an MCP server with a name. Nil means that it has
	// none.
	Serves func(server string) bool
	// Ignored returns the keys of a definition that its executor ignores. Nil means none.
	Ignored func(d *agent.Definition) []string
	// Unenforced returns the permissions of a definition that its executor cannot enforce,
	// each with what to write instead. Nil means that it enforces all.
	Unenforced func(d *agent.Definition) []string
}

// Formats returns the programs whose agents can be imported, sorted.
func Formats() []string { return sorted.Keys(formats) }

// Find reads all agents of a program at a place, in the order of their files. The error reports a
// failure of the machine; an invalid agent file is a Found that is refused.
func Find(from string, place Place, target Target) ([]Found, error) {
	f, ok := formats[from]
	if !ok {
		return nil, fmt.Errorf("importer: cannot import agents of %q; supported programs are %s", from, strings.Join(Formats(), ", "))
	}
	files, err := f.files(place)
	if err != nil {
		return nil, fmt.Errorf("importer: %w", err)
	}
	var list []Found
	common := bounds(from, place.FS)
	for _, file := range files {
		text, err := readFile(place.FS, file)
		if err != nil {
			list = append(list, Found{From: from, File: file, User: place.User, Refuse: err.Error()})
			continue
		}
		for _, r := range f.read(place.FS, file, text) {
			r.within(common)
			list = append(list, r.found(from, file, place.User, target))
		}
	}
	return list, nil
}

// format describes how a program stores its agents.
type format struct {
	// files returns the files that may hold agents, sorted.
	files func(place Place) ([]string, error)
	// read returns the agents in a file.
	read func(fsys fs.FS, file string, text []byte) []*reading
}

var formats = map[string]format{
	"claude":   {markdownIn(true, ".claude/agents"), one(readClaude)},
	"codex":    {codexFiles, readCodex},
	"copilot":  {copilotFiles, one(readCopilot)},
	"cursor":   {markdownIn(false, ".cursor/agents"), one(readCursor)},
	"gemini":   {markdownIn(false, ".gemini/agents"), readGemini},
	"opencode": {opencodeFiles, readOpencode},
	"qwen":     {markdownIn(false, ".qwen/agents"), one(readQwen)},
}

// one reads a Markdown file that holds one agent.
func one(read func(r *reading)) func(fs.FS, string, []byte) []*reading {
	return func(_ fs.FS, file string, text []byte) []*reading {
		r := newReading(file, text)
		if r.refuse == "" {
			read(r)
		}
		return []*reading{r}
	}
}
