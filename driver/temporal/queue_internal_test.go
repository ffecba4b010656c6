package temporal

import "testing"

// People know the queue of a project without the id of the store, which its name on the server has.
func TestNoWorkerNamesTheQueue(t *testing.T) {
	d := &Driver{o: Options{Queue: "shop@rkhpgjmcdtpm"}, project: "shop"}
	for queue, want := range map[string]string{
		"shop@rkhpgjmcdtpm":            "no worker serves the queue shop; step a waits; start one with `hocket worker`",
		"shop@rkhpgjmcdtpm/queue/gpu":  "no worker serves the queue gpu; step a waits; start one with `hocket worker --queue gpu`",
		"shop@rkhpgjmcdtpm/worker/one": "worker one, which has this run's files, is offline; step a waits; start it with `hocket worker --name one`",
	} {
		if got := (look{d: d}).noWorker(queue, "step a waits", nil); got != want {
			t.Errorf("%s: %s, want %s", queue, got, want)
		}
	}
}
