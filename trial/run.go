package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trial/cassette"
	"github.com/hocket-dev/hocket/workflow"
)

// Options say how tests run.
type Options struct {
	// Host configures the projects that are opened for the cases; what a test replaces is ignored.
	Host hocket.Options
	Mode Mode // "": Replay
	// People answer what the cases have no answers for, while agents really work; nil: nobody does.
	People hocket.Asker
	// Parallel is how many cases run at once; zero means one. Cases with real agents run one by one.
	Parallel int
	// Temp is where the directories of the tests are; "": where the system has such files.
	Temp string
}

// Outcome is what became of a case.
type Outcome struct {
	Case     *Case
	Problems []Problem            // none: it passed
	Drift    []Problem            // of a live run
	Invalid  workflow.Diagnostics // mistakes in its files, if it could not start
	Result   engine.Result
	Took     time.Duration // on the system's clock
	Virtual  time.Duration // in the run
	Written  string        // the cassette that was recorded
	Unable   bool          // it could not run: a file, a reply or a recording is missing

	covered *Covered
}

// Passed reports whether the case passed.
func (o *Outcome) Passed() bool { return len(o.Problems) == 0 && !o.Invalid.Errors() }

// runID is the id of every run of a test. Sessions are named after it.
const runID = "hocket-test-run"

// Run runs cases of the project in a directory, and calls done for each, in their order.
func Run(ctx context.Context, root string, cases []*Case, o Options, done func(*Outcome)) error {
	if o.Mode == "" {
		o.Mode = Replay
	}
	results := make([]chan *Outcome, len(cases))
	for i := range results {
		results[i] = make(chan *Outcome, 1)
	}
	slots := make(chan struct{}, max(1, o.Parallel))
	if o.Mode != Replay {
		slots = make(chan struct{}, 1)
	}
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() {
		for i, c := range cases {
			slots <- struct{}{}
			all.Go(func() {
				results[i] <- runCase(ctx, root, c, o)
				<-slots
			})
		}
	})
	for i := range cases {
		out := <-results[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done(out)
	}
	return nil
}

// runCase runs one case in a directory of its own.
func runCase(ctx context.Context, root string, c *Case, o Options) *Outcome {
	began := time.Now()
	out := &Outcome{Case: c, covered: newCovered()}
	defer func() { out.Took = time.Since(began) }()
	if ctx.Err() != nil {
		return out
	}
	r := &running{Options: o, c: c, root: root, out: out}
	if err := r.run(ctx); err != nil {
		r.fail(err)
	}
	return out
}

// running is a case that runs.
type running struct {
	Options
	c    *Case
	root string
	out  *Outcome

	copies *original // the run whose outcomes are used; nil: none

	dir    string // of the tasks
	player *player
	ran    *hocket.Run
	result engine.Result
}

// fail reports why a case could not run.
func (r *running) fail(err error) {
	var invalid *hocket.InvalidError
	if errors.As(err, &invalid) {
		r.out.Invalid = append(r.out.Invalid, invalid.Diagnostics...)
		return
	}
	r.out.Unable = true
	found := Problem{Summary: err.Error(), Pos: r.c.Pos}
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		found.Detail = hinted.Hint()
	}
	if errors.As(err, new(*hocket.UnknownWorkflowError)) {
		found.Pos = r.c.workflowAt
		if !strings.HasPrefix(found.Detail, "did you mean") {
			found.Detail = "name a file of the project, or a workflow in .hocket/workflows"
		}
	}
	r.out.Problems = append(r.out.Problems, found)
}

func (r *running) run(ctx context.Context) (err error) {
	temp, err := os.MkdirTemp(r.Temp, "hocket-test-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if temp, err = filepath.EvalSymlinks(temp); err != nil {
		return err
	}
	r.dir = filepath.Join(temp, "work")
	if err := r.lay(); err != nil {
		return err
	}
	state := filepath.Join(temp, "state")
	if err := r.prepare(state); err != nil || !r.out.Passed() {
		return err
	}
	host := r.Host
	host.State, host.Local = state, true
	real := r.player.mode == Record || r.player.mode == Live
	host.Trial = &hocket.Trial{Clock: r.player.clock, Dir: r.dir, Stand: r.player.Stand, Known: r.player.knows, Joined: r.out.covered.join, Works: r.c.Exec || real, Absent: !real}
	p, err := hocket.Open(r.root, host)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if mode := r.player.mode; mode == Record || mode == copying {
		r.player.places.Secret = privateOf(p).Secret
	}
	if err := r.drive(ctx, p); err != nil {
		return err
	}
	if r.out.Invalid.Errors() {
		return nil
	}
	r.judge(ctx)
	return r.keep(p)
}

