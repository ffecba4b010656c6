package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// given is an input that a run was started with.
type given struct{ Name, Value string }

type runData struct {
	*server.Run
	Path      string
	Drawing   *drawn // nil: only parts are shown
	Nodes     []*node
	Decided   string  // which edges were taken, for the module of the page
	Open      string  // addresses and states of the steps in progress, for the module of the page
	Latest    string  // the same of the last iterations of steps in loops
	Given     []given // its inputs
	Output    string
	Timeline  *timeline
	Figures   string    // what the list says about nodes that have started, for the module of the page
	Detail    *stepData // nil: none is chosen
	Step      string    // that was chosen
	InProcess bool
	CanResume bool
	CanRetry  bool
	CanDelete bool
	As        string // the notation that was chosen for the source
	Notations []notation
	written   // what the run runs, in that notation
	Questions []card

	query url.Values // what was chosen
}

// node is a node of the workflow, with what became of its instances.
type node struct {
	Place   string // its address without iterations and items
	Title   string
	ID      string
	Kind    string
	Agent   string
	Depth   int
	Holds   bool           // other nodes: its state is theirs
	Counts  map[string]int // instances by status
	Past    map[string]int // those of earlier iterations: a later one decides what became of the node
	Status  string
	Took    time.Duration // in which an instance was in progress
	Since   time.Time     // of the first that is in progress
	CostUSD float64
	Cost    bool // whether it is known
	Tokens  int64
	Text    string // the error or the beginning of the output of the last instance

	repeats bool   // it is in a loop
	spans   []span // of instances that have ended
}

// Total returns how many instances have started or were skipped.
func (n *node) Total() int {
	total := 0
	for _, c := range n.Counts {
		total += c
	}
	return total
}

// tallied returns counts by status for the module of the page.
func tallied(counts map[string]int) string {
	var parts []string
	for _, s := range statusOrder {
		if c := counts[s]; c > 0 {
			parts = append(parts, s+" "+count(c))
		}
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), "\u202f", "")
}

// counted returns how many instances there are, and if their states differ, in which they are.
func (n *node) counted() string {
	var parts []string
	for _, s := range statusOrder {
		if c := n.Counts[s]; c > 0 {
			parts = append(parts, strconv.Itoa(c)+" "+strings.ToLower(statusText(s)))
		}
	}
	if len(parts) == 1 {
		return "×\u00a0" + strconv.Itoa(n.Total())
	}
	return strings.Join(parts, ", ")
}

// statusOrder is in which order the states of instances determine that of their node.
var statusOrder = []string{"waiting", "running", "interrupted", "error", "timeout", "cancelled", "partial", "success", "skipped"}

func (n *node) settle() {
	for _, s := range union(n.spans) { // several at once take as long as one
		n.Took += s.to.Sub(s.from)
	}
	for _, s := range statusOrder {
		if n.Counts[s] > n.Past[s] {
			n.Status = s
			return
		}
	}
}

func (s *site) run(r *http.Request) (string, any, error) {
	ctx, in := r.Context(), inRun(r)
	run, state, shown, err := s.Run(ctx, in)
	if err != nil {
		return "", nil, err
	}
	q := r.URL.Query()
	d := &runData{
		Run: shown, Path: runPath(in.Project, in.Run), Step: q.Get("step"), query: chosen(q),
		InProcess: inProgress(shown.RunLine), CanResume: shown.Status == "interrupted" || shown.Status == "pending",
		CanRetry:  slices.Contains([]string{"error", "timeout", "cancelled", "partial"}, shown.Status) && len(state.RepeatedEffects()) == 0,
		CanDelete: !inProgress(shown.RunLine),
	}
	if d.Questions, err = s.cards(ctx, shown.Open); err != nil {
		return "", nil, err
	}
	for _, name := range sorted.Keys(shown.Inputs) {
		d.Given = append(d.Given, given{name, plain(shown.Inputs[name])})
	}
	if shown.Output != nil {
		d.Output = plain(shown.Output)
	}
	if d.Step != "" {
		if d.Detail, err = s.step(ctx, in, run, state, shown.Driven, d.Step); err != nil {
			return "", nil, err
		}
	}
	part := q.Get("part")
	if part == "detail" {
		return shown.Workflow, d, nil
	}
	d.Timeline = newTimeline(state, shown.Driven, time.Now())
	titles := newTitles(state)
	d.Nodes, d.Open, d.Latest = nodesOf(state, shown.Driven)
	for _, n := range d.Nodes {
		n.Title = cmp.Or(titles[n.Place], n.Title)
	}
	if part == "live" {
		d.Figures = figures(d.Nodes)
		return shown.Workflow, d, nil
	}
	d.source(s, state.Bundle.Root, q.Get("as"))
	picture, err := s.picture(ctx, draw.Inline{Bundle: state.Bundle, Link: true, Handed: handedOff(d.Nodes), Titles: titles}, q["unfold"])
	if err != nil {
		return "", nil, err
	}
	d.Drawing = newDrawn(picture, newColours(picture, d.Nodes, state.Decisions).look(), d.query)
	d.Decided = decided(state.Decisions)
	return shown.Workflow + " " + shown.ID, d, nil
}

