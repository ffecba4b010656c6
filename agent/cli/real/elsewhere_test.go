package realtest

import (
	"testing"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// roaming are the CLIs that continue a conversation in another directory than the one in which it took place.
var roaming = map[string]bool{"claude": true, "codex": true}

// A conversation is continued in another directory, or begins anew there. Never does a CLI work where the conversation took place.
func TestConversationElsewhere(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, name, "dummy")
			first, err := f.run(t.Context(), t, attempt{mode: "full", steps: []fakemodel.Step{say("the first answer")}})
			if err != nil {
				t.Fatal(err)
			}
			was, before := f.project, len(f.server.Requests())
			f.project = t.TempDir()
			second, err := f.run(t.Context(), t, attempt{mode: "full", conversation: first.Conversation, steps: []fakemodel.Step{f.command("touch here"), say("the second answer")}})
			knows := told(f.server.Requests()[before:], "the first answer")
			if err != nil || second.Output != "the second answer" || knows != roaming[name] || !f.has("here") {
				t.Errorf("%q, %v, knows what was said %v, made a file %v", second.Output, err, knows, f.has("here"))
			}
			f.project = was
			if f.has("here") {
				t.Error("it worked where the conversation took place")
			}
		})
	}
}