// lay writes the files that the case begins with.
func (r *running) lay() error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	var changes []cassette.Change
	for name, source := range r.c.Files {
		content := []byte(source.Text)
		if source.From != "" {
			var err error
			if content, err = projectfile.Read(source.From, r.root); err != nil {
				return fmt.Errorf("cannot read the file for %s: %w", name, err)
			}
		}
		changes = append(changes, cassette.Change{Path: name, Content: content, Executable: strings.HasPrefix(string(content), "#!")})
	}
	sort.Slice(changes, func(i, j int) bool { return changes[i].Path < changes[j].Path })
	return cassette.Apply(r.dir, changes, nil)
}

// prepare makes the player.
func (r *running) prepare(state string) error {
	mode := r.Mode
	switch {
	case r.copies != nil:
		mode = copying
	case r.c.Cassette == "":
		mode = Replay // there is nothing to record or to compare
	}
	files, err := cassette.ReadFiles(r.dir)
	if err != nil {
		return err
	}
	list := files.Listing()
	base := list.Digest()
	r.player = &player{
		mode: mode, exec: r.c.Exec, clock: newClock(), dir: r.dir, base: base, bases: cassette.Bases{base: list}, people: r.People, tape: r.c.Cassette != "", remake: r.c.remake(),
		places:  &cassette.Places{Run: runID, Dir: r.dir, State: state, Since: time.Now()},
		working: make(chan struct{}, 1),
		asked:   map[string]int{}, pending: map[string]func(){}, failed: map[string]func(){},
	}
	r.out.covered.ends = r.player.resume
	if r.copies != nil {
		r.player.left = r.copies.left
		r.player.copies = r.copies
	}
	if r.c.Cassette == "" || mode == Record {
		return nil
	}
	text, err := projectfile.Read(r.c.Cassette, r.root)
	if errors.Is(err, fs.ErrNotExist) {
		r.out.Unable = true
		r.out.Problems = append(r.out.Problems, Problem{Summary: "there is no cassette " + near(r.root, r.c.Cassette), Detail: "record it with `" + r.c.remake() + "`", Pos: r.c.cassetteAt})
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read the cassette %s: %s", near(r.root, r.c.Cassette), strings.TrimPrefix(rootError(err).Error(), r.c.Cassette+": "))
	}
	recorded, found := cassette.Read(r.c.Cassette, text)
	r.out.Invalid = append(r.out.Invalid, found...)
	r.player.left, r.player.was = recorded.Interactions, recorded.Bases
	return nil
}