// source shows what the run runs, which may differ from what the file contains now.
func (d *runData) source(s *site, w *workflow.Workflow, as string) {
	d.As = as
	if as == "" {
		as = "yaml"
		if n, ok := syntax.ByEnding(w.Pos.File); ok && n.Name != "json" {
			as = n.Name
		}
	}
	for _, n := range notations {
		d.Notations = append(d.Notations, notation{Name: n[0], Title: n[1], This: n[0] == as})
	}
	d.written, _ = s.sources.of(sourceKey{w, as}, func() (written, error) {
		text, err := syntax.Format(w, as)
		if err != nil {
			return written{Lossy: err.Error()}, nil
		}
		return written{Source: string(text)}, nil
	})
}

type sourceKey struct {
	w  *workflow.Workflow // which the host keeps, too, and never changes
	as string
}

// written is a workflow in a notation.
type written struct {
	Source string
	Lossy  string // why it cannot be written in that notation
}

// Link returns the address of this page with another value in its query; without one, with none. What else the person has
// chosen stays: the step, the notation, and the boxes that are open.
func (d *runData) Link(name string, values ...string) string {
	if query := changed(d.query, name, values...); query != "" {
		return d.Path + "?" + query
	}
	return d.Path
}

// Here returns the address of this page.
func (d *runData) Here() string { return d.Link("part") }

// chosen returns the part of the query of a page that a person has chosen.
func chosen(q url.Values) url.Values {
	kept := url.Values{}
	for _, name := range []string{"step", "as", "unfold", "run"} {
		if len(q[name]) > 0 {
			kept[name] = q[name]
		}
	}
	return kept
}

// decided lists decisions for the module of the page: a place, and the kind and the case of an edge.
func decided(all map[string]engine.Branch) string {
	lines := map[string]bool{}
	for address, b := range all {
		lines[hocket.PlaceOf(address)+"\t"+string(b.On)+" "+oneLine(b.Case)] = true
	}
	return strings.Join(sorted.Keys(lines), "\n")
}

// oneLine returns a text without line breaks, as attributes of the drawing have it.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, text)
}

// statusIn returns the status of a step of a run. One that no process drives does not run.
func statusIn(step *engine.StepResult, driven bool) string {
	if step.Status == engine.Running && !driven {
		return "interrupted"
	}
	return string(step.Status)
}

