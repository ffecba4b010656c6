package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/oracle"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// TestRandom writes random workflows to files, in random notations, and has the program
// run them with random replies. Some runs are killed and resumed, and people answer from
// other processes. The recorded events and the outcome must be those that the model of
// the rules predicts.
func TestRandom(t *testing.T) {
	met, pace := map[string]int{}, new(time.Duration)
	for n := range *workflows {
		if *only >= 0 && *only != n {
			continue
		}
		random := rand.New(rand.NewPCG(*seed, uint64(n)))
		b := sound(random)
		r := &trial{
			t: t, Rand: random, number: n, bundle: b, replies: randomReplies(random, b), inputs: randomInputs(random, b),
			answers: map[string][]string{}, met: met, pace: pace,
		}
		r.write()
		r.play()
		r.judge()
		r.project.remove() // a thousand of them would fill a small disk
	}
	t.Logf("%d runs met %v", *workflows, met)
	for _, what := range []string{
		"yaml", "xml", "mermaid", "plantuml", "json", "killed", "resumed", "answered",
		"task", "choice", "asked choice", "human", "call", "combine", "each", "loop", "join", "error edge",
		"TimerFired", "Answered", "Recovered", "success", "partial", "error", "timeout", "cancelled",
	} {
		if *workflows >= 1000 && met[what] == 0 {
			t.Errorf("no run met: %s", what)
		}
	}
}

// trial is one random workflow and its run.
type trial struct {
	*rand.Rand
	t       *testing.T
	number  int
	project project
	bundle  *workflow.Bundle
	replies replies
	inputs  map[string]any
	answers map[string][]string // the answers given, by question
	raises  int
	file    string // of the workflow
	run     string
	met     map[string]int
	pace    *time.Duration // how long a command took
}

// write writes the files of the workflow, and those that it needs.
func (r *trial) write() {
	r.t.Helper()
	files := map[string]string{"replies.json": workflow.FormatJSON(r.replies), "inputs.json": workflow.FormatJSON(r.inputs)}
	for _, w := range check.Workflows(*r.bundle) {
		notation, _ := syntax.Named(syntax.Notations()[r.IntN(len(syntax.Notations()))])
		text, err := notation.Format(w)
		if err != nil {
			r.t.Fatalf("%v\n%s", err, workflow.Print(w))
		}
		r.met[notation.Name]++
		name := w.Name + notation.Endings[0]
		files[name] = string(text)
		if w == r.bundle.Root {
			r.file = name
		}
		w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
			r.met[n.Kind()]++
			if c, ok := n.Step.(*workflow.Choice); ok && c.Ask != nil {
				r.met["asked choice"]++
			}
			if n.Join.Need > 0 {
				r.met["join"]++
			}
			if slices.ContainsFunc(g.Edges, func(e workflow.Edge) bool { return e.From == n.ID && e.On == workflow.OnFailure }) {
				r.met["error edge"]++
			}
		})
	}
	r.project = newProject(r.t, files)
}

func randomInputs(random *rand.Rand, b *workflow.Bundle) map[string]any {
	inputs := map[string]any{}
	for _, in := range check.RequiredInputs(*b) {
		inputs[in.Name] = "given"
		if in.Name == "items" {
			inputs[in.Name] = []any{"i", "j", "k"}[:random.IntN(4)]
		}
	}
	return inputs
}

// limits returns flags for the whole run.
func (r *trial) limits() (flags []string) {
	for flag, value := range map[string]string{
		"--max-steps": fmt.Sprint(4 + r.IntN(20)), "--max-parallel": fmt.Sprint(1 + r.IntN(4)), "--max-runtime": fmt.Sprint(time.Duration(1+r.IntN(600)) * time.Millisecond),
		"--max-cost": "0.1", "--max-tokens": "30",
	} {
		flags = append(flags, flag+"="+value)
	}
	slices.Sort(flags)
	r.Shuffle(len(flags), func(i, j int) { flags[i], flags[j] = flags[j], flags[i] })
	return flags[:r.IntN(3)*r.IntN(2)]
}

