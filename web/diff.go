package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/linediff"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// diff is a change of a file that a call of a tool made, or wanted to make.
type diff struct {
	Path    string
	Note    string // what is not known about it
	Added   int
	Removed int
	Lines   []diffLine // the first ones
	Rest    []diffLine // shown on demand
}

// diffLine is a line of a diff. Kind is ins, del, "" for a line that stays, or gap for what is between.
type diffLine struct{ Kind, Text string }

const (
	shownLines = 40 // of a diff; the rest is shown on demand
	around     = 3  // how many lines around a change are shown
	maxTable   = 1 << 18
)

// The names that agents give to the arguments of the tools with which they change files.
var (
	pathKeys  = []string{"file_path", "filePath", "path", "notebook_path", "absolute_path", "filename", "file"}
	oldKeys   = []string{"old_string", "oldString", "old_str", "oldText", "before"}
	newKeys   = []string{"new_string", "newString", "new_str", "newText", "new_source", "after"}
	textKeys  = []string{"content", "file_text", "contents"}
	patchKeys = []string{"patch", "patchText", "patch_text", "unified_diff", "diff", "input", "command", "cmd"}
)

// diffsOf returns the changes of files that the arguments of a call describe, and the arguments that say nothing about
// them. Agents have many tools for this, but few ways to say it: a text before and after, a whole file, or a patch.
func diffsOf(tool string, args any) (diffs []diff, rest any) {
	switch v := args.(type) {
	case string:
		if diffs = patched(v); len(diffs) > 0 {
			return diffs, nil
		}
	case []any:
		for _, one := range v {
			more, _ := diffsOf(tool, one)
			diffs = append(diffs, more...)
		}
		return diffs, v
	case map[string]any:
		left := maps.Clone(v)
		take := func(keys []string) (string, bool) {
			for _, key := range keys {
				if text, ok := left[key].(string); ok {
					delete(left, key)
					return text, true
				}
			}
			return "", false
		}
		path, _ := take(pathKeys)
		if edits, ok := left["edits"].([]any); ok && path != "" {
			for _, one := range edits {
				if edit, ok := one.(map[string]any); ok {
					edit = maps.Clone(edit)
					edit["path"] = path
					more, _ := diffsOf(tool, edit)
					diffs = append(diffs, more...)
				}
			}
			if delete(left, "edits"); len(diffs) > 0 {
				return diffs, left
			}
			return nil, v
		}
		was, old := take(oldKeys)
		now, isNew := take(newKeys)
		if path != "" && isNew {
			d := newDiff(path, compared(was, now))
			if !old {
				d.Note = "What it replaces is not known."
			}
			return []diff{d}, left
		}
		if text, ok := take(textKeys); ok && path != "" && writes(tool) {
			d := newDiff(path, compared("", text))
			d.Note = "The whole file. What it was before is not known."
			return []diff{d}, left
		}
		left = maps.Clone(v)
		for _, key := range patchKeys {
			if list, ok := left[key].([]any); ok { // the words of a command
				left[key] = joined(list)
			}
		}
		if text, ok := take(patchKeys); ok {
			if diffs = patched(text); len(diffs) > 0 {
				for i := range diffs {
					if diffs[i].Path == "" {
						diffs[i].Path = path
					}
				}
				return diffs, left
			}
		}
		switch changes := v["changes"].(type) {
		case []any:
			return diffsOf(tool, changes)
		case map[string]any: // by path
			for _, path := range sorted.Keys(changes) {
				if change, ok := changes[path].(map[string]any); ok {
					change = maps.Clone(change)
					change["path"] = path
					more, _ := diffsOf("write", change)
					diffs = append(diffs, more...)
				}
			}
			return diffs, nil
		}
	}
	return nil, args
}

// writes reports whether a tool writes files, by its name. Others have texts that they do not write.
func writes(tool string) bool {
	tool = strings.ToLower(tool)
	return slices.ContainsFunc([]string{"write", "create", "edit", "save", "replace", "update"}, func(part string) bool { return strings.Contains(tool, part) })
}

func joined(words []any) string {
	var all []string
	for _, w := range words {
		all = append(all, fmt.Sprint(w))
	}
	return strings.Join(all, "\n")
}

// repaired returns the arguments of a call that was cut when it was stored: what can be read of them. The path may be
// missing, since the keys are sorted.
func repaired(text string) any {
	for drop := range min(7, len(text)) { // a character may have been cut, such as \u00e4
		for _, end := range []string{`"}`, `"}]}`, `}`, `]}`} {
			var v map[string]any
			if json.Unmarshal([]byte(text[:len(text)-drop]+end), &v) != nil {
				continue
			}
			if !slices.ContainsFunc(pathKeys, func(key string) bool { return v[key] != nil }) {
				v[pathKeys[0]] = "…"
			}
			return v
		}
	}
	return text
}