// nodesOf returns the nodes of a run in the order of its workflow, the steps in progress, and the last iterations of those in loops.
func nodesOf(s *hocket.State, driven bool) (all []*node, inProgress, lastIterations string) {
	byPlace := map[string]*node{}
	opened := draw.Opened(s.Bundle, draw.MostCalled)
	for i := range s.Result.Steps { // what has happened in other calls is listed, too
		for place := hocket.PlaceOf(s.Result.Steps[i].Address); strings.Contains(place, "/"); {
			place = place[:strings.LastIndexByte(place, '/')]
			opened[place] = true
		}
	}
	loops := 0 // around the node
	var walk func(w *workflow.Workflow, prefix string, depth int)
	var graph func(w *workflow.Workflow, g *workflow.Graph, prefix string, depth int)
	graph = func(w *workflow.Workflow, g *workflow.Graph, prefix string, depth int) {
		for i := range g.Nodes {
			n := &g.Nodes[i]
			one := &node{Place: prefix + n.ID, ID: n.ID, Title: n.Title, Kind: kindOf(n), Depth: depth, Counts: map[string]int{}, Past: map[string]int{}, Cost: true, repeats: loops > 0}
			if one.Title == "" {
				one.Title = n.Heading()
			}
			if t := n.Task(); t != nil {
				one.Agent = t.Agent
			}
			if byPlace[one.Place] == nil { // a for_each of one node has its id
				byPlace[one.Place] = one
				all = append(all, one)
			}
			if body := n.Body(); body != nil {
				inner := depth + 1
				one.Holds = true
				if len(body.Nodes) == 1 && body.Nodes[0].ID == n.ID {
					inner, one.Holds = depth, false
					if t := body.Nodes[0].Task(); t != nil {
						one.Agent = t.Agent
					}
				}
				_, loop := n.Step.(*workflow.Loop)
				if loop {
					loops++
				}
				graph(w, body, prefix, inner)
				if loop {
					loops--
				}
			}
			if c, ok := n.Step.(*workflow.Call); ok && opened[one.Place] {
				walk(s.Bundle.Called[c.Workflow], one.Place+"/", depth+1)
			}
		}
	}
	walk = func(w *workflow.Workflow, prefix string, depth int) {
		if w != nil {
			graph(w, &w.Body, prefix, depth)
		}
	}
	walk(s.Bundle.Root, "", 0)
	var open, latest []string
	last := lastOf(s.Result.Steps)
	handed := map[string][]*node{} // by the place of what handed it off
	listed := make(map[string]bool, len(s.Result.Steps))
	for i := range s.Result.Steps {
		step := &s.Result.Steps[i]
		place := hocket.PlaceOf(step.Address)
		n := byPlace[place]
		if n == nil {
			n = &node{Place: place, ID: step.Node, Kind: handoffKind, Agent: step.Agent, Counts: map[string]int{}, Past: map[string]int{}, Cost: true}
			by := place[:max(0, strings.LastIndexByte(place, '/'))]
			if byPlace[by] != nil {
				handed[by] = append(handed[by], n)
			} else { // of an earlier plan
				n.Kind = "step"
				all = append(all, n)
			}
			byPlace[place] = n
		}
		status := statusIn(step, driven)
		n.add(step, status)
		if last[withoutIterations(step.Address)] != i {
			n.Past[status]++
		} else if n.repeats && !strings.Contains(step.Address, "[") { // there may be many items
			latest = append(latest, step.Address+" "+status)
		}
		listed[step.Address] = true
		if step.Ended.IsZero() && slices.Contains([]string{"running", "waiting", "interrupted"}, status) {
			open = append(open, step.Address+" "+status)
		}
	}
	for address := range s.Decisions {
		if n := byPlace[hocket.PlaceOf(address)]; n != nil && n.Kind == choiceKind && !listed[address] {
			n.Counts["success"]++
		}
	}
	if len(handed) > 0 {
		all = withHanded(nil, all, handed)
	}
	for i, n := range slices.Backward(all) {
		n.settle()
		if n.Status == "" && n.Holds {
			n.Status = inside(all[i+1:], n.Depth)
		}
	}
	return all, strings.Join(open, "\n"), strings.Join(latest, "\n")
}

// lastOf returns the index of the last iteration of each step.
func lastOf(steps []engine.StepResult) map[string]int {
	last := make(map[string]int, len(steps))
	for i := range steps {
		last[withoutIterations(steps[i].Address)] = i
	}
	return last
}

// withoutIterations returns the address that all iterations of a step share. Those of other items have another one.
func withoutIterations(address string) string {
	if !strings.Contains(address, "#") {
		return address
	}
	var b strings.Builder
	for i, part := range strings.Split(address, "#") {
		if i > 0 {
			part = strings.TrimLeft(part, "0123456789")
		}
		b.WriteString(part)
	}
	return b.String()
}

// withHanded adds nodes to a list, each with what it has handed off below it.
func withHanded(list, nodes []*node, handed map[string][]*node) []*node {
	for _, n := range nodes {
		list = append(list, n)
		for _, h := range handed[n.Place] {
			h.Depth = n.Depth + 1
			list = withHanded(list, []*node{h}, handed)
		}
	}
	return list
}

// inside returns the state of a loop or a for_each: that of the nodes in it, which follow it and are deeper.
func inside(after []*node, depth int) string {
	by := map[string]bool{}
	for _, n := range after {
		if n.Depth <= depth {
			break
		}
		by[n.Status] = true
	}
	for _, s := range statusOrder {
		if by[s] {
			return s
		}
	}
	return ""
}

