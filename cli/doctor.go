package cli

import (
	"cmp"
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
		Short: "Diagnose the installation and the project",
		Long: `Check everything that hocket needs: the project and its configuration, executors
and their versions, agents, workflows, the sandbox, the state directory, the server
of the driver if there is one, landings that were interrupted, disk space, git and the terminal. Each problem comes with how to fix it. The exit code is 1 if
something is broken.`,
		Example: `  hocket doctor
  hocket doctor --json | jq '.[] | select(.state != "ok")'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// finding is the result of one check.
type finding struct {
	What   string `json:"what"`
	State  string `json:"state"` // ok, absent, warning or broken
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	fine       = "ok"
	absentHere = "absent" // and not needed
	warning    = "warning"
	broken     = "broken"
)

func (a *app) doctor(ctx context.Context) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	var list []finding
	for _, check := range []func() []finding{
		func() []finding { return checkProject(p) },
		func() []finding { return checkExecutors(ctx, p) },
		func() []finding { return checkAgents(p) },
		func() []finding { return a.checkWorkflows(p) },
		func() []finding { return []finding{a.checkSandbox(p)} },
		func() []finding { return checkState(ctx, p) },
		func() []finding { return checkLanding(ctx, p) },
		func() []finding { return checkTelemetry(p) },
		checkGit,
		a.checkTerminal,
	} {
		list = append(list, check()...)
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

func checkProject(p *hocket.Project) []finding {
	list := []finding{{"project", fine, p.Root(), ""}}
	if !slices.ContainsFunc(agent.Homes, func(home string) bool { return isDir(filepath.Join(p.Root(), home)) }) {
		list[0] = finding{"project", warning, "no .hocket directory in or above " + p.Root(), "run `hocket init` to create one; workflow files run without it too"}
	}
	found := p.Diagnostics()
	for _, t := range p.Triggers() {
		found = append(found, p.CheckTrigger(t)...)
	}
	return append(list, checkFiles(found)...)
}

// checkFiles reports the first mistake of every file of the project. The configuration
// is always listed, as everything depends on it.
func checkFiles(found workflow.Diagnostics) []finding {
	list := []finding{{"config", fine, "valid", ""}}
	var seen []string
	for _, d := range found.Mistakes() {
		if slices.Contains(seen, d.Pos.File) {
			continue
		}
		seen = append(seen, d.Pos.File)
		f := finding{"file", warning, d.String(), "run `hocket check` to see all mistakes in the files of the project"}
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

// checkTelemetry says where spans are exported to. Nobody is asked whether they arrive: a check sends nothing.
func checkTelemetry(p *hocket.Project) []finding {
	t, err := p.Telemetry()
	var list []finding
	if t.Place != "" {
		list = append(list, finding{"telemetry", fine, "spans are exported to " + t.Place, ""})
	}
	if t.Problem != "" {
		of := ""
		if t.Run != "" {
			of = ", run " + t.Run
		}
		list = append(list, finding{"telemetry", warning, "on " + t.At.Local().Format(time.DateTime) + of + ": " + t.Problem, fmt.Sprintf("run `hocket trace %s --export` when the collector works, to send what is missing", cmp.Or(t.Run, "RUN"))})
	}
	for _, text := range slices.Compact(t.Wrong) { // traces and metrics have the same mistake in a variable of both
		list = append(list, finding{"telemetry", warning, text, "correct the variable, or unset it"})
	}
	var untrusted *hocket.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		list = append(list, finding{"telemetry", warning, "nothing is exported, because you do not trust the collector of the project", "run `hocket trust` to review it"})
	case err != nil:
		list = append(list, finding{"telemetry", warning, err.Error(), ""})
	}
	return list
}

func checkAgents(p *hocket.Project) []finding {
	var list []finding
	for _, d := range p.Agents().Definitions() {
		if d.Builtin {
			continue
		}
		f := finding{"agent", fine, strings.TrimSuffix(d.Name+" runs on "+d.Agent+", "+d.Chosen, ", "), ""}
		if failed := p.Agents().Missing(d); failed != nil {
			f = brokenBy("agent", failed)
			// A problem that several agents share is listed once.
			if i := slices.IndexFunc(list, func(o finding) bool { return o.State == broken && o.Remedy == f.Remedy }); i >= 0 {
				list[i].Found += ", " + strconv.Quote(d.Name)
				continue
			}
		}
		list = append(list, f)
	}
	return append(list, checkDefault(p))
}

// checkDefault reports which agent does tasks that do not name one.
func checkDefault(p *hocket.Project) finding {
	if p.Config().Agent != "" {
		if _, _, err := p.Agents().Resolve(""); err != nil {
			return brokenBy("default", err)
		}
		return finding{"default", fine, p.Config().Agent, ""}
	}
	if c, ok := p.Agents().Choose("", nil); ok {
		return finding{"default", fine, c.Name + ", " + c.Reason, ""}
	}
	return finding{"default", fine, "none: a step without an agent gets the one whose description matches best", ""}
}

// versionTimeout is how long all programs together may take to print their versions, in
// parallel. Versions are cached, so only new programs take time.
const versionTimeout = 40 * time.Second

// checkExecutors lists the executors of this machine. A missing one is not a problem by
// itself: only those that the project uses are needed.
func checkExecutors(ctx context.Context, p *hocket.Project) []finding {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	names := p.Agents().Executors()
	list := make([]finding, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() { list[i] = checkExecutor(ctx, name, p.Agents().Traits(name)) })
	}
	asked.Wait()
	return list
}

func checkExecutor(ctx context.Context, name string, traits agent.Traits) finding {
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
		return finding{"executor", warning, name + " does not report its version: " + view.Line(err.Error()), ""}
	}
	return finding{"executor", fine, strings.TrimSpace(name + " " + version), ""}
}

func (a *app) checkWorkflows(p *hocket.Project) []finding {
	var list []finding
	for _, name := range p.Workflows() {
		f := finding{"workflow", fine, name, ""}
		w, err := p.Load(name)
		if err != nil {
			f = brokenBy("workflow", err)
		} else if found := w.Check(nil).Mistakes(); len(found) > 0 {
			f.Found, f.Remedy = name+": "+view.Tally(found), "run `hocket check "+name+"` to see them"
			f.State = warning
			if found.Errors() {
				f.State = broken
			}
		}
		list = append(list, f)
	}
	return list
}

// checkSandbox reports whether the permissions of tools that are programs are enforced.
func (a *app) checkSandbox(p *hocket.Project) finding {
	e := p.ToolEnforcement()
	needed := slices.ContainsFunc(p.Tools(), hocket.IsProgram)
	const held = "the permissions of tool programs are enforced"
	switch {
	case e.Held && len(e.Gaps) == 0:
		return finding{"sandbox", fine, held, ""}
	case e.Held:
		return finding{"sandbox", fine, held + ", except: " + strings.Join(e.Gaps, "; "), ""}
	case !needed:
		return finding{"sandbox", absentHere, "the permissions of tool programs would not be enforced: " + e.Why, ""}
	case p.Config().Sandbox == "required":
		return finding{"sandbox", broken, "tools that are programs cannot run: " + e.Why, "to run them without a sandbox, remove `sandbox: required` from config.yml"}
	}
	return finding{"sandbox", warning, "the permissions of tool programs are not enforced; they can do whatever you can: " + e.Why, ""}
}

// checkState checks the state directory without creating it.
func checkState(ctx context.Context, p *hocket.Project) []finding {
	place := p.State()
	for !isDir(place) && filepath.Dir(place) != place {
		place = filepath.Dir(place)
	}
	state := finding{"state", fine, p.State(), ""}
	if err := writable(place); err != nil {
		state = finding{"state", broken, err.Error(), "make " + place + " writable, or choose another directory with --state DIR"}
	}
	return slices.Concat([]finding{state}, checkDriver(ctx, p), checkWorkspaces(p), []finding{checkDisk(place)})
}

// checkDriver checks where runs are stored.
func checkDriver(ctx context.Context, p *hocket.Project) (list []finding) {
	if p.Driver() == "" {
		return []finding{checkJournal(ctx, p)}
	}
	found, err := p.CheckDriver(ctx)
	if untrusted := (*hocket.UntrustedError)(nil); errors.As(err, &untrusted) {
		return []finding{{"driver", warning, p.Driver() + ": not checked, because you do not trust the project", "run `hocket trust` to review where it sends runs"}}
	}
	if err != nil {
		return []finding{brokenBy("driver", err)}
	}
	for _, f := range found {
		one := finding{f.What, fine, f.Found, f.Remedy}
		if f.Broken {
			one.State = broken
		} else if f.Remedy != "" {
			one.State = warning
		}
		list = append(list, one)
	}
	return list
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".hocket-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func checkJournal(ctx context.Context, p *hocket.Project) finding {
	n, err := p.CheckRuns(ctx)
	switch {
	case err != nil:
		return brokenBy("journal", err)
	case n < 0:
		return finding{"journal", fine, "none yet; the first run creates it", ""}
	}
	return finding{"journal", fine, "intact, " + view.Count(n, "run"), ""}
}

func brokenBy(what string, err error) finding {
	text, remedy := explain(err)
	return finding{what, broken, strings.TrimPrefix(text, "agent: "), remedy}
}

// checkWorkspaces says how much space the workspaces of steps take.
func checkWorkspaces(p *hocket.Project) []finding {
	size := p.WorkspaceSize()
	if size == 0 {
		return nil
	}
	return []finding{{"workspaces", fine, view.Bytes(uint64(size)) + " for steps that have their own", ""}}
}

// checkLanding reports a run that has landed its change only partly.
func checkLanding(ctx context.Context, p *hocket.Project) []finding {
	run, err := p.HalfLanded(ctx)
	if err != nil {
		return []finding{brokenBy("landing", err)}
	}
	if run == "" {
		return nil
	}
	remedy := "resume or cancel the run in its project"
	if r, err := p.Run(ctx, run); err == nil {
		remedy = landingRemedy(ctx, r)
	}
	return []finding{{"landing", warning, halfLanded(run), remedy}}
}

// halfLanded says that a run has landed its change only partly.
func halfLanded(run string) string {
	return "the process of run " + run + " was killed while it landed a change, and a part of that is in your files"
}

// landingRemedy says what to do about a run that has landed its change only partly.
func landingRemedy(ctx context.Context, r *hocket.Run) string {
	remedy := "to take it back: `hocket cancel " + r.ID() + "`"
	if info, err := r.Info(ctx); err != nil || !info.Status.Done() {
		remedy = "to finish it: `hocket resume " + r.ID() + "`; " + remedy
	}
	return remedy
}

// halfLandedText warns of a run that has landed its change only partly; "" if it has not, or if that is not known.
func halfLandedText(ctx context.Context, r *hocket.Run, style view.Style) string {
	if half, err := r.HalfLanded(ctx); !half || err != nil {
		return ""
	}
	return style.Paint(view.Yellow, "warning") + ": " + halfLanded(r.ID()) + "\n    " + landingRemedy(ctx, r) + "\n"
}

// lowDisk is the free space under which a long run may fail.
const lowDisk = 500 << 20

func checkDisk(dir string) finding {
	free, known := freeDisk(dir)
	switch {
	case !known:
		return finding{"disk", warning, "cannot determine the free space", ""}
	case free < lowDisk:
		return finding{"disk", warning, "only " + view.Bytes(free) + " free", "free up some space, or choose another directory with --state DIR"}
	}
	return finding{"disk", fine, view.Bytes(free) + " free", ""}
}

func checkGit() []finding {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return []finding{{"git", warning, "not found", "install git if your workflows use a repository"}}
	}
	return []finding{{"git", fine, strings.TrimSpace(string(out)), ""}}
}

func (a *app) checkTerminal() []finding {
	f, ok := terminal(a.std.Err)
	if !ok {
		return []finding{{"terminal", fine, "none; progress is shown as plain lines", ""}}
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
