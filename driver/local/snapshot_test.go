package local_test

import (
	"testing"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// A long waiting run resumes from its snapshot, or from its events if the snapshot is
// missing or damaged, with the same result.
func TestTakenUpFromASnapshot(t *testing.T) {
	bundle := fanOf()
	body := &bundle.Root.Body
	body.Nodes = append(body.Nodes, gate("ok", "yes"))
	body.Edges = append(body.Edges, workflow.Edge{From: "work", To: "ok"})
	for name, change := range map[string]string{
		"kept":    "UPDATE snapshots SET run = run",
		"dropped": "DELETE FROM snapshots",
		"damaged": "UPDATE snapshots SET data = substr(data, 1, length(data) - 1)",
		"foreign": "UPDATE snapshots SET data = 'something else'",
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t)
			spec := driver.Spec{Run: "demo-1", Pin: &driver.Pin{Bundle: bundle}, Inputs: items(1500), Limits: workflow.Limits{Parallel: 100}}
			if res, err := startRun(t.Context(), s, spec, work{Agents: noop{}}); err != nil || res.Status != engine.Waiting {
				t.Fatal(res.Status, err)
			}
			if data, err := s.Snapshot(t.Context(), "demo-1"); err != nil || data == nil {
				t.Fatalf("nothing was kept: %v", err)
			}
			changeSnapshots(t, s.Dir(), change)
			if _, err := answerRun(t.Context(), s, "demo-1", "ok", "yes", "ann"); err != nil {
				t.Fatal(err)
			}
			res := resume(t, s, work{Agents: noop{}})
			if res.Status != engine.Success || res.Output != "yes" || len(res.Steps) != 1501 || res.Steps[1499].Output != "ok" {
				t.Errorf("%s %v, %d steps", res.Status, res.Output, len(res.Steps))
			}
		})
	}
}
