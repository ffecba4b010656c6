package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/handoff/protocol"
)

// Every example of a handoff is valid, and its reply answers everything that it asks for.
func TestHandoffExamples(t *testing.T) {
	onPath(t, "claude")
	dir := filepath.Join(examples(t), "handoff")
	files, err := filepath.Glob(filepath.Join(dir, "[a-z]*.md"))
	if err != nil || len(files) != 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	for _, file := range files {
		out, code := hocket(t, dir, t.TempDir(), "handoff", "check", filepath.Base(file))
		if code != 0 || !strings.Contains(out, "ok: 1 request checked") {
			t.Errorf("%s: exit code %d\n%s", file, code, out)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h, err := protocol.Read(file, text, protocol.Options{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "replies", strings.TrimSuffix(filepath.Base(file), ".md")+".yml")
		if text, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		replies, found := scripted.Parse(name, text)
		if found.Errors() || !replies.CoversTask("handoff") {
			t.Fatalf("%s: %v", name, found)
		}
		_, reply, _ := strings.Cut(string(text), "handoff: |\n")
		r := protocol.ReadResponse(reply)
		if r.Form != protocol.XMLForm || r.Status != protocol.Completed || len(r.Found) > 0 {
			t.Errorf("%s is read as %s %s: %v", name, r.Form, r.Status, r.Found)
		}
		for _, d := range r.Unanswered(h.Requests[0]) {
			t.Errorf("%s does not answer %q", name, d.Text)
		}
		for _, d := range h.Requests[0].Deliverables {
			if d.Kind == protocol.File && !strings.Contains(reply, `path="`+d.Path+`"`) {
				t.Errorf("%s does not mention %s", name, d.Path)
			}
		}
	}
}
