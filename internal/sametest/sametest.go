// Package sametest plays the scenarios of the conformance suite through the Go API. A scenario is a workflow in four
// notations, with replies, and the steps and results that a run of it has in each of them, whatever drives it.
package sametest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// Play plays each scenario in a project with options and, if it is not "", a driver with workers, of which this
// process is one. The file "received" in a scenario lists what its tasks received through their edges; update writes it. The lines above
// the first file are read by [Read].
func Play(t *testing.T, root string, o hocket.Options, driver string, update bool) {
	files, err := filepath.Glob(filepath.Join(root, "cli/testdata/same/*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &scenario{T: t, o: o, driver: driver, update: update, file: file, archive: archive, dir: t.TempDir(), files: map[string][]byte{}}
			for _, f := range archive.Files {
				s.files[f.Name] = f.Data
			}
			s.about = Read(t, archive)
			for line := range strings.Lines(string(archive.Comment)) {
				if flags, ok := strings.CutPrefix(line, "flags: --input "); ok {
					s.inputs = append(s.inputs, strings.TrimSpace(flags))
				}
			}
			s.run()
		})
	}
}

type scenario struct {
	*testing.T
	o       hocket.Options
	driver  string
	update  bool
	file    string
	archive *txtar.Archive
	dir     string
	files   map[string][]byte
	inputs  []string
	about   About
}

// scenarioProject holds the files that the scenarios need to pass the checks: an agent
// for every task.
var scenarioProject = map[string]string{
	".hocket/config.yml": "agent: anyone\nworkflows: {budgets: {max_steps: 10000}}\n",
	".hocket/agents/anyone.yml": "agent: shell\nsettings: {command: [cat]}\n" +
		"capabilities: [bank, clerk, triage, fixer, designer, researcher, writer, publisher, Analyzer, SecurityScanner, Reviewer, Reporter]\n",
	".hocket/agents/browser.yml": "agent: shell\nsettings: {command: [cat]}\n",
	".hocket/agents/llm.yml":     "agent: shell\nsettings: {command: [cat]}\n",
}

func (s *scenario) run() {
	for name, text := range scenarioProject {
		s.files[name] = []byte(text)
	}
	if s.driver != "" {
		s.files[".hocket/config.yml"] = append(s.files[".hocket/config.yml"], "driver: "+s.driver+"\n"...)
	}
	notations := []string{"flow.yml", "flow.md", "flow.xml", "flow.puml"}
	if !s.about.Repository {
		s.play(notations)
		return
	}
	for _, name := range notations {
		s.dir = s.TempDir()
		s.play([]string{name})
		if want, got := string(s.files["left"]), Left(s.T, s.dir); got != want {
			s.Errorf("%s: the repository has\n%s\nnot\n%s", name, got, want)
		}
	}
}

// play runs the workflow in some notations, in one project.
func (s *scenario) play(notations []string) {
	for name, text := range s.files {
		s.write(filepath.Join(s.dir, name), text)
	}
	if s.about.Repository {
		Repository(s.T, s.dir)
	}
	o := s.o
	o.State = filepath.Join(s.dir, ".state")
	p, err := hocket.Open(s.dir, o)
	if err != nil {
		s.Fatal(err)
	}
	defer p.Close()
	if s.driver != "" {
		defer s.work(p)()
	}
	for _, name := range notations {
		trace, received, parallel := s.trace(p, name)
		want := string(s.files["trace"])
		if s.driver != "" && parallel { // how fast it is decides which of two branches comes first
			trace, want = inAnyOrder(trace), inAnyOrder(want)
		}
		if trace != want {
			s.Errorf("%s: the trace is\n%s\nnot\n%s", name, trace, want)
		}
		if s.update {
			s.keep("received", received)
		}
		if want := string(s.files["received"]); received != want {
			s.Errorf("%s: its tasks receive\n%s\nnot\n%s", name, received, want)
		}
	}
}

// work makes this process a worker of the project until stop is called.
func (s *scenario) work(p *hocket.Project) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Work(ctx, hocket.Worker{AcceptAny: true}) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	}
}

