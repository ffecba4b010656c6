package acp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// awaitMinute waits while the agent would overwrite the conversation to be continued:
// gemini names its files after the minute and the conversation, and truncates a file that
// already exists.
func (t *talk) awaitMinute(ctx context.Context, id string) error {
	for told := false; t.wouldOverwrite(id); told = true {
		if !told {
			t.client.note("waiting for the next minute, when " + t.start.Manifest.Name + " can continue the conversation")
		}
		now := t.start.Now()
		next := time.NewTimer(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return ctx.Err()
		}
	}
	return nil
}

func (t *talk) wouldOverwrite(id string) bool {
	fill := strings.NewReplacer("{minute}", t.start.Now().UTC().Format("2006-01-02T15-04"), "{id}", id[:min(8, len(id))])
	for _, pattern := range t.quirks.MinuteFiles {
		known := true
		path := os.Expand(fill.Replace(pattern), func(name string) string {
			value := ""
			for _, v := range t.start.Command.Cmd.Env {
				if rest, ok := strings.CutPrefix(v, name+"="); ok {
					value = rest
				}
			}
			known = known && value != ""
			return value
		})
		if !known {
			continue
		}
		if found, err := filepath.Glob(path); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
