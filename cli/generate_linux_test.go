package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
	writeFiles(t, project, plannerFiles)
	return dir, project
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A step with a long text is drawn with its beginning.
func TestGenerateDrawsLongTexts(t *testing.T) {
	dir, project := plannerProject(t)
	writeFiles(t, project, map[string]string{"model.sh": `cat <<'END'
<workflow name="Phones">
  <agent name="model" id="compare"><task>Compare every phone that was released this year
with the phones of the year before, ${inputs.list}, and write down what has changed in each of them</task></agent>
END
while test -e wait; do sleep 0.02; done
`})
	c := startConsole(t, dir, 40, 80, "-C", project, "generate", "Compare phones")
	c.trust()
	c.until("Compare every phone that was")
	if seen := c.see(); !regexp.MustCompile(`compare +task: model, .*Compare every phone.*…`).MatchString(seen) {
		t.Errorf("the screen shows\n%s", seen)
	}
	c.press("\x03")
	c.exit()
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

// replanFiles are a project in which a step fails, and a model that knows what to do instead.
var replanFiles = map[string]string{
	".hocket/config.yml": "",
	"flow.yml": "name: flow\nsteps:\n  - {id: first, agent: shell, config: {command: 'echo once >> log; echo one'}}\n" +
		"  - {id: second, agent: shell, config: {command: exit 7}}\n",
	"plan.yml": `replan: |
  <thought>The second step is not needed.</thought>
  <workflow name="flow">
    <agent name="shell" id="first"><config><command>echo once &gt;&gt; log; echo one</command></config></agent>
    <agent name="shell" id="third" depends="first"><config><command>echo three</command></config></agent>
  </workflow>
`,
}

// A run that has failed is planned again in words: the difference is shown, approved and run.
func TestReplanInATerminal(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	writeFiles(t, project, replanFiles)
	c := startConsole(t, dir, 60, 120, "-C", project, "run", "flow.yml", "--max-steps", "7")
	c.until(` "WORDS"`)
	if code := c.exit(); code != 1 {
		t.Fatalf("exit code %d\n%s", code, c.see())
	}
	run := regexp.MustCompile(`replan (flow-\w+) "WORDS"`).FindStringSubmatch(c.see())
	c = startConsole(t, dir, 60, 120, "-C", project, "replan", run[1], "skip the second step", "--replies", "plan.yml", "--resume")
	c.until("The second step is not needed.")
	for _, want := range []string{
		"first  task: shell  (keeps its result)", "+ └─ third", "- removed second", "new plan of the run " + run[1],
		"third: command: echo three", "limit 7", "Used so far", "2 tasks",
	} {
		c.until(want)
	}
	c.approve(same)
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\nthree") {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if log, err := os.ReadFile(filepath.Join(project, "log")); err != nil || string(log) != "once\n" {
		t.Errorf("the first step ran again: %s %v", log, err)
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "show", run[1])
	c.until("made by   replies")
	c.exit()
}

// The question whether to continue with a plan in a file is answered with yes.
func TestReplanWithAFileInATerminal(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	writeFiles(t, project, replanFiles)
	writeFiles(t, project, map[string]string{"better.yml": strings.Replace(replanFiles["flow.yml"], "exit 7", "echo two", 1)})
	c := startConsole(t, dir, 60, 120, "-C", project, "run", "flow.yml")
	c.until(` "WORDS"`)
	c.exit()
	run := regexp.MustCompile(`replan (flow-\w+)`).FindStringSubmatch(c.see())
	c = startConsole(t, dir, 60, 120, "-C", project, "replan", run[1], "--with", "better.yml")
	c.until("1) continue")
	c.until("2) stop")
	c.wait("the prompt", func() bool { return strings.HasSuffix(strings.TrimSpace(c.screen.String()), ">") })
	c.press("y\r")
	c.until("the run has a new plan")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
}

