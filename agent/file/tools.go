package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
)

// exact reports whether the settings of a task say what to do. Otherwise a model with the
// tools works from its prompt.
func exact(task *agent.Task) bool {
	_, action := task.Settings["action"]
	return action
}

const (
	toolOutput = 64 << 10 // bytes that a model sees at once
	toolFile   = 8 << 20  // bytes of a file that is searched or edited
	maxLine    = 500      // bytes of a line that a search shows
)

// tools returns what a model needs to work on the files of the project: read, list, search,
// write and edit. The agent's permissions say which files; by default reading is allowed
// and writing asks. No path leads outside the project.
func tools(task *agent.Task) ([]agent.Tool, func(), error) {
	permitted, err := task.Permitted()
	if err != nil {
		return nil, nil, err
	}
	c := &clerk{permitted: permitted}
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	number := func(about string) map[string]any {
		return map[string]any{"type": "integer", "minimum": 1, "description": about}
	}
	file, dir := text("The file, relative to the project."), text("The directory, relative to the project. Default: the project.")
	glob := text("Pattern of names: * ? [a-z] within a name, ** for any number of directories, such as **/*.go.")
	var tools []agent.Tool
	add := func(power agent.Power, name, about string, call toolCall, properties map[string]any, required ...any) {
		if permitted.Never(power) {
			return
		}
		tools = append(tools, agent.Tool{Name: name, Description: about, Call: call.inProject, Input: map[string]any{
			"type": "object", "additionalProperties": false, "properties": properties, "required": append([]any{}, required...),
		}})
	}
	add(agent.MayRead, "read_file", "Returns the lines of a text file with line numbers.", c.read,
		map[string]any{"path": file, "from": number("First line. Default: 1."), "lines": number("Number of lines. Default: as many as fit.")}, "path")
	add(agent.MayRead, "list_files", "Lists the files of the project that match a pattern, sorted.", c.list,
		map[string]any{"path": dir, "glob": glob})
	add(agent.MayRead, "search_files", "Finds lines of text files that match a regular expression (RE2).", c.search,
		map[string]any{"pattern": text("Regular expression; a leading (?i) ignores case."), "path": dir, "glob": glob}, "pattern")
	add(agent.MayWrite, "write_file", "Writes a file, replacing an existing one.", c.write,
		map[string]any{"path": file, "content": text("Complete content of the file.")}, "path", "content")
	add(agent.MayWrite, "edit_file", "Replaces text in a file.", c.edit, map[string]any{
		"path": file, "old": text("Text to replace, exactly as in the file, without line numbers. It must occur once, unless all is true."),
		"new": text("Replacement text."), "all": map[string]any{"type": "boolean", "description": "Replace all occurrences."},
	}, "path", "old", "new")
	return tools, func() {}, nil
}

// clerk carries out what a model asks for.
type clerk struct {
	permitted agent.Permissions
	writing   sync.Mutex // serializes changes, so that none undoes another
}

// may returns the permission for a file: under the given name, and under the one that links
// resolve to.
func (c *clerk) may(power agent.Power, dir, path string) agent.Permission {
	return agent.Stricter(c.permitted.For(power, path), c.permitted.For(power, target(dir, path)))
}

// permit asks whether something may be done with a file.
func (c *clerk) permit(ctx context.Context, task *agent.Task, power agent.Power, path, content string) error {
	detail := path
	if to := target(task.Dir, path); to != path {
		detail += " → " + to
	}
	return task.Permit(ctx, c.may(power, task.Dir, path), power, detail+content)
}

// target returns where a path of the project leads after following links. A part that does
// not exist yet stays as written.
func target(project, name string) string {
	top, err := filepath.EvalSymlinks(project)
	if err != nil {
		return name
	}
	for at, rest := path.Clean(name), ""; ; at, rest = path.Dir(at), path.Join(path.Base(at), rest) {
		if found, err := filepath.EvalSymlinks(filepath.Join(top, filepath.FromSlash(at))); err == nil {
			to, err := filepath.Rel(top, filepath.Join(found, filepath.FromSlash(rest)))
			if err != nil {
				return name
			}
			if to = filepath.ToSlash(to); to != path.Clean(name) {
				to = speltBelow(top, to) // a link may spell it differently
			}
			return to
		}
		if at == "." || at == "/" {
			return name
		}
	}
}

type request struct {
	Path    string `json:"path"`
	From    int    `json:"from"`
	Lines   int    `json:"lines"`
	Glob    string `json:"glob"`
	Pattern string `json:"pattern"`
	Content string `json:"content"`
	Old     string `json:"old"`
	New     string `json:"new"`
	All     bool   `json:"all"`
}

type toolCall func(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error)

// inProject opens the project for a call.
func (call toolCall) inProject(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
	var in request
	if err := agent.DecodeArguments(args, &in); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(task.Dir)
	if err != nil {
		return "", fmt.Errorf("project: %w", err)
	}
	defer root.Close()
	// Permissions apply to the file, however its name is spelt.
	in.Path = spelt(inRoot{root}, filepath.ToSlash(in.Path))
	return call(ctx, root, &in, task)
}

