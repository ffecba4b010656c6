//go:build unix

package shell_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/workflow"
)

// limited returns a task that may write only in the directory out of its project.
func limited(t *testing.T, settings string) *agent.Task {
	t.Helper()
	if why := agent.WriteLimits(); why != "" {
		t.Skip(why)
	}
	task := attempt(t, settings)
	task.Dir, task.Writes = agenttest.Project(t), &agent.WriteLimit{Only: []string{"out"}}
	return task
}

func TestCommandObeysWriteLimit(t *testing.T) {
	task := limited(t, `{}`)
	task.Settings = map[string]any{"command": agenttest.Writes}
	if _, err := run(t, task); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Error(err)
	}
	agenttest.CheckWrites(t, task.Dir)
}

func TestToolObeysWriteLimit(t *testing.T) {
	task := limited(t, `{}`)
	out, err := tool(t, task, `{"shell": "allow"}`)(`{"command": ` + workflow.FormatJSON(agenttest.Writes) + `}`)
	if err != nil || !strings.Contains(out, "Permission denied") {
		t.Errorf("%q, %v", out, err)
	}
	agenttest.CheckWrites(t, task.Dir)
}

// A program that does not start is reported like one without a limit.
func TestNotFoundWithinWriteLimit(t *testing.T) {
	for command, want := range map[string]string{
		`["nonesuch"]`:             `command "nonesuch" not found; check that it is installed and on the PATH`,
		`["/nonesuch"]`:            `command "/nonesuch" not found; check that it is installed and on the PATH`,
		`["/etc/passwd"]`:          `command "/etc/passwd" is not executable`,
		`["sh", "-c", "exit 125"]`: "exit status 125",
	} {
		if _, err := run(t, limited(t, `{"command": `+command+`}`)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestPlacesOfWriteLimit(t *testing.T) {
	elsewhere := t.TempDir()
	for _, c := range []struct {
		name    string
		limit   agent.WriteLimit
		command string
		want    string // of its error; "": none
	}{
		{"nothing is there yet", agent.WriteLimit{Only: []string{"new/deep/"}}, "touch new/deep/x", ""},
		{"missing", agent.WriteLimit{Only: []string{"new"}}, "true", `the task may write only in "new", which does not exist; create it, or write "new/" for a directory to be created`},
		{"absolute", agent.WriteLimit{Only: []string{"DIR/out"}}, "touch out/x", ""},
		{"absolute, new", agent.WriteLimit{Only: []string{"DIR/new/"}}, "touch new/x", ""},
		{"elsewhere", agent.WriteLimit{Only: []string{elsewhere}}, "touch " + elsewhere + "/x", ""},
		{"above", agent.WriteLimit{Only: []string{"../DIRNAME/out"}}, "touch out/x", ""},
		{"a file", agent.WriteLimit{Only: []string{"src/old"}}, "echo x >src/old", ""},
		{"beside a file", agent.WriteLimit{Only: []string{"src/old"}}, "touch src/x", "Permission denied"},
		{"a link", agent.WriteLimit{Only: []string{"way"}}, "true", `the task may write only in "way", in which "way" is a link to "src"; name the path without links`},
		{"all but one", agent.WriteLimit{Only: []string{"."}, Except: []string{"src"}}, "touch out/x; touch src/x", "src/x"},
		{"all but a link", agent.WriteLimit{Except: []string{"way"}}, "touch out/x; touch src/x", "src/x"},
		{"temporary files", agent.WriteLimit{Only: []string{"out"}}, "mktemp && mktemp -d", ""},
		{"nowhere", agent.WriteLimit{Only: []string{"out"}, Except: []string{"."}}, "touch out/x", "out/x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := limited(t, `{}`)
			if err := os.Symlink("src", filepath.Join(task.Dir, "way")); err != nil {
				t.Fatal(err)
			}
			for i, name := range c.limit.Only {
				c.limit.Only[i] = strings.NewReplacer("DIRNAME", filepath.Base(task.Dir), "DIR", task.Dir).Replace(name)
			}
			task.Writes, task.Settings = &c.limit, map[string]any{"command": c.command}
			_, err := run(t, task)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
		})
	}
}
