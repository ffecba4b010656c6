package local

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The heap returns the same timers as a linear search.
func TestTimers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ts schedule
		model := map[string]int{}
		id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint("t", rapid.IntRange(0, 8).Draw(t, "id")) })
		second := rapid.IntRange(0, 50)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				name, at := id.Draw(t, "name"), second.Draw(t, "at")
				ts.set(name, int64(at))
				model[name] = at
			},
			"cancel": func(t *rapid.T) {
				name := id.Draw(t, "name")
				ts.cancel(name)
				delete(model, name)
			},
			"fire": func(t *rapid.T) {
				now := second.Draw(t, "now")
				name, ok := ts.due(int64(now))
				for other, at := range model {
					if at <= now && (!ok || at < model[name]) {
						t.Fatalf("%s at %d is due at %d before %s", other, at, now, name)
					}
				}
				if ok && model[name] > now {
					t.Fatalf("%s fired at %d, before %d", name, now, model[name])
				}
				delete(model, name)
			},
			"": func(t *rapid.T) {
				if len(model) != ts.Len() || len(ts.byID) != ts.Len() {
					t.Fatalf("%d timers, want %d", ts.Len(), len(model))
				}
			},
		})
	})
}