// read returns the lines of a file from a given one on, as many as fit.
func (c *clerk) read(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error) {
	if err := c.permit(ctx, task, agent.MayRead, in.Path, ""); err != nil {
		return "", err
	}
	text, err := read(root, in.Path, toolFile)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	from := max(in.From, 1)
	if len(lines) == 0 {
		return "(the file is empty)", nil
	}
	if from > len(lines) {
		return "", fmt.Errorf("%q has %d lines", in.Path, len(lines))
	}
	to := len(lines)
	if in.Lines > 0 && in.Lines < to-from+1 {
		to = from + in.Lines - 1
	}
	var out strings.Builder
	for n := from; n <= to; n++ {
		line := strings.TrimRight(lines[n-1], "\n")
		if out.Len() > 0 && out.Len()+len(line) > toolOutput {
			fmt.Fprintf(&out, "(%d more lines; continue with from: %d)", len(lines)-n+1, n)
			return out.String(), nil
		}
		fmt.Fprintf(&out, "%6d\t%s\n", n, cut(line, toolOutput))
	}
	if to < len(lines) {
		fmt.Fprintf(&out, "(%d more lines; continue with from: %d)", len(lines)-to, to+1)
	}
	return out.String(), nil
}

// cut shortens a text to a number of bytes and marks the cut.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "… (cut off)"
}

func (c *clerk) list(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error) {
	if err := c.permit(ctx, task, agent.MayRead, in.Path, ""); err != nil {
		return "", err
	}
	paths, err := list(ctx, root, in.Path, in.Glob)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, p := range paths {
		if out.Len()+len(p) > toolOutput {
			fmt.Fprintf(&out, "(%d more; narrow the glob)", len(paths)-i)
			break
		}
		out.WriteString(p + "\n")
	}
	if len(paths) == 0 {
		return "(no files)", nil
	}
	return out.String(), nil
}

// search shows the matching lines. It skips files that may not be read, that are not text
// or that are too large.
func (c *clerk) search(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error) {
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return "", fmt.Errorf("invalid pattern: %w", err)
	}
	if in.Glob == "" {
		in.Glob = "**"
	}
	paths, err := list(ctx, root, in.Path, in.Glob)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range paths {
		if ctx.Err() != nil {
			return "", agent.Interrupted(ctx)
		}
		if c.may(agent.MayRead, task.Dir, p) != agent.Allow {
			continue
		}
		if !matching(root, p, pattern, &out) {
			out.WriteString("(more matches; narrow the pattern or the glob)")
			return out.String(), nil
		}
	}
	if out.Len() == 0 {
		return fmt.Sprintf("(no matches in %d files)", len(paths)), nil
	}
	return out.String(), nil
}

// matching adds the matching lines of a file; false if no more fit.
func matching(root *os.Root, name string, pattern *regexp.Regexp, out *strings.Builder) bool {
	info, err := root.Stat(filepath.FromSlash(name))
	if err != nil || !info.Mode().IsRegular() || info.Size() > toolFile {
		return true
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return true
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, toolFile))
	if err != nil || bytes.IndexByte(data, 0) >= 0 {
		return true
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		if !pattern.Match(line) {
			continue
		}
		shown := fmt.Sprintf("%s:%d:%s\n", name, n, cut(strings.ToValidUTF8(string(line), "\uFFFD"), maxLine))
		if out.Len()+len(shown) > toolOutput {
			return false
		}
		out.WriteString(shown)
	}
	return true
}

func (c *clerk) write(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error) {
	if err := c.permit(ctx, task, agent.MayWrite, in.Path, "\n\n"+in.Content); err != nil {
		return "", err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	err := recorded(root, in.Path, task, func(root *os.Root, path string) error { return write(root, path, in.Content, task.Key) })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %s (%d bytes)", in.Path, len(in.Content)), nil
}

func (c *clerk) edit(ctx context.Context, root *os.Root, in *request, task *agent.Task) (string, error) {
	change := fmt.Sprintf("\n\n%s\n\n→\n\n%s", in.Old, in.New)
	if err := c.permit(ctx, task, agent.MayWrite, in.Path, change); err != nil {
		return "", err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	text, err := read(root, in.Path, toolFile)
	if err != nil {
		return "", err
	}
	count := 0
	if in.Old != "" {
		count = strings.Count(text, in.Old)
	}
	switch {
	case in.Old == "":
		return "", errors.New("old is empty; write_file writes a whole file")
	case in.Old == in.New:
		return "", errors.New("old and new are the same")
	case count == 0:
		return "", fmt.Errorf("the text does not occur in %q; read the file and copy the text exactly, including spaces", in.Path)
	case count > 1 && !in.All:
		return "", fmt.Errorf("the text occurs %d times in %q; include more context, or set all", count, in.Path)
	case len(text) > toolFile-count*max(0, len(in.New)-len(in.Old)):
		return "", fmt.Errorf("%q would become larger than %d MiB", in.Path, toolFile>>20)
	}
	err = recorded(root, in.Path, task, func(root *os.Root, path string) error {
		return write(root, path, strings.ReplaceAll(text, in.Old, in.New), task.Key)
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("changed %s in %d places", in.Path, count), nil
}