// near returns a path of the project as people write it.
func near(root, file string) string {
	if rel, err := filepath.Rel(root, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

// load loads the workflow of the case: a file of the project, or a name.
func (r *running) load(p *hocket.Project) (*hocket.Workflow, error) {
	file := filepath.Join(r.root, filepath.FromSlash(r.c.Workflow))
	if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && filepath.IsLocal(filepath.FromSlash(r.c.Workflow)) {
		return p.Load(file)
	}
	return p.LoadNamed(r.c.Workflow)
}

// drive runs the workflow to its end.
func (r *running) drive(ctx context.Context, p *hocket.Project) error {
	w, err := r.load(p)
	if err != nil {
		return err
	}
	if w.Model() == nil {
		return &hocket.InvalidError{Diagnostics: w.Diagnostics()}
	}
	if found := w.Check(r.c.Replies); found.Errors() { // what is wrong with replies may follow from it
		return &hocket.InvalidError{Diagnostics: found}
	}
	r.out.covered.bundle = w.Bundle()
	if r.c.Replies != nil {
		for _, d := range hocket.CheckReplies(r.c.Replies, w.Bundle(), r.c.File.Path) {
			if d.Severity == workflow.Error {
				r.out.Invalid = append(r.out.Invalid, d)
			}
		}
	}
	if own := r.c.own; own != nil {
		for _, key := range own.Strangers(w.Bundle()) { // a reply that nothing uses tests nothing
			r.out.Invalid = append(r.out.Invalid, workflow.Errorf(own.At(key), Code, workflow.DidYouMean(key, r.out.covered.names()), "no step has the name %q", key))
		}
	}
	if r.out.Invalid.Errors() {
		return nil
	}
	options := []hocket.StartOption{hocket.WithClaim(), hocket.WithRun(runID)}
	if r.c.Replies != nil {
		options = append(options, hocket.WithReplies(r.c.Replies))
	}
	run, err := p.Record(ctx, w, r.c.Inputs, options...)
	if err != nil {
		return err
	}
	r.ran = run
	r.result, err = run.Drive(ctx, hocket.Front{Asker: r.player, Observer: r.out.covered})
	r.out.Result, r.out.Virtual = r.result, r.player.clock.Elapsed()
	if err != nil {
		return err
	}
	if r.result.Status != engine.Waiting || r.c.Expect.Status == engine.Waiting {
		return nil
	}
	open, err := run.Questions(ctx)
	r.out.Unable = r.out.Unable || len(open) > 0
	for _, q := range open {
		r.out.Problems = append(r.out.Problems, r.unanswered(q.Question))
	}
	return err
}

func (r *running) unanswered(q engine.Question) Problem {
	return Problem{Summary: fmt.Sprintf("%s asks a person, and has no answer: %s", q.Address, q.Text), Detail: r.remedy(&q)}
}

// remedy says what to do about a question that nobody has answered.
func (r *running) remedy(q *engine.Question) string {
	switch {
	case r.player.mode == Record:
		return fmt.Sprintf("run `%s` in a terminal and answer it there, or add %s to `replies`", r.player.remake, q.Node)
	case r.player.mode == Live && needsPerson(q):
		return "only a person may answer it while agents really work: run this in a terminal"
	case r.player.mode == Live:
		return fmt.Sprintf("no answer to this question is recorded: run this in a terminal and answer it there, or record the case again with `%s`", r.player.remake)
	case q.Required && r.c.Exec:
		return "only a person may answer it while commands really run: remove `exec`, and write replies for the commands"
	}
	return fmt.Sprintf("add %s to `replies`, with `delay` if the answer comes later", q.Node)
}

// judge compares what happened with what was recorded and expected.
func (r *running) judge(ctx context.Context) {
	p := r.player
	r.out.Problems = append(p.problems, r.out.Problems...)
	r.out.Unable = r.out.Unable || p.missing
	r.out.Drift = p.drift
	if p.mode == copying { // merges without conflicts are among them
		r.copies.unused = slices.DeleteFunc(p.left, func(i cassette.Interaction) bool { return i.IsAnswer() })
		p.left = nil
	}
	for _, i := range p.left {
		found := Problem{Summary: fmt.Sprintf("the recording of %s was not used", i) + r.out.covered.failure(i.Address), Detail: "record the case again with `" + p.remake + "`, or remove it from the cassette", Pos: i.Pos}
		switch {
		case p.mode == Live:
			r.out.Drift = append(r.out.Drift, found)
		case len(p.problems) == 0 && len(r.out.Problems) == 0: // otherwise it follows from these
			r.out.Problems = append(r.out.Problems, found)
		}
	}
	if len(r.out.Problems) > 0 { // a run that did not get its replies says nothing about the workflow
		return
	}
	r.out.Problems = r.c.Expect.problems(ctx, r)
}

// keep writes what was recorded.
func (r *running) keep(p *hocket.Project) error {
	if r.player.mode != Record {
		return nil
	}
	if !r.out.Passed() {
		r.out.Problems = append(r.out.Problems, Problem{Summary: "the recording was not written, because the case failed"})
		return nil
	}
	made := &cassette.Cassette{Workflow: r.out.covered.bundle.Root.Name, Interactions: r.player.made, Bases: r.player.bases}
	r.out.covered.decisions(made)
	text, err := textOf(p, made)
	if err != nil {
		return err
	}
	r.out.Written = r.c.Cassette
	return writeFile(p.Root(), r.c.Cassette, text)
}

// textOf returns the text of a cassette. The error is a *[cassette.LeakError] if it contains something private, and a
// *[cassette.SizeError] if no test could read it.
func textOf(p *hocket.Project, c *cassette.Cassette) ([]byte, error) {
	if err := c.Check(privateOf(p)); err != nil {
		return nil, err
	}
	text := c.Text()
	return text, c.CheckSize(text)
}

// writeFile writes a file of a project, which may be untrusted: a link in it may lead anywhere.
func writeFile(root, file string, text []byte) error {
	dir, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		return err
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := in.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create the folder %s of the project: %w", filepath.ToSlash(dir), rootError(err))
	}
	real, err := projectfile.Resolve(filepath.Dir(file), root)
	if err != nil {
		return err
	}
	return wholefile.Write(filepath.Join(real, filepath.Base(file)), text, 0o644)
}
