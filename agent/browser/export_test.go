package browser

import (
	"crypto/rand"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// Shared returns one browser for many tasks, and closes it with the test.
func Shared(t *testing.T, b *Browser, log agent.Log) (func(*agent.Task) (string, error), error) {
	s, err := b.start(t.Context(), &agent.Task{Key: t.Name() + rand.Text()}, outbound.Policy{}, nil, log)
	if err != nil {
		return nil, err
	}
	t.Cleanup(s.close)
	return func(task *agent.Task) (string, error) {
		plan, err := b.plan(task)
		if err != nil {
			return "", err
		}
		return plan.run(t.Context(), s, task)
	}, nil
}
