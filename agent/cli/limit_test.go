//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
)

// A CLI writes its own files, wherever its variables say they are, and those of its run.
func TestCLIObeysWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	p := install(t, described+`user_files: ["{env.TOOL_HOME}/", "{env.NONE}/", "{env.HOME}/.tool/", "{env.HOME}/.toolrc"]`, `
(`+agenttest.Writes+`) >&2
touch "$HOME/.tool/session" "$TOOL_HOME/session" || exit 3
echo more >>"$HOME/.toolrc" || exit 4
for a in "$@"; do case $a in */private/*) echo x >"${a%/*}/reply" || exit 5;; esac; done
touch "$HOME/other" && exit 6
`+echo)
	home := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir()) // home is not in it
	p.env = append(p.env, "TOOL_HOME="+filepath.Join(home, "tool"), "HOME="+home)
	if err := os.WriteFile(filepath.Join(home, ".toolrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	task := p.task()
	task.Agent.Prompt = "You are kind." // written to a file
	task.Dir, task.Writes = agenttest.Project(t), &agent.WriteLimit{Only: []string{"out"}}
	if res, err := p.Run(t.Context(), task, quiet); err != nil || res.Output != "fine" {
		t.Errorf("%q, %v", res.Output, err)
	}
	agenttest.CheckWrites(t, task.Dir)
}

func TestMountsWithinWriteLimit(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	p := install(t, described+"mounts: [edit]", echo)
	for _, limit := range []*agent.WriteLimit{nil, {Except: []string{"src"}}} {
		for _, mode := range []string{"edit", "read-only"} {
			task := p.task()
			task.Writes, task.Agent.Permissions = limit, map[string]any{"mode": mode}
			_, err := p.Run(t.Context(), task, quiet)
			if refused := limit != nil && mode == "edit"; refused != (err != nil) || refused && !strings.Contains(err.Error(), "choose the mode full") {
				t.Errorf("%v, %s: %v", limit, mode, err)
			}
		}
	}
}

// What a CLI may always write never includes the project.
func TestProjectIsNotAUserFile(t *testing.T) {
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	p := install(t, described+`user_files: ["{env.TOOL_HOME}/"]`, "("+agenttest.Writes+") >&2\n"+echo)
	task := p.task()
	task.Dir, task.Writes = agenttest.Project(t), &agent.WriteLimit{Only: []string{"out"}}
	p.env = append(p.env, "TOOL_HOME="+filepath.Dir(task.Dir))
	if _, err := p.Run(t.Context(), task, quiet); err != nil {
		t.Error(err)
	}
	agenttest.CheckWrites(t, task.Dir)
}