func (n *node) add(step *engine.StepResult, status string) {
	n.Counts[status]++
	if !step.Ended.IsZero() {
		n.spans = append(n.spans, span{step.Started, step.Ended})
	} else if (status == "running" || status == "waiting") && (n.Since.IsZero() || step.Started.Before(n.Since)) {
		n.Since = step.Started
	}
	n.CostUSD += step.Usage.CostUSD
	n.Cost = n.Cost && !step.Usage.CostUnknown
	n.Tokens += step.Usage.TokensIn + step.Usage.TokensOut
	if text := firstLine(step.Error); text != "" {
		n.Text = text
	} else if out, ok := step.Output.(string); ok && out != "" {
		n.Text = firstLine(out)
	}
}

// Price returns what the node cost, nil if that is partly unknown.
func (n *node) Price() *float64 {
	if !n.Cost {
		return nil
	}
	return &n.CostUSD
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(readable([]byte(text[:min(len(text), 4000)]))), "\n")
	if runes := []rune(line); len(runes) > 120 {
		line = string(runes[:119]) + "…"
	}
	return line
}

func kindOf(n *workflow.Node) string {
	switch n.Step.(type) {
	case *workflow.Task:
		return "task"
	case *workflow.Human:
		return "person"
	case *workflow.Call:
		return "workflow"
	case *workflow.Choice:
		return choiceKind
	case *workflow.Combine:
		return "combine"
	case *workflow.Loop:
		return "loop"
	case *workflow.Each:
		return eachKind
	}
	return ""
}

const (
	choiceKind  = "choice"
	eachKind    = "for each"
	handoffKind = "handoff"
)

// plain returns a value as a text to read.
func plain(v any) string {
	if text, ok := v.(string); ok {
		return readable([]byte(text))
	}
	return workflow.FormatJSON(v)
}

func (s *site) cancel(r *http.Request) (string, error) {
	in := inRun(r)
	_, err := s.Cancel(r.Context(), in, r.PostForm.Get("reason"))
	return back(r, runPath(in.Project, in.Run)), err
}

func (s *site) resume(r *http.Request) (string, error) {
	in := inRun(r)
	_, err := s.Resume(r.Context(), in)
	return back(r, runPath(in.Project, in.Run)), err
}

// retry repeats a run: from a step, with another output or prompt, or with a comment. One that is sent instead of an
// answer replaces the run.
func (s *site) retry(r *http.Request) (string, error) {
	f := r.PostForm
	text := func(name string) string { return formText(r, name) }
	what := &server.RetryRun{From: f.Get("from"), Comment: strings.TrimSpace(text("comment")), Question: f.Get("question"), Digest: f.Get("digest"), Replace: f.Get("question") != ""}
	if f.Get("replace") != "" {
		output := text("output")
		what.Output = &output
	}
	if f.Get("edit") != "" {
		prompt := text("prompt")
		what.Prompt = &prompt
	}
	line, err := s.Retry(r.Context(), inRun(r), formKey(r), what)
	return runPath(line.Project, line.ID) + stepQuery(what.From), err
}

// formKey returns a key for what a form starts, so that a second click starts nothing again; "" if it has none. The page
// has one key for all forms.
func formKey(r *http.Request) string {
	if r.PostForm.Get("key") == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(r.URL.Path + "?" + r.PostForm.Encode()))
	return "page " + hex.EncodeToString(sum[:])
}

// stepQuery is the query of the page of a run that shows a step.
func stepQuery(address string) string {
	if address == "" {
		return ""
	}
	return "?" + url.Values{"step": {address}}.Encode()
}

// raise raises the limits that were filled in.
func (s *site) raise(r *http.Request) (string, error) {
	in, f := inRun(r), r.PostForm
	var limits server.Limits
	for name, to := range map[string]func(float64){
		"steps": func(n float64) { limits.Steps = int(n) }, "tokens": func(n float64) { limits.Tokens = int64(n) },
		"cost": func(n float64) { limits.CostUSD = n }, "seconds": func(n float64) { limits.Seconds = n },
	} {
		if text := f.Get(name); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n < 1e15) {
				return "", &hocket.RefusedError{Run: in.Run, Reason: "invalid number " + strconv.Quote(text)}
			}
			to(n)
		}
	}
	_, err := s.Raise(r.Context(), in, &limits)
	return back(r, runPath(in.Project, in.Run)), err
}

func (s *site) delete(r *http.Request) (string, error) {
	in := inRun(r)
	return projectPath(in.Project) + "#runs", s.Delete(r.Context(), in)
}
