package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/workflow"
)

// testFlags are the flags of test.
type testFlags struct {
	record, live, watch bool
	junit, draw, output string
	least               float64
}

func (a *app) testVerb() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [FILE|NAME...] [FLAGS]",
		Short: "Test workflows with scripted replies and recordings",
		Long: `Run the tests in .hocket/tests and its folders: each case runs a workflow from its start to its end, in
a directory of its own, with scripted replies or recordings instead of agents and people,
and compares what happened with what it expects. Time is virtual: a question that waits
for a day takes no time. No agent, program or server is used, except for commands in cases
with "exec: true".

Name files, folders, or cases by their names, to run only those. The exit code is 1 if a case fails, and 2 if a
file that it needs is invalid.

With --record, the cases that name a cassette run with real agents, which may cost money,
and write it. With --live they run with real agents, and report what differs from it.`,
		Example: `  hocket test
  hocket test review
  hocket test "review/the judge is never content"

  # Show what no test uses
  hocket test --draw tree

  # In a pipeline
  hocket test --junit report.xml --min-coverage 90

  # Record what the agents do, then test without them
  hocket test review --record`,
		ValidArgsFunction: a.completeTests,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(a.json); err != nil {
				return err
			}
			if f.watch {
				return a.watchTests(cmd.Context(), args, &f)
			}
			return a.test(cmd.Context(), args, &f)
		},
	}
	cmd.Flags().BoolVar(&f.record, "record", false, "run the real agents, and record them in the cassettes of the cases")
	cmd.Flags().BoolVar(&f.live, "live", false, "run the real agents, and report what differs from the cassettes")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write a JUnit report to `FILE`")
	cmd.Flags().Float64Var(&f.least, "min-coverage", 0, "fail if less than `N` percent is covered")
	cmd.Flags().StringVar(&f.draw, "draw", "", "draw what is covered, as `FORMAT`: "+strings.Join(draw.MarkedForms(), ", "))
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write the drawings to `DIR`, one file for each workflow")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "run the tests again whenever a file of the project changes")
	complete(cmd, "draw", cobra.FixedCompletions(draw.MarkedForms(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *testFlags) check(json bool) error {
	switch {
	case f.record && f.live:
		return usagef("record first, then compare", "--record and --live cannot be combined")
	case f.watch && (f.record || f.live):
		return usagef("real agents would run at every change", "--watch cannot be combined with --record or --live")
	case f.least < 0 || f.least > 100:
		return usagef("use a number of percent, such as 90", "invalid --min-coverage %g", f.least)
	case f.draw != "" && !slices.Contains(draw.MarkedForms(), f.draw):
		return usagef("expected one of: "+strings.Join(draw.MarkedForms(), ", "), "invalid --draw %q", f.draw)
	case f.output != "" && f.draw == "":
		return usagef("add --draw svg, for instance", "--output needs --draw")
	case f.output == "" && (f.draw == "svg" || f.draw != "" && json):
		return usagef("add --output DIR", "--draw %s needs --output here", f.draw)
	}
	return nil
}

// mode returns what makes attempts.
func (f *testFlags) mode() trial.Mode {
	switch {
	case f.record:
		return trial.Record
	case f.live:
		return trial.Live
	}
	return trial.Replay
}

// test runs the cases with these names, or all.
func (a *app) test(ctx context.Context, names []string, f *testFlags) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	began := time.Now()
	cases, all, err := a.cases(p, names)
	if err != nil {
		if len(all) > 0 && f.junit != "" { // who reads only the report has to know
			return cmp.Or(a.junit(p, f.junit, all, began), err)
		}
		return err
	}
	if f.mode() != trial.Replay && !slices.ContainsFunc(cases, func(c *trial.Case) bool { return c.Cassette != "" }) {
		return usagef("name one in the case, such as `cassette: cassettes/"+cases[0].File.Name+".yml`", "no case names a cassette, so there is nothing to record or to compare")
	}
	o := trial.Options{Host: a.hostOptions(), Mode: f.mode(), Parallel: 2 * runtime.GOMAXPROCS(0)}
	if f.mode() != trial.Replay {
		lines := a.newLines(&workflow.Bundle{Root: &workflow.Workflow{}})
		person := sync.OnceValue(func() bool { return a.onlyPerson("answer") == nil })
		o.People = asker{lines, person}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer onSignal(func() { stop(errInterrupted) }, func() {})()
	show := func(out *trial.Outcome) {
		if !a.json {
			_ = a.print(a.caseText(out))
		}
	}
	for _, broken := range all {
		show(broken)
	}
	err = trial.Run(ctx, p.Root(), cases, o, func(out *trial.Outcome) {
		all = append(all, out)
		show(out)
	})
	if ctx.Err() != nil {
		return exitError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	covered := trial.CoverageOf(all)
	var unwritten error
	if f.junit != "" {
		unwritten = a.junit(p, f.junit, all, began)
	}
	if a.json {
		err = a.printJSON(testReport(p.Root(), all, covered))
	} else {
		err = a.print(a.summary(all, covered, time.Since(began)))
	}
	err = cmp.Or(err, unwritten)
	if err == nil && f.draw != "" {
		err = a.drawCoverage(ctx, covered, f)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(o *trial.Outcome) bool { return o.Invalid.Errors() }) {
		return exitError(exitUsage)
	}
	if slices.ContainsFunc(all, func(o *trial.Outcome) bool { return !o.Passed() }) {
		return exitError(exitFailed)
	}
	if covered.Percent() < f.least {
		a.note(fmt.Sprintf("%s: %s is covered, less than %g%%\n", a.errStyle.Paint(view.BoldRed, "error"), percentText(covered.Percent()), f.least))
		return exitError(exitFailed)
	}
	return nil
}

// junit writes a report for other programs.
func (a *app) junit(p *hocket.Project, file string, all []*trial.Outcome, began time.Time) error {
	var report bytes.Buffer
	if err := trial.JUnit(&report, p.Root(), all, began); err != nil {
		return err
	}
	return os.WriteFile(a.outPath(file), report.Bytes(), 0o666)
}

// cases reads the test files of a project, and returns the cases with these names. Files with mistakes matter only if all
// are wanted, or their cases are; broken are outcomes that say what is wrong with them. They are an error if there is
// nothing else.
func (a *app) cases(p *hocket.Project, names []string) (cases []*trial.Case, broken []*trial.Outcome, err error) {
	files, wrong, err := trial.ReadAll(p.Root(), p.ReadFile)
	if err != nil {
		return nil, nil, err
	}
	var all []*trial.Case
	for _, f := range files {
		all = append(all, f.Cases...)
	}
	cases, err = a.chosen(all, names)
	named := func(f *trial.File) bool {
		return slices.ContainsFunc(names, func(name string) bool { return a.isNamed(&trial.Case{File: f}, name) })
	}
	if slices.ContainsFunc(files, func(f *trial.File) bool { return named(f) && wrong[f].Errors() }) {
		err = nil // it may have no cases because of its mistakes
	}
	var found workflow.Diagnostics
	for _, f := range files {
		chosen := len(names) == 0 || err != nil || slices.ContainsFunc(cases, func(c *trial.Case) bool { return c.File == f }) || named(f)
		if chosen && wrong[f].Errors() {
			found = append(found, wrong[f]...)
			broken = append(broken, &trial.Outcome{Case: &trial.Case{File: f, Name: "the file"}, Invalid: wrong[f]})
		}
	}
	cases = slices.DeleteFunc(cases, func(c *trial.Case) bool { return wrong[c.File].Errors() })
	if found.Errors() && len(cases) == 0 {
		return nil, broken, &diagnosticsError{found}
	}
	return cases, broken, err
}

// chosen returns the cases with these names, or all.
func (a *app) chosen(all []*trial.Case, names []string) ([]*trial.Case, error) {
	if len(all) == 0 {
		return nil, usagef("make one of a run with `hocket cassette RUN`, or write one: `hocket schema test` prints what it may contain", "the project has no tests in %s", trial.Dir)
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []*trial.Case
	known := []string{}
	for _, name := range names {
		before := len(chosen)
		for _, c := range all {
			known = append(known, c.File.Name, c.ID())
			if a.isNamed(c, name) && !slices.Contains(chosen, c) {
				chosen = append(chosen, c)
			}
		}
		if len(chosen) == before {
			hint := workflow.DidYouMean(name, known)
			if hint == "" {
				hint = "name a file of " + trial.Dir + ", or a case as FILE/NAME"
			}
			return nil, usagef(hint, "no test has the name %q", name)
		}
	}
	return chosen, nil
}

func (a *app) isNamed(c *trial.Case, name string) bool {
	if slices.Contains([]string{c.File.Name, c.Name, c.ID(), c.Workflow}, name) || strings.HasPrefix(c.File.Name, strings.TrimSuffix(name, "/")+"/") {
		return true
	}
	file, err := filepath.Abs(a.path(name))
	if real, wrong := filepath.EvalSymlinks(file); wrong == nil {
		file = real
	}
	return err == nil && file == c.File.Path
}

// watchTests runs the tests whenever a file of the project changes.
func (a *app) watchTests(ctx context.Context, names []string, f *testFlags) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer onSignal(func() { stop(errInterrupted) }, func() {})()
	p, err := a.openProject()
	if err != nil {
		return err
	}
	before := ""
	for ctx.Err() == nil {
		if now := trial.Stamp(p.Root()); now != before {
			before = now
			if err := a.test(ctx, names, f); err != nil && ctx.Err() == nil {
				a.exit(err)
			}
			a.note(a.errStyle.Paint(view.Dim, "waiting for changes; stop with Ctrl-C") + "\n")
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return exitError(exitInterrupted)
}

// completeTests completes the names of test files and cases.
func (a *app) completeTests(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	p, err := a.openProject()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	files, _, err := trial.ReadAll(p.Root(), p.ReadFile)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		for _, c := range f.Cases {
			names = append(names, c.ID())
		}
	}
	return typeable(names), cobra.ShellCompDirectiveDefault
}

// drawCoverage draws the workflows, with what no case uses marked.
func (a *app) drawCoverage(ctx context.Context, c *trial.Coverage, f *testFlags) error {
	extensions := map[string]string{"tree": ".txt", "mermaid": ".mmd", "svg": ".svg"}
	for _, w := range c.Workflows {
		text, err := draw.Marked(ctx, w.Model, f.draw, w.Marks())
		if err != nil {
			return err
		}
		if f.output == "" {
			if err := a.print("\n" + text); err != nil {
				return err
			}
			continue
		}
		dir := a.outPath(f.output)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := wholefile.Write(filepath.Join(dir, fileName(w.Name)+extensions[f.draw]), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fileName returns the name of a workflow as that of a file: a workflow may be called anything.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '-'
		}
		return r
	}, strings.TrimLeft(name, "."))
}
