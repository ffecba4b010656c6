//go:build unix

package tool_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/tool"
)

// A program writes what both its tool and the task that calls it may write.
func TestProgramObeysWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	for about, sandbox := range map[string]tool.Sandbox{"confined": "", "free": tool.SandboxNone} {
		t.Run(about, func(t *testing.T) {
			if sandbox == "" {
				enforced(t)
			}
			s, dir := confined(t, tool.Options{Sandbox: sandbox}, map[string][2]string{
				"inside":  {"fs: {write: [src, out]}", "echo x >out/x; echo x >$TMPDIR/x && cat $TMPDIR/x"},
				"outside": {"fs: {write: [src, out]}", "sh -c 'echo x >src/x'"},
				"neither": {"fs: {write: [src]}", "echo x >out/x"},
			})
			task := &agent.Task{Key: t.Name(), Dir: filepath.Join(dir, "project"), Agent: &agent.Definition{}, Writes: &agent.WriteLimit{Only: []string{"out"}}}
			for name, want := range map[string]bool{"inside": true, "outside": false, "neither": about == "free"} {
				one, err := s.Tool(name)
				if err != nil {
					t.Fatal(err)
				}
				out, err := one.Call(t.Context(), nil, task, new(agenttest.Log).Add)
				if want != (err == nil) || err != nil && !strings.Contains(err.Error(), "ermission denied") && !strings.Contains(err.Error(), "annot create") {
					t.Errorf("%s: %q, %v", name, out, err)
				}
				if hinted := err != nil && strings.HasSuffix(err.Error(), "The task that calls it is limited in where it may write, too."); hinted != (about == "confined" && !want) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