func inAnyOrder(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// keep rewrites a file of the scenario.
func (s *scenario) keep(name, text string) {
	s.files[name] = []byte(text)
	s.archive.Files = slices.DeleteFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if text != "" {
		s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	if err := os.WriteFile(s.file, txtar.Format(s.archive), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *scenario) trace(p *hocket.Project, name string) (trace, received string, parallel bool) {
	ctx := context.Background()
	w, err := p.Load(name)
	if err != nil {
		s.Fatal(err)
	}
	replies, found := hocket.ReadReplies("replies.yml", s.files["replies.yml"])
	if found.Errors() {
		s.Fatal(found)
	}
	inputs, found := w.Inputs(nil, s.inputs)
	if found.Errors() {
		s.Fatal(found)
	}
	run, err := p.Start(ctx, w, inputs, hocket.WithReplies(replies))
	if err != nil {
		s.Fatal(err)
	}
	res, err := run.Wait(ctx)
	if err != nil {
		s.Fatal(err)
	}
	for _, a := range s.about.Answers {
		res = s.answer(ctx, run, a)
	}
	s.sameAgain(ctx, run, res)
	received, parallel = s.received(ctx, run)
	return Masked(traceOf(res)), received, parallel
}

// answer answers a question of a waiting run, and waits until the run ends or waits again.
func (s *scenario) answer(ctx context.Context, run *hocket.Run, a Answer) engine.Result {
	open, err := run.Questions(ctx)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(open, func(q hocket.Question) bool { return q.Address == a.Address })
	if i < 0 {
		s.Fatalf("%s does not ask; the open questions are %+v", a.Address, open)
	}
	if _, err := run.Answer(ctx, open[i].ID, hocket.Answer{Value: a.Value, Digest: open[i].Digest}); err != nil {
		s.Fatal(err)
	}
	if err := run.Resume(ctx); err != nil {
		s.Fatal(err)
	}
	res, err := run.Wait(ctx)
	if err != nil {
		s.Fatal(err)
	}
	return res
}

// received returns what the edges of a run passed to its tasks. No result shows it, so it
// is read from the engine's requests. They also show whether tasks were parallel.
func (s *scenario) received(ctx context.Context, run *hocket.Run) (received string, parallel bool) {
	bundle, err := run.Bundle(ctx)
	if err != nil {
		s.Fatal(err)
	}
	again, err := engine.New(bundle)
	if err != nil {
		s.Fatal(err)
	}
	var lines []string
	open := 0 // attempts
	for e, err := range run.Recorded(ctx) {
		if err != nil {
			s.Fatal(err)
		}
		commands, err := again.Step(e)
		if err != nil {
			s.Fatal(err)
		}
		if _, ok := e.Event.(*engine.TaskEnded); ok {
			open--
		}
		for _, c := range commands {
			start, ok := c.(*engine.StartTask)
			if !ok {
				continue
			}
			open++
			if start.Attempt == 1 && len(start.Received) > 0 {
				lines = append(lines, start.Address+printReceived(start.Received)+"\n")
			}
		}
		parallel = parallel || open > 1
	}
	slices.Sort(lines)                                       // parallel steps start in any order
	return strings.Join(slices.Compact(lines), ""), parallel // an attempt that asked is made again with the answer
}

func printReceived(list []engine.Received) string {
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, " from %s %s", r.Step, compact(r.Output))
		if r.Decision != "" {
			fmt.Fprintf(&b, " decision=%q", r.Decision)
		}
		if r.Reason != "" {
			fmt.Fprintf(&b, " reason=%q", r.Reason)
		}
	}
	return b.String()
}

// sameAgain expects that a result survives a round trip through JSON, and that replaying
// the run's events leads to it.
func (s *scenario) sameAgain(ctx context.Context, run *hocket.Run, res engine.Result) {
	data, err := json.Marshal(res)
	if err != nil {
		s.Fatal(err)
	}
	var received engine.Result
	if err := json.Unmarshal(data, &received); err != nil {
		s.Fatal(err)
	}
	if again, err := json.Marshal(received); err != nil || string(again) != string(data) {
		s.Errorf("through JSON, the result is\n%s\nnot\n%s (%v)", again, data, err)
	}
	state, err := run.State(ctx)
	if err != nil {
		s.Fatal(err)
	}
	again, err := json.Marshal(state.Result)
	if err != nil || string(again) != string(data) {
		s.Errorf("the history leads to\n%s\nnot\n%s (%v)", again, data, err)
	}
}

func traceOf(res engine.Result) string {
	var b strings.Builder
	for _, step := range res.Steps {
		fmt.Fprintf(&b, "%s %s", step.Address, step.Status)
		if step.Attempts > 1 {
			fmt.Fprintf(&b, " ×%d", step.Attempts)
		}
		if step.Output != nil && step.Output != "" {
			fmt.Fprintf(&b, " %s", compact(step.Output))
		}
		if step.Error != "" {
			fmt.Fprintf(&b, " %s", compact(step.Error))
		}
		b.WriteByte('\n')
	}
	code := 1
	switch {
	case slices.Contains([]engine.Status{engine.Success, engine.Partial}, res.Status):
		code = 0
	case res.Status == engine.Waiting:
		code = 3
	}
	fmt.Fprintf(&b, "= %s %s, exit code %d\n", res.Status, compact(res.Output), code)
	for _, w := range res.Warnings {
		fmt.Fprintf(&b, "! %s\n", w)
	}
	return b.String()
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *scenario) write(file string, text []byte) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		s.Fatal(err)
	}
}