// A step with on_error: replan leads to a plan that a person approves.
func TestReplanIsOffered(t *testing.T) {
	dir := t.TempDir()
	project := filepath.Join(dir, "project")
	writeFiles(t, project, replanFiles)
	writeFiles(t, project, map[string]string{"flow.yml": strings.Replace(replanFiles["flow.yml"], "steps:", "on_error: replan\nsteps:", 1)})
	c := startConsole(t, dir, 90, 120, "-C", project, "run", "flow.yml", "--replies", "plan.yml")
	c.until("third: command: echo three")
	c.approve(func(string) string { return "no" })
	c.until("waiting for a new plan")
	if code := c.exit(); code != 3 {
		t.Fatalf("exit code %d\n%s", code, c.see())
	}
	for _, want := range []string{"second: exit status 7", "for the goal: continue after the failure of second"} {
		if !strings.Contains(c.see(), want) {
			t.Errorf("the review lacks %q:\n%s", want, c.see())
		}
	}
	c = startConsole(t, dir, 90, 120, "-C", project, "run", "flow.yml", "--replies", "plan.yml")
	c.approve(same)
	if code := c.exit(); code != 0 || !strings.Contains(c.see(), "\nthree") {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
}

// A model is not paid for a plan before a person agrees, and never if the run takes its answers from a file.
func TestReplanIsPaidForWithConsent(t *testing.T) {
	dir, project := plannerProject(t)
	writeFiles(t, project, map[string]string{
		"flow.yml":  strings.Replace(replanFiles["flow.yml"], "steps:", "on_error: replan\nsteps:", 1),
		"other.yml": "first: one\n",
		"model.sh":  "echo asked >> asked\n",
	})
	c := startConsole(t, dir, 60, 120, "-C", project, "run", "flow.yml")
	c.until("Should a model change the workflow?")
	c.until("second: exit status 7")
	c.wait("the prompt", func() bool { return strings.HasSuffix(strings.TrimSpace(c.screen.String()), ">") })
	c.press("wait\r")
	c.until("not planned")
	if code := c.exit(); code != 3 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	c = startConsole(t, dir, 60, 120, "-C", project, "run", "flow.yml", "--replies", "other.yml")
	c.until("the replies have no answer for replan")
	if code := c.exit(); code != 3 {
		t.Errorf("exit code %d\n%s", code, c.see())
	}
	if text, err := os.ReadFile(filepath.Join(project, "asked")); err == nil {
		t.Errorf("the model was %s", text)
	}
}

// BenchmarkLivePlan measures how long what a model writes takes to reach the terminal: the model writes
// the time, and the benchmark polls the screen until it appears.
func BenchmarkLivePlan(b *testing.B) {
	dir := b.TempDir()
	project := filepath.Join(dir, "project")
	writeFiles(b, project, plannerFiles)
	writeFiles(b, project, map[string]string{"model.sh": `echo '<workflow name="clock"><agent name="shell" id="a"><config><command>echo</command></config></agent>'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.13; date +%s%N; done
`})
	stamp := regexp.MustCompile(`\b1[0-9]{18}\b`)
	var waits []float64
	b.Setenv("HOCKET_TRUST", trustOf(b, dir, project))
	for b.Loop() {
		c := startConsole(b, dir, 24, 100, "-C", project, "generate", "Clock")
		last, deadline := "", time.Now().Add(20*time.Second)
		for ended := false; !ended; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				b.Fatalf("the screen shows:\n%s", c.see())
			}
			if printed := stamp.FindString(c.see()); printed != "" && printed != last {
				last = printed
				n, err := strconv.ParseInt(printed, 10, 64)
				if err != nil {
					b.Fatal(err)
				}
				waits = append(waits, float64(time.Since(time.Unix(0, n)).Microseconds())/1000)
			}
			ended = strings.Contains(c.see(), "asked again")
		}
		_ = c.cmd.Process.Kill()
	}
	if len(waits) < 10 {
		b.Fatalf("only %d times were seen", len(waits))
	}
	slices.Sort(waits)
	b.ReportMetric(waits[len(waits)/2], "ms-median")
	b.ReportMetric(waits[len(waits)-1], "ms-worst")
}

// trustOf returns the digest of what the files of a project can do.
func trustOf(t testing.TB, dir, project string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-C", project, "trust", "--print")
	cmd.Env = append(os.Environ(), asHocket+"=1", "XDG_STATE_HOME="+dir+"/.state")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