func newDiff(path string, lines []diffLine) diff {
	d := diff{Path: readable([]byte(path)), Lines: lines}
	for i := range lines {
		switch lines[i].Text = readable([]byte(lines[i].Text)); lines[i].Kind {
		case "ins":
			d.Added++
		case "del":
			d.Removed++
		}
	}
	if len(lines) > shownLines+shownLines/2 {
		d.Lines, d.Rest = lines[:shownLines], lines[shownLines:]
	}
	return d
}

// compared returns the lines of two texts: those that differ, and a few around them.
func compared(was, now string) []diffLine {
	kinds := map[linediff.Kind]string{linediff.Same: "", linediff.Removed: "del", linediff.Added: "ins"}
	return folded(linediff.Compare(linesOf(was), linesOf(now), maxTable, func(kind linediff.Kind, text string) diffLine { return diffLine{kinds[kind], text} }))
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
}

// folded replaces long runs of lines that stay.
func folded(lines []diffLine) []diffLine {
	var all []diffLine
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && lines[to].Kind == lines[from].Kind {
			to++
		}
		before, after := around, around
		if from == 0 {
			before = 0
		}
		if to == len(lines) {
			after = 0
		}
		if lines[from].Kind == "" && to-from > before+after+2 {
			all = append(all, lines[from:from+before]...)
			all = append(all, diffLine{"gap", plural(to-from-before-after, "line that stays", "lines that stay")})
			all = append(all, lines[to-after:to]...)
		} else {
			all = append(all, lines[from:to]...)
		}
		from = to
	}
	return all
}

// patched reads a patch, in the form of diff or in that of apply_patch; nil if the text is none.
func patched(text string) []diff {
	if _, rest, ok := strings.Cut(text, "*** Begin Patch"); ok {
		text, _, _ = strings.Cut(rest, "*** End Patch")
	} else if !strings.HasPrefix(text, "@@ ") && !strings.Contains(text, "\n@@ ") {
		return nil
	}
	var diffs []diff
	path, note := "", ""
	var lines []diffLine
	end := func() {
		if path != "" && note != "" || len(lines) > 0 {
			d := newDiff(path, lines)
			d.Note = note
			diffs = append(diffs, d)
		}
		path, note, lines = "", "", nil
	}
	all := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(all); i++ {
		line := all[i]
		head, name, isHead := strings.Cut(strings.TrimPrefix(line, "*** "), ": ")
		switch {
		case strings.HasPrefix(line, "*** ") && isHead:
			if head == "Move to" {
				note = "It is moved to " + name + "."
				continue
			}
			end()
			if path = name; head == "Delete File" {
				note = "It is deleted."
			}
		case strings.HasPrefix(line, "--- ") && i+1 < len(all) && strings.HasPrefix(all[i+1], "+++ "):
			end()
			path = patchPath(all[i+1])
			if path == "/dev/null" {
				path, note = patchPath(line), "It is deleted."
			}
			i++
		case strings.HasPrefix(line, "diff --git "), strings.HasPrefix(line, "*** "), strings.HasPrefix(line, `\ `):
		case strings.HasPrefix(line, "@@"):
			if lines = append(lines, diffLine{"gap", strings.Trim(line, "@ ")}); len(lines) == 1 && lines[0].Text == "" {
				lines = nil
			}
		case strings.HasPrefix(line, "+"):
			lines = append(lines, diffLine{"ins", line[1:]})
		case strings.HasPrefix(line, "-"):
			lines = append(lines, diffLine{"del", line[1:]})
		case strings.HasPrefix(line, " "):
			lines = append(lines, diffLine{"", line[1:]})
		}
	}
	end()
	return diffs
}

// patchPath returns the path in a line such as "+++ b/a.txt	2026-01-01".
func patchPath(line string) string {
	path, _, _ := strings.Cut(line[len("+++ "):], "\t")
	if len(path) > 2 && (path[:2] == "a/" || path[:2] == "b/") {
		path = path[2:]
	}
	return path
}

// argumentsText returns arguments to read; "" if there are none.
func argumentsText(v any) string {
	if object, ok := v.(map[string]any); v == nil || ok && len(object) == 0 {
		return ""
	}
	if text, ok := v.(string); ok {
		return readable([]byte(text))
	}
	return workflow.FormatJSON(v)
}
