package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
)

// artifactsOf are the files that the attempts of a step left, such as screenshots.
func artifactsOf(store *journal.Store, run string, s engine.StepResult) []string {
	var files []string
	for attempt := 1; s.Agent != "" && attempt <= s.Attempts; attempt++ {
		dir := store.ArtifactsPath(run, s.Address, attempt)
		entries, _ := os.ReadDir(dir) // most leave none, and have no directory
		for _, e := range entries {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// artifactText lists the files of steps for people; "" if there are none.
func artifactText(store *journal.Store, run string, steps []engine.StepResult, style view.Style) string {
	widest, lines := 0, [][2]string{}
	for _, s := range steps {
		for _, file := range artifactsOf(store, run, s) {
			lines = append(lines, [2]string{view.Line(s.Address), view.Line(file)})
			widest = max(widest, len(view.Line(s.Address)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + style.Paint(view.Dim, "files") + "\n")
	for _, l := range lines {
		b.WriteString("  " + view.Pad(l[0], widest) + "  " + l[1] + "\n")
	}
	return b.String()
}
