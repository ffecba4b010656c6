package cli

import (
	"os"
	"path/filepath"
	"slices"
	"sort"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

// diagnosticsError reports an invalid workflow, or another invalid file: exit code 2.
type diagnosticsError struct{ found workflow.Diagnostics }

func (e *diagnosticsError) Error() string { return view.Tally(e.found) }

// showDiagnostics draws diagnostics and counts them.
func (a *app) showDiagnostics(found workflow.Diagnostics, style view.Style) string {
	if len(found) == 0 {
		return ""
	}
	return view.Diagnostics(nearPaths(foremost(found)), a.sourceOf, style) + style.Paint(view.Bold, view.Tally(found)) + "\n"
}

// maxDiagnostics is how many are shown. The others show up once these are fixed.
const maxDiagnostics = 100

// foremost returns the diagnostics to show: the most severe ones if there are too many,
// with a note that counts the others.
func foremost(found workflow.Diagnostics) workflow.Diagnostics {
	if len(found) <= maxDiagnostics {
		return found
	}
	shown := slices.Clone(found)
	rank := []workflow.Severity{workflow.Error, workflow.Warning, workflow.Note}
	sort.SliceStable(shown, func(i, j int) bool {
		return slices.Index(rank, shown[i].Severity) < slices.Index(rank, shown[j].Severity)
	})
	shown = shown[:maxDiagnostics].Sort()
	return append(shown, workflow.Notef(workflow.Pos{}, "more", "fix these first, then check again", "%d more diagnostics are not shown", len(found)-maxDiagnostics))
}

// reportDiagnostics reports why a command could not start.
func (a *app) reportDiagnostics(found workflow.Diagnostics) {
	if a.json {
		// The exit code reports the failure even if this fails.
		_ = a.printJSON(map[string]any{"error": view.Tally(found), "diagnostics": jsonDiagnostics(found)})
	}
	a.note(a.showDiagnostics(found, a.errStyle))
}

// sourceOf reads a file for the excerpt. A file that cannot be read has none.
func (a *app) sourceOf(file string) []byte {
	if file == stdin {
		return a.stdinText
	}
	if text := a.unsaved[file]; text != nil {
		return text
	}
	if text, err := a.readNamed(file); err == nil {
		return text
	}
	return nil
}

// readNamed reads a file that the user or a diagnostic names.
func (a *app) readNamed(file string) ([]byte, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	return p.ReadFile(file)
}

// nearPaths makes paths below the current directory relative to it, as people and
// editors expect them.
func nearPaths(found workflow.Diagnostics) workflow.Diagnostics {
	out := append(workflow.Diagnostics{}, found...)
	for i := range out {
		out[i].File = nearPath(out[i].File)
	}
	return out
}

// nearPath makes a path below the current directory relative to it. The current
// directory may contain symbolic links that are resolved in the project's paths.
func nearPath(file string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(file) {
		return file
	}
	real, _ := filepath.EvalSymlinks(here) // "" is not above anything
	for _, dir := range []string{here, real} {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return file
}
