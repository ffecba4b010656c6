package cli

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

// keptOf returns the files that the attempts of a step created, such as screenshots, and
// the model of the last attempt.
func keptOf(ctx context.Context, r *hocket.Run, s engine.StepResult) (files []string, model string) {
	for attempt := 1; s.Agent != "" && attempt <= s.Attempts; attempt++ {
		kept, err := r.Kept(ctx, s.Address, attempt)
		if err != nil {
			continue
		}
		model = kept.Model
		if kept.Files == nil {
			continue // most attempts create none
		}
		entries, _ := fs.ReadDir(kept.Files, ".")
		for _, e := range entries {
			files = append(files, filepath.Join(kept.Dir, e.Name()))
		}
	}
	return files, model
}

// artifactText lists the files of steps for people. It returns "" if there are none.
func artifactText(ctx context.Context, r *hocket.Run, steps []engine.StepResult, style view.Style) string {
	widest, lines := 0, [][2]string{}
	for _, s := range steps {
		files, _ := keptOf(ctx, r, s)
		for _, file := range files {
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
