package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plannerFiles are a project whose model is a script: it writes a plan in two parts.
var plannerFiles = map[string]string{
	".hocket/config.yml":       "agent: model\n",
	".hocket/agents/model.yml": "description: Plans\nagent: shell\nsettings: {command: sh model.sh}\n",
	"model.sh": `cat <<'END'
<thought>First this, then that.</thought>
<workflow name="Two steps">
  <agent name="shell" id="first"><config><command>echo one</command></config></agent>
  <agent name="shell" id="second" depends="first"><config><command>echo two; echo done</command></config></agent>
END
while test -e wait; do sleep 0.02; done
echo '</workflow>'
`,
	"wait": "",
}

// plannerProject returns a directory with such a project.
func plannerProject(t *testing.T) (dir, project string) {
	t.Helper()
	dir = t.TempDir()
	project = filepath.Join(dir, "project")
	for name, text := range plannerFiles {
		file := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, project
}

// A plan is drawn while it is written, shown with all that it does, approved by its digest, and run.
func TestGenerateInATerminal(t *testing.T) {
	dir, project := plannerProject(t)
	c := startConsole(t, dir, 60, 120, "-C", project, "generate", "Do two things", "--run", "--explain")
	c.trust()
	c.until("└─ second")
	seen := c.see()
	if !strings.Contains(seen, "├─ first") || !strings.Contains(seen, "written") {
		t.Errorf("while the plan is written, the screen shows\n%s", seen)
	}
	if err := os.Remove(filepath.Join(project, "wait")); err != nil {
		t.Fatal(err)
	}
	c.until("First this, then that.")
	c.until("second: command: echo two; echo done")
	c.approve(same)
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\ntwo\ndone") {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if strings.Contains(c.see(), " written\n") {
		t.Errorf("the drawing is left on the screen:\n%s", c.see())
	}
}

// Ctrl-C ends the model and proposes nothing.
func TestGenerateIsInterrupted(t *testing.T) {
	dir, project := plannerProject(t)
	c := startConsole(t, dir, 24, 80, "-C", project, "generate", "Do two things")
	c.trust()
	c.until("└─ second")
	c.press("\x03")
	c.until("nothing was proposed")
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if list, _ := os.ReadDir(filepath.Join(project, ".hocket", "generated")); len(list) > 0 {
		t.Errorf("proposed: %v", list)
	}
}

// trust answers that the project is trusted.
func (c *console) trust() {
	c.t.Helper()
	c.wait("the question", func() bool { return strings.HasSuffix(strings.TrimSpace(c.screen.String()), ">") })
	c.press("1\r")
}
