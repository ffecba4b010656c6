//go:build unix

package cli

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Neither a successful nor a cancelled run leaves a goroutine, even if it served tools.
func TestNothingIsLeft(t *testing.T) {
	good, stuck := install(t, described, echo), install(t, described, `echo '{"type":"say","text":"x"}'; sleep 60`)
	tools := []agent.Tool{{Name: "add", Call: func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) { return "", nil }}}
	once := func() {
		task := good.task()
		task.Tools = tools
		if _, err := good.Run(t.Context(), task, quiet); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		task = stuck.task()
		task.Tools = tools
		if _, err := stuck.Run(ctx, task, func([]byte) { cancel() }); err == nil {
			t.Error("a run that is cancelled succeeds")
		}
	}
	once()
	before := runtime.NumGoroutine()
	for range 5 {
		once()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines, %d before", n, before)
	}
}
