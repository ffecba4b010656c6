package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) doctorVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "say what works here and what does not",
		Long: `Look at everything that hocket needs here: the project, its settings, what can do
the work of agents and in which version, the agents and workflows, the place where
runs are kept, the disk, git and the terminal. What does not work comes with what
to do about it. The exit code is 1 if something
is broken.`,
		Example: `  hocket doctor
  hocket doctor --json | jq '.[] | select(.state != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// finding is one thing that the doctor looked at.
type finding struct {
	What   string `json:"what"`
	State  string `json:"state"` // ok, absent, warning or broken
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	fine       = "ok"
	absentHere = "absent" // and nobody needs it
	warning    = "warning"
	broken     = "broken"
)

func (a *app) doctor(ctx context.Context) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	var list []finding
	for _, look := range []func() []finding{
		func() []finding { return lookAtProject(p) },
		func() []finding { return lookAtExecutors(ctx, p) },
		func() []finding { return lookAtAgents(p) },
		func() []finding { return a.lookAtWorkflows(p) },
		func() []finding { return []finding{a.lookAtSandbox(p)} },
		func() []finding { return lookAtState(ctx, p) },
		lookAtGit,
		a.lookAtTerminal,
	} {
		list = append(list, look()...)
	}
	if a.json {
		err = a.printJSON(list)
	} else {
		err = a.print(a.drawFindings(list))
	}
	for _, f := range list {
		if f.State == broken && err == nil {
			err = exitError(exitFailed)
		}
	}
	return err
}

func (a *app) drawFindings(list []finding) string {
	marks := map[string]struct {
		word  string
		paint view.Paint
	}{fine: {"ok", view.Green}, absentHere: {"absent", view.Dim}, warning: {"warning", view.Yellow}, broken: {"broken", view.BoldRed}}
	var b strings.Builder
	for _, f := range list {
		m := marks[f.State]
		b.WriteString(a.outStyle.Paint(m.paint, view.Pad(m.word, 8)) + " " + a.outStyle.Paint(view.Bold, view.Pad(f.What, 10)) + " " + view.Line(f.Found) + "\n")
		if f.Remedy != "" {
			b.WriteString(strings.Repeat(" ", 20) + a.outStyle.Paint(view.Blue, "help: ") + view.Line(f.Remedy) + "\n")
		}
	}
	return b.String()
}

func lookAtProject(p *hocket.Project) []finding {
	list := []finding{{"project", fine, p.Root(), ""}}
	if !slices.ContainsFunc(agent.Homes, func(home string) bool { return isDir(filepath.Join(p.Root(), home)) }) {
		list[0] = finding{"project", warning, "no .hocket here or above " + p.Root(), "`hocket init` makes one; files can be run without it"}
	}
	return append(list, lookAtFiles(p.Diagnostics())...)
}

// lookAtFiles tells the first mistake of every file of the project. Its configuration
// is one that everything depends on, so that it is told too where it is valid.
func lookAtFiles(found workflow.Diagnostics) []finding {
	list := []finding{{"config", fine, "valid", ""}}
	var seen []string
	for _, d := range found.Mistakes() {
		if slices.Contains(seen, d.Pos.File) {
			continue
		}
		seen = append(seen, d.Pos.File)
		f := finding{"file", warning, d.String(), "`hocket check` shows all mistakes in the files of the project"}
		if d.Severity == workflow.Error {
			f.State = broken
		}
		if filepath.Base(d.Pos.File) == "config.yml" {
			f.What = "config"
			list[0] = f
			continue
		}
		list = append(list, f)
	}
	return list
}

func lookAtAgents(p *hocket.Project) []finding {
	var list []finding
	for _, d := range p.Agents().Definitions() {
		if d.Builtin {
			continue
		}
		f := finding{"agent", fine, strings.TrimSuffix(d.Name+" runs on "+d.Agent+", "+d.Chosen, ", "), ""}
		if failed := p.Agents().Missing(d); failed != nil {
			f = brokenBy("agent", failed)
			// What several agents lack is told once.
			if i := slices.IndexFunc(list, func(o finding) bool { return o.State == broken && o.Remedy == f.Remedy }); i >= 0 {
				list[i].Found += ", " + strconv.Quote(d.Name)
				continue
			}
		}
		list = append(list, f)
	}
	return append(list, lookAtDefault(p))
}

// lookAtDefault says who does tasks that name no agent.
func lookAtDefault(p *hocket.Project) finding {
	if p.Config().Agent != "" {
		if _, _, err := p.Agents().Resolve(""); err != nil {
			return brokenBy("default", err)
		}
		return finding{"default", fine, p.Config().Agent, ""}
	}
	if c, ok := p.Agents().Choose("", nil); ok {
		return finding{"default", fine, c.Name + ", " + c.Reason, ""}
	}
	return finding{"default", fine, "none: a step names its agent, or is given one whose description fits", ""}
}

// versionPatience is how long all programs together may take to tell their versions, all
// at once. What is known of a program is kept, so that only a new one is waited for.
const versionPatience = 40 * time.Second

// lookAtExecutors says what can do the work of agents here. What is not installed
// is no mistake: only what the project uses is needed.
func lookAtExecutors(ctx context.Context, p *hocket.Project) []finding {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	names := p.Agents().Executors()
	list := make([]finding, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { list[i] = lookAtExecutor(ctx, name, p.Agents().Traits(name)) })
	}
	asked.Wait()
	return list
}

func lookAtExecutor(ctx context.Context, name string, traits agent.Traits) finding {
	if traits.Missing != nil {
		if missing := traits.Missing(); missing != "" {
			return finding{"executor", absentHere, name, missing}
		}
	}
	if traits.Version == nil {
		return finding{"executor", fine, name, ""}
	}
	version, err := traits.Version(ctx)
	switch {
	case version != "" && err != nil:
		return finding{"executor", warning, view.Line(err.Error()), ""}
	case err != nil:
		return finding{"executor", warning, name + " does not tell its version: " + view.Line(err.Error()), ""}
	}
	return finding{"executor", fine, strings.TrimSpace(name + " " + version), ""}
}

func (a *app) lookAtWorkflows(p *hocket.Project) []finding {
	var list []finding
	for _, name := range p.Workflows() {
		f := finding{"workflow", fine, name, ""}
		w, err := p.Load(name)
		if err != nil {
			f = brokenBy("workflow", err)
		} else if found := w.Check(nil).Mistakes(); len(found) > 0 {
			f.Found, f.Remedy = name+": "+view.Tally(found), "`hocket check "+name+"` shows them"
			f.State = warning
			if found.Errors() {
				f.State = broken
			}
		}
		list = append(list, f)
	}
	return list
}

// lookAtSandbox says whether the programs of tools are held to their permissions.
func (a *app) lookAtSandbox(p *hocket.Project) finding {
	e := p.ToolEnforcement()
	needed := slices.ContainsFunc(p.Tools(), hocket.IsProgram)
	const held = "programs of tools are held to their permissions"
	switch {
	case e.Held && len(e.Gaps) == 0:
		return finding{"sandbox", fine, held, ""}
	case e.Held:
		return finding{"sandbox", fine, held + ", but a program can do this: " + strings.Join(e.Gaps, "; "), ""}
	case !needed:
		return finding{"sandbox", absentHere, "programs of tools would not be held to their permissions: " + e.Why, ""}
	case p.Config().Sandbox == "required":
		return finding{"sandbox", broken, "tools that are programs cannot be called: " + e.Why, "config.yml says `sandbox: required`; remove it to call them without"}
	}
	return finding{"sandbox", warning, "programs of tools can do whatever you can: " + e.Why, ""}
}

// lookAtState looks at the place where runs are kept, without making it.
func lookAtState(ctx context.Context, p *hocket.Project) []finding {
	place := p.State()
	for !isDir(place) && filepath.Dir(place) != place {
		place = filepath.Dir(place)
	}
	state := finding{"state", fine, p.State(), ""}
	if err := writable(place); err != nil {
		state = finding{"state", broken, err.Error(), "make " + place + " writable, or name another place with --state DIR"}
	}
	return []finding{state, lookAtJournal(ctx, p), lookAtDisk(place)}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".hocket-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func lookAtJournal(ctx context.Context, p *hocket.Project) finding {
	n, err := p.CheckRuns(ctx)
	switch {
	case err != nil:
		return brokenBy("journal", err)
	case n < 0:
		return finding{"journal", fine, "none yet; the first run makes it", ""}
	}
	return finding{"journal", fine, "up to date and sound, " + view.Count(n, "run"), ""}
}

func brokenBy(what string, err error) finding {
	text, remedy := explain(err)
	return finding{what, broken, strings.TrimPrefix(text, "agent: "), remedy}
}

// lowDisk is the free space under which a long run may fail.
const lowDisk = 500 << 20

func lookAtDisk(dir string) finding {
	free, known := freeDisk(dir)
	switch {
	case !known:
		return finding{"disk", warning, "free space is not known", ""}
	case free < lowDisk:
		return finding{"disk", warning, "only " + view.Bytes(free) + " free", "free some space, or name another place with --state DIR"}
	}
	return finding{"disk", fine, view.Bytes(free) + " free", ""}
}

func lookAtGit() []finding {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return []finding{{"git", warning, "not found", "install git if workflows work on a repository"}}
	}
	return []finding{{"git", fine, strings.TrimSpace(string(out)), ""}}
}

func (a *app) lookAtTerminal() []finding {
	f, ok := terminal(a.std.Err)
	if !ok {
		return []finding{{"terminal", fine, "none; progress is plain lines", ""}}
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return []finding{{"terminal", warning, err.Error(), ""}}
	}
	text := fmt.Sprintf("%d x %d", width, height)
	if !colourWanted() {
		text += ", no colours"
	}
	if !utf8Locale() {
		return []finding{{"terminal", warning, text + ", ASCII only", "set LANG to a UTF-8 locale, such as C.UTF-8"}}
	}
	return []finding{{"terminal", fine, text, ""}}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
