package attempt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Undeliverable says why a requested file cannot be delivered, and what to do about it; "" if it
// can. exists means that the file exists when the work is handed off. A conversation has no limits
// and no directory, because another task does its work.
func (h *Handoff) Undeliverable(file string, exists bool) (why, advice string) {
	if h.Request.Mode == protocol.Conversation {
		return "", ""
	}
	if h.SessionOnly && !within(file, h.Dir) {
		return "the project accepts only files in the directory of the session", "write it to " + h.Dir + "/, or set `deliverables: project` in config.yml"
	}
	limit := h.Limit()
	if limit == nil {
		return "", ""
	}
	only := func(dir string) bool { return within(file, strings.TrimSuffix(dir, "/")) }
	switch folder := path.Dir(file); {
	case len(limit.Only) == 1 && !only(limit.Only[0]):
		return "the agent may write only to the directory of its session", "write it to " + h.Dir + "/, or relax the constraint"
	case len(limit.Only) > 0 && !slices.ContainsFunc(limit.Only, only):
		return "the agent may write only to " + strings.Join(limit.Only, ", "), "write it to one of these, or relax the constraint"
	case slices.ContainsFunc(limit.Except, func(dir string) bool { return within(file, dir) }):
		return "a constraint forbids writing it", "write it to " + h.Dir + "/, or relax the constraint"
	case !exists && slices.Contains(h.sealed(), folder):
		return "the agent cannot create files directly in " + folderName(folder) + ", because something in it must not change",
			"write it to another folder, such as " + h.Dir + "/, or create it first"
	}
	return "", ""
}

// sealed returns the folders in which the agent cannot create, remove or rename anything directly,
// because something inside them must not change; see [agent.WriteLimit].
func (h *Handoff) sealed() (folders []string) {
	limit := h.Limit()
	if limit == nil || agent.WriteLimits() != "" {
		return nil
	}
	for _, at := range limit.Except {
		for at != "." {
			at = path.Dir(at)
			open := len(limit.Only) == 0 || slices.ContainsFunc(limit.Only, func(dir string) bool { return within(at, strings.TrimSuffix(dir, "/")) })
			if open && !slices.Contains(folders, at) {
				folders = append(folders, at)
			}
		}
	}
	slices.Sort(folders)
	return folders
}

// within reports whether a path is a directory or something inside it.
func within(file, dir string) bool { return file == dir || strings.HasPrefix(file, dir+"/") }

func folderName(folder string) string {
	if folder == "." {
		return "the root of the project"
	}
	return "`" + folder + "`"
}

// writing tells the agent about write limits that it could not guess.
func (h *Handoff) writing() (notes []string) {
	if h.Dir == "" { // a conversation
		return nil
	}
	if folders := h.sealed(); len(folders) > 0 {
		for i := range folders {
			folders[i] = folderName(folders[i])
		}
		notes = append(notes, fmt.Sprintf("Directly in %s, you can change existing files, but not create, remove or rename files. Write new files to other folders.", strings.Join(folders, ", ")))
	}
	if h.SessionOnly {
		notes = append(notes, "Only files in `"+h.Dir+"` are accepted.")
	}
	return notes
}
