package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/workflow"
)

// stepData is a step of a run in full.
type stepData struct {
	Path     string // of the run
	API      string // of the step in the API
	Place    string
	Title    string
	Address  string
	Known    bool // it has started, or was skipped
	Step     engine.StepResult
	Cost     *float64
	Output   string
	Cut      bool // the output is longer
	Live     bool
	Done     bool // the run
	Others   []other
	More     int // instances that are not listed
	Attempts []attempt
	Answer   *engine.Answered // of a person

	Own bool // it works in a workspace of its own

	HasPrompt bool   // it can be repeated with a comment, or with another prompt
	Task      string // its prompt, if it is known
}

// other is an instance of the same node.
type other struct {
	Address, Status string
	Link            string
	This            bool
}

// attempt is what is stored about an attempt.
type attempt struct {
	Number int
	Model  string
	Live   bool
	Log    *log
	Prompt []section
	Script []entry
	Cut    bool // the transcript has more at its beginning
}

// log is the end of what an attempt wrote.
type log struct {
	API   string
	Start int64 // of Text in the whole
	Size  int64
	Text  string
}

const (
	shownOutput = 64 << 10
	shownLog    = 16 << 10
	shownScript = 512 << 10
	mostOthers  = 200
)

// step describes a step by its address, or that of its node: then the instance that is in progress, one that failed and was not repeated in
// a loop, or the last one.
func (s *site) step(ctx context.Context, in *server.InRun, run *hocket.Run, state *hocket.State, driven bool, address string) (*stepData, error) {
	d := &stepData{Path: runPath(in.Project, in.Run), Place: hocket.PlaceOf(address), Address: address, Done: state.Result.Status.Done()}
	exact, most := false, -1
	last := lastOf(state.Result.Steps)
	for i, step := range state.Result.Steps {
		if hocket.PlaceOf(step.Address) != d.Place {
			continue
		}
		step.Status = engine.Status(statusIn(&step, driven))
		live := step.Status == engine.Running || step.Status == engine.Waiting
		weight := 0
		switch {
		case live:
			weight = 2
		case step.Status != engine.Failed && step.Status != engine.TimedOut:
		case last[withoutIterations(step.Address)] == i:
			weight = 1
		}
		link := linkTo(step.Address, last[withoutIterations(step.Address)] != i)
		if this := link == address; !exact && (this || weight >= most) {
			d.Step, d.Known, d.Live, exact, most = step, true, live, this, weight
		}
		if d.Others = append(d.Others, other{Address: step.Address, Link: link, Status: string(step.Status)}); len(d.Others) > mostOthers {
			d.Others, d.More = d.Others[1:], d.More+1
		}
	}
	d.Title = d.Place[strings.LastIndexByte(d.Place, '/')+1:]
	n := state.Bundle.At(d.Place)
	if n != nil && d.Step.Prompt != "" {
		d.Title = headingWith(n.Repeats(), d.Step.Prompt)
	} else if n != nil && n.Heading() != "" {
		d.Title = n.Heading()
	}
	d.Own = n != nil && n.Repeats().Workspace == workflow.WorkspaceOwn && !lands(n.Repeats())
	if !d.Known {
		return d, state.CheckStep(address)
	}
	d.Address = d.Step.Address
	d.API = "/api" + d.Path + "/steps/" + url.PathEscape(d.Address)
	for i := range d.Others {
		d.Others[i].This = d.Others[i].Address == d.Address
	}
	if len(d.Others) == 1 && d.More == 0 {
		d.Others = nil
	}
	if !d.Step.Usage.CostUnknown {
		d.Cost = &d.Step.Usage.CostUSD
	}
	value, err := d.Step.Value()
	if err != nil {
		return nil, err
	}
	if value != nil {
		d.Output = plain(value)
		if len(d.Output) > shownOutput {
			d.Output, d.Cut = strings.ToValidUTF8(d.Output[:shownOutput], ""), true
		}
	}
	if isHuman(state.Bundle, d.Place) {
		d.Answer, err = answerTo(ctx, run, d.Address)
		return d, err
	}
	for n := d.Step.Attempts; n > 0; n-- { // the last one first
		a, err := s.attempt(ctx, run, d, n)
		if err != nil {
			return nil, err
		}
		d.Attempts = append(d.Attempts, a)
		if len(d.Attempts) == 10 {
			break
		}
	}
	d.HasPrompt, d.Task = promptOf(state.Bundle, d)
	return d, nil
}

// linkTo returns how a link names an instance of a step. The address of the first iteration is also that of the node, so it gets a number when
// a later one decides.
func linkTo(address string, past bool) string {
	if past && !strings.Contains(address, "#") {
		return address + "#1"
	}
	return address
}

// lands reports whether a step brings a workspace into the project. It changes none itself.
func lands(n *workflow.Node) bool {
	t := n.Task()
	return t != nil && t.Agent == workflow.LandAgent
}

