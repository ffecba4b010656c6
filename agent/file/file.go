// Package file reads, writes and lists files of the project: the built-in agent
// "file", and the executor of every agent definition with `agent: file`.
//
// # Settings
//
//	action         read, write, append or list
//	path           file or, for list, directory; relative to the project. Default
//	               for list: the project
//	content        what to write or append. Text is written unchanged, everything
//	               else as JSON
//	glob           for list: which names; default: *
//	max_output_kb  most that read or list may return; default: that of the
//	               agent's definition, otherwise 1024
//
// No path leads outside the project, not even through symbolic links. A prompt and inputs
// are not used: the settings say everything.
//
// read returns the text of a file unchanged. A file that is not UTF-8 text is an error.
//
// write replaces a file atomically: readers see the old or the new content, never a part,
// even after a crash. It creates missing directories, keeps the permissions of an existing
// file, does not replace a symbolic link, and returns the path.
//
// append adds to the end of a file, which it creates if necessary, and returns the path.
// Repeated after a crash, it appends again; with `effect: once` on the step a person
// decides.
//
// list returns a JSON list of paths, relative to the project and sorted. In a glob
// * ? and [a-z] stand for characters of one name, ** for any number of
// directories. As in a shell, a name that begins with a dot is matched only by a pattern
// that does too, and a pattern that ends in / matches directories instead of files. ** does
// not follow symbolic links.
package file

import (
	"context"
	"os"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// defaultOutputKB limits the output if nothing else is set.
const defaultOutputKB = 1024

// File works on the files of a project. It is safe for concurrent use.
type File struct{ schema *agent.Schema }

var _ agent.Executor = (*File)(nil)

// New returns the executor.
func New() *File {
	return &File{agent.NewSchema(schema())}
}

// Traits describes the executor.
func (f *File) Traits() agent.Traits {
	return agent.Traits{About: "Reads, writes and lists files of the project", Settings: f.schema, Stays: true, Exact: exact, Tools: tools, Does: does}
}

// does reports the actions that write.
func does(settings map[string]any) []agent.Power {
	if action := settings["action"]; action == "read" || action == "list" {
		return []agent.Power{agent.MayRead}
	}
	return []agent.Power{agent.MayWrite}
}

type settings struct {
	Action      string `json:"action"`
	Path        string `json:"path"`
	Content     any    `json:"content"`
	Glob        string `json:"glob"`
	MaxOutputKB int    `json:"max_output_kb"`
}

// schema describes the settings in the package comment.
func schema() map[string]any {
	when := func(actions []any, then map[string]any) any {
		return map[string]any{
			"if":   map[string]any{"properties": map[string]any{"action": map[string]any{"enum": actions}}, "required": []any{"action"}},
			"then": then,
		}
	}
	without := func(names ...string) map[string]any {
		none := map[string]any{}
		for _, name := range names {
			none[name] = false
		}
		return none
	}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"required":             []any{"action"},
		"properties": map[string]any{
			"action":        map[string]any{"description": "What to do.", "enum": []any{"read", "write", "append", "list"}},
			"path":          agent.PathInside("The file, or the directory to list, relative to the project."),
			"content":       map[string]any{"description": "What to write or append. Values other than text are written as JSON."},
			"glob":          map[string]any{"description": "Pattern of names to list. ** matches any number of directories. Default: *", "type": "string", "minLength": 1},
			"max_output_kb": map[string]any{"description": "Maximum size of the output of read and list, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
		"allOf": []any{
			when([]any{"read"}, map[string]any{"required": []any{"path"}, "properties": without("content", "glob")}),
			when([]any{"write", "append"}, map[string]any{"required": []any{"path", "content"}, "properties": without("glob", "max_output_kb")}),
			when([]any{"list"}, map[string]any{"properties": without("content")}),
		},
	}
}

// Run does what the settings say.
func (f *File) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	var set settings
	if err := f.schema.Decode(task.Settings, &set); err != nil {
		return agent.Result{}, err
	}
	if ctx.Err() != nil {
		return agent.Result{}, agent.Interrupted(ctx)
	}
	root, err := os.OpenRoot(task.Dir)
	if err != nil {
		return agent.Result{}, agent.Errorf("project: %v", err)
	}
	defer root.Close()
	output, err := set.do(ctx, root, task)
	if err != nil {
		return agent.Result{}, err
	}
	log([]byte(set.Action + " " + set.Path + "\n"))
	return agent.Result{Output: output}, nil
}

func (s *settings) do(ctx context.Context, root *os.Root, task *agent.Task) (string, error) {
	limit := int64(task.Agent.OutputLimit(s.MaxOutputKB, defaultOutputKB))
	switch s.Action {
	case "read":
		return read(root, s.Path, limit)
	case "write":
		return s.Path, recorded(root, s.Path, task, func(root *os.Root, path string) error {
			return write(root, path, workflow.FormatText(s.Content), task.Key)
		})
	case "append":
		return s.Path, recorded(root, s.Path, task, func(root *os.Root, path string) error {
			return appendTo(root, path, workflow.FormatText(s.Content), task.Writes == nil)
		})
	default:
		return listed(ctx, root, s.Path, s.Glob, limit)
	}
}