// shown is the part of the output of `hocket show` that the test uses.
type shown struct {
	Digest  string
	Status  engine.Status
	Output  any
	Error   *string
	Waiting []waiting
	Steps   []struct {
		Address  string
		Status   engine.Status
		Output   any
		Attempts int
	}
	Usage struct {
		Steps     int
		CostUSD   *float64 `json:"cost_usd"`
		TokensIn  int64    `json:"tokens_in"`
		TokensOut int64    `json:"tokens_out"`
	}
}

// waiting is something that a run waits for.
type waiting struct {
	Address, For, Question string
	Options                []workflow.Option
	Custom                 bool
	Deadline               time.Time
}

func (r *trial) show() (s shown) {
	r.t.Helper()
	got := r.project.call("show", r.run, "--json")
	if got.code != 0 {
		r.t.Fatalf("show: %s", got.err)
	}
	dec := json.NewDecoder(strings.NewReader(got.out))
	dec.UseNumber()
	if err := dec.Decode(&s); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// play runs the workflow to its end.
func (r *trial) play() {
	r.t.Helper()
	args := append([]string{"run", r.file, "--replies", "replies.json", "--inputs", "inputs.json", "--quiet"}, r.limits()...)
	harsh := r.IntN(3) == 0 // this run is killed now and then
	for range 200 {
		began := time.Now()
		if harsh && r.IntN(3) > 0 {
			r.project.kill(time.Duration(r.Float64()*1.5*float64(*r.pace)), args...)
			r.met["killed"]++
		} else if got := r.project.call(args...); got.code == 2 {
			r.t.Fatalf("%s\n%s%s\n%s", strings.Join(args, " "), got.out, got.err, r.story())
		} else {
			*r.pace = time.Since(began)
		}
		if r.run == "" {
			runs := r.project.runs()
			if len(runs) == 0 {
				continue
			}
			r.run = runs[0]
		}
		s := r.show()
		if !slices.Contains([]engine.Status{engine.Running, engine.Waiting, "interrupted", "pending"}, s.Status) {
			r.met[string(s.Status)]++
			return
		}
		r.act(s)
		args = []string{"resume", r.run, "--quiet"}
		r.met["resumed"]++
	}
	r.t.Fatalf("the run does not end\n%s", r.story())
}

// act answers a question, or cancels the run.
func (r *trial) act(s shown) {
	r.t.Helper()
	if r.IntN(20) == 0 {
		r.project.call("cancel", r.run)
		return
	}
	questions := slices.DeleteFunc(s.Waiting, func(w waiting) bool { return w.For == "time" })
	if len(questions) == 0 {
		return
	}
	q := questions[r.IntN(len(questions))]
	value := []string{"b", "custom", "It is a."}[r.IntN(3)]
	if len(q.Options) > 0 && (!q.Custom || r.IntN(2) == 0) {
		value = q.Options[r.IntN(len(q.Options))].Value
	}
	if q.For == "budget" && q.Custom && r.IntN(8) > 0 { // otherwise it is given up
		r.raises++
		value = fmt.Sprint(0.5 * float64(r.raises))
		if strings.Contains(q.Question, " tokens") {
			value = fmt.Sprint(50 * r.raises)
		}
	}
	r.answers[q.Address] = append(r.answers[q.Address], value)
	r.met["answered"]++
	got := r.project.call("answer", r.run, q.Address, value, "--comment", []string{"", "because"}[r.IntN(2)])
	if late := !q.Deadline.IsZero() && time.Now().After(q.Deadline); got.code != 0 && !late {
		r.t.Fatalf("answer %s %s: %s%s\n%s", q.Address, value, got.out, got.err, r.story())
	}
}

// judge compares the recorded events and the outcome with the model.
func (r *trial) judge() {
	r.t.Helper()
	run, err := engine.New(r.bundle)
	if err != nil {
		r.t.Fatal(err)
	}
	model, world, script := oracle.New(r.bundle), oracle.NewWorld(), newScript(r.replies)
	_, recorded := r.project.events(r.run)
	for line := range strings.Lines(recorded) {
		e, err := engine.Decode([]byte(strings.TrimSpace(line)))
		if err != nil {
			r.t.Fatal(err)
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(line, `{"type":"`), `"`)
		r.met[name]++
		if err := r.mayHappen(e, world, script); err != nil {
			r.t.Fatalf("%s%v\n%s", line, err, r.story())
		}
		world.Happened(e.Event)
		script.happened(e.Event)
		commands, err := run.Step(e)
		if _, ok := e.Event.(*engine.Recovered); ok {
			commands = run.Pending()
		}
		if err == nil {
			script.commanded(commands)
			err = world.CarryOut(commands)
		}
		if err == nil {
			err = model.Step(e, commands, run.Facts())
		}
		if err == nil {
			err = model.Compare(run, world)
		}
		if err != nil {
			r.t.Fatalf("%s%v\n%s", line, err, r.story())
		}
	}
	r.compare(model.Outcome(), run.Usage())
}

// compare compares the outcome of the run with the expected one.
func (r *trial) compare(want []string, used engine.RunUsage) {
	r.t.Helper()
	s := r.show()
	if digest := workflow.Digest(r.bundle.Root); s.Digest != digest {
		r.t.Fatalf("the file was read as %s, and written as %s\n%s", s.Digest, digest, r.story())
	}
	if s.Usage.CostUSD != nil || !used.CostUnknown { // otherwise it is an estimate
		used.CostUSD = *s.Usage.CostUSD
	}
	used.Steps, used.TokensIn, used.TokensOut = s.Usage.Steps, s.Usage.TokensIn, s.Usage.TokensOut
	got := oracle.End(s.Status, s.Output, s.Error != nil, used)
	for _, step := range s.Steps {
		got = append(got, oracle.Step(step.Address, step.Status, step.Output, step.Attempts))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Fatalf("the run ended as\n%s\nand the model says\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), r.story())
	}
}

// mayHappen reports what is wrong with an event: a reply that is not the next one, an
// answer that was not given, or a timer that fired too early.
func (r *trial) mayHappen(e engine.Envelope, w *oracle.World, s *script) error {
	switch ev := e.Event.(type) {
	case *engine.Started:
		if got, want := workflow.FormatJSON(ev.Inputs), workflow.FormatJSON(r.inputs); len(ev.Inputs) != len(r.inputs) || len(r.inputs) > 0 && got != want {
			return fmt.Errorf("the inputs were %s", want)
		}
	case *engine.TaskEnded:
		want := s.open[ev.Address].reply
		if w.Stopped[ev.Address] {
			return nil
		}
		if !want.is(ev) {
			return fmt.Errorf("the reply was %s", workflow.FormatJSON(want))
		}
	case *engine.Answered:
		want := r.answers[ev.ID]
		if ev.By == "replies" {
			want = []string{s.open[ev.ID].reply.Output}
		}
		if !slices.Contains(want, ev.Value) {
			return fmt.Errorf("the answer was %q", want)
		}
	case *engine.TimerFired:
		t := w.Timers[ev.ID]
		if t == nil || e.Clock < t.Clock || e.Time.Before(t.At) {
			return fmt.Errorf("the timer was %+v", t)
		}
	}
	return nil
}

// story returns what the program was given, and what it recorded.
func (r *trial) story() string {
	var b strings.Builder
	fmt.Fprintf(&b, "repeat with: go test ./internal/chaos -run Random -seed %d -only %d -workflows %d\n", *seed, r.number, r.number+1)
	for _, w := range check.Workflows(*r.bundle) {
		b.WriteString(workflow.Print(w))
	}
	b.WriteString(workflow.FormatJSON(r.replies) + "\n" + workflow.FormatJSON(r.inputs) + "\n")
	if r.run != "" {
		_, recorded := r.project.events(r.run)
		b.WriteString(recorded)
	}
	return b.String()
}