// isHuman reports whether a person does the step at a place.
func isHuman(b *workflow.Bundle, place string) bool {
	n := b.At(place)
	if n == nil {
		return false
	}
	_, human := n.Repeats().Step.(*workflow.Human)
	return human
}

// answerTo returns the answer to the question of a step; nil if there is none.
func answerTo(ctx context.Context, run *hocket.Run, address string) (*engine.Answered, error) {
	var last *engine.Answered
	for e, err := range run.Recorded(ctx) {
		if err != nil {
			return nil, err
		}
		if a, ok := e.Event.(*engine.Answered); ok && a.ID == address {
			last = a
		}
	}
	return last, nil
}

func (s *site) attempt(ctx context.Context, run *hocket.Run, d *stepData, n int) (attempt, error) {
	kept, err := run.Kept(ctx, d.Address, n)
	if err != nil {
		return attempt{}, err
	}
	a := attempt{Number: n, Model: kept.Model, Live: d.Step.Status == engine.Running && n == d.Step.Attempts}
	api := d.API + "/attempts/" + strconv.Itoa(n) + "/"
	if kept.Sizes["output"] > 0 || a.Live {
		a.Log = tail(ctx, run, d.Address, n, "output", kept.Sizes["output"], api, a.Live)
	}
	if size := kept.Sizes["prompt"]; size > 0 {
		a.Prompt = sectionsOf(readAt(ctx, run, d.Address, n, "prompt", 0, readPrompt), api+"prompt")
	}
	if size := kept.Sizes["transcript"]; size > 0 {
		text := readAt(ctx, run, d.Address, n, "transcript", max(0, size-shownScript), shownScript)
		a.Script, a.Cut = entriesOf(text, size > shownScript), size > shownScript
	}
	return a, nil
}

// tail reads the end of a stream, from the beginning of a line or at least of a character. live means that more follows.
func tail(ctx context.Context, run *hocket.Run, address string, n int, stream hocket.Stream, size int64, api string, live bool) *log {
	l := &log{API: api + string(stream), Size: size, Start: max(0, size-shownLog)}
	text := readAt(ctx, run, address, n, stream, l.Start, shownLog)
	if l.Start > 0 {
		cut := beginning(text)
		l.Start, text = l.Start+int64(cut), text[cut:]
	}
	if live {
		text = text[:ending(text)]
	}
	l.Size = l.Start + int64(len(text))
	l.Text = readable(text)
	return l
}

func readAt(ctx context.Context, run *hocket.Run, address string, n int, stream hocket.Stream, at, limit int64) []byte {
	var text []byte
	for p, err := range run.Read(ctx, address, n, stream, at, false) {
		if err != nil {
			break // what could be read is shown
		}
		text = append(text, p.Text...)
		if int64(len(text)) >= limit {
			return text[:limit]
		}
	}
	return text
}

// promptOf reports whether the step of a run is a task with a prompt, and returns the prompt of its last attempt.
func promptOf(b *workflow.Bundle, d *stepData) (bool, string) {
	written := promptAt(b, d.Place)
	if d.Step.Prompt != "" {
		return true, d.Step.Prompt // a person gave it one
	}
	for _, a := range d.Attempts {
		for _, s := range a.Prompt {
			if s.Title == taskTitle && s.All == "" {
				return written != "", s.Text
			}
		}
	}
	if strings.Contains(written, "${") {
		return true, "" // what it refers to is not known here
	}
	return written != "", written
}

// promptAt returns the prompt of the task at a place, as it is written; "" if there is none.
func promptAt(b *workflow.Bundle, place string) string {
	n := b.At(place)
	if n == nil {
		return ""
	}
	if t := n.Repeats().Task(); t != nil {
		return t.Prompt.Text
	}
	return ""
}

// earlier is a step that work can be sent back to.
type earlier struct{ Address, Title string }

const mostEarlier = 50

// earlierSteps returns the tasks with a prompt that are done and lead to a question, the last one first.
func earlierSteps(state *hocket.State, question string) []earlier {
	before := trailTo(state.Bundle, question)
	var all []earlier
	for _, step := range slices.Backward(state.Result.Steps) {
		place := hocket.PlaceOf(step.Address)
		if (step.Status != engine.Success && step.Status != engine.Partial) || promptAt(state.Bundle, place) == "" || !before.has(step.Address) {
			continue
		}
		title := step.Address
		if n := state.Bundle.At(place); n.Heading() != "" {
			title = n.Heading() + " (" + step.Address + ")"
		}
		if all = append(all, earlier{step.Address, title}); len(all) == mostEarlier {
			break
		}
	}
	return all
}

// Took returns how long the step took.
func (d *stepData) Took() time.Duration { return time.Duration(d.Step.DurationMS) * time.Millisecond }
