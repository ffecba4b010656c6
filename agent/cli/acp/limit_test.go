//go:build unix

package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
)

func TestConversationObeysWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	program := filepath.Join(t.TempDir(), "fake")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n("+agenttest.Writes+") >&2\nexec "+os.Args[0]+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := attempt{odd: "none", program: program, task: agent.Task{Prompt: "say bye", Dir: agenttest.Project(t), Writes: &agent.WriteLimit{Only: []string{"out"}}}}
	a.run(t.Context(), t)
	if a.err != nil || a.result.Output != "bye" {
		t.Errorf("%q, %v", a.result.Output, a.err)
	}
	agenttest.CheckWrites(t, a.task.Dir)
}
