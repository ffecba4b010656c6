package project

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

// Trigger starts runs of a workflow by itself, as long as a server serves the project. It is the content of a
// file in .hocket/triggers.
type Trigger struct {
	Name     string // of its file, without the extension
	File     string
	Workflow string
	On       Cause // nil if the file does not say, which is a mistake
	Overlap  Overlap
	Disabled bool
	// Wrong are the mistakes in the file. [Project.CheckTrigger] finds more.
	Wrong workflow.Diagnostics

	inputs   map[string]input
	workflow workflow.Pos // of the name
}

// input is an input of the run, with the position of its name.
type input struct {
	value   *expr.Value
	written any
	pos     workflow.Pos
	at      workflow.Pos // of the value
}

// Overlap says what happens if a run that the trigger started before is not over.
type Overlap string

// What can happen.
const (
	Queue       Overlap = "queue"  // the new run waits
	Skip        Overlap = "skip"   // there is no new run
	CancelOlder Overlap = "cancel" // the older run is cancelled
)

// codeTrigger is the code of mistakes in the file of a trigger other than those in its YAML.
const codeTrigger = "trigger-invalid"

// Cause is what fires a trigger: a *[Schedule], a *[Hook], a *[Files] or an *[After].
type Cause interface {
	// Kind is the key in the file.
	Kind() string
	// String says when it fires, as the end of a sentence.
	String() string
	// values are what inputs can refer to.
	values() []string
}

// Hook fires for requests with a valid signature.
type Hook struct {
	Secret string // the name of the secret that signs them
}

// After fires when a run of another workflow has ended.
type After struct {
	Workflow string
	Status   []string // of the run
	pos      workflow.Pos
}

// The kinds of causes.
const (
	scheduleKind = "schedule"
	webhookKind  = "webhook"
	afterKind    = "after"
)

func (*Schedule) Kind() string { return scheduleKind }
func (*Hook) Kind() string     { return webhookKind }
func (*After) Kind() string    { return afterKind }

func (s *Schedule) String() string {
	return "at " + s.Cron + " (" + cmp.Or(s.Zone, "the time of this machine") + ")"
}
func (w *Hook) String() string { return "for requests that are signed with the secret " + w.Secret }
func (a *After) String() string {
	return "after a run of " + a.Workflow + " has ended with " + strings.Join(a.Status, " or ")
}

func (*Schedule) values() []string { return []string{"time"} }
func (*Hook) values() []string     { return []string{"body", "headers", "delivery"} }
func (*After) values() []string    { return []string{"run", "status", "output"} }

// endStatuses are how a run can end.
var endStatuses = []string{"success", "partial", "error", "timeout", "cancelled"}

// triggerName is what a file of a trigger can be called: its name is part of a path on the server.
var triggerName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Triggers reads the triggers of the project. Those with mistakes are among them.
func (p *Project) Triggers() []*Trigger {
	own := p.newLoaded().project // p is shared, and reading notes what was read
	var all []*Trigger
	for _, home := range p.homes {
		if filepath.Base(home) != ".hocket" {
			continue // Glee has none
		}
		dir := filepath.Join(home, "triggers")
		entries, err := projectfile.List(dir, p.Root)
		if err != nil {
			all = append(all, unreadable(dir, err))
			continue
		}
		for _, e := range entries {
			if ext := filepath.Ext(e.Name()); e.IsDir() || ext != ".yml" && ext != ".yaml" {
				continue
			}
			file := filepath.Join(dir, e.Name())
			text, err := own.read(file)
			if err != nil {
				all = append(all, unreadable(file, err))
				continue
			}
			t := own.readTrigger(file, text)
			if slices.ContainsFunc(all, func(o *Trigger) bool { return o.Name == t.Name }) {
				t.Wrong = append(t.Wrong, workflow.Errorf(workflow.Pos{File: file}, codeTrigger, "remove one of the files", "there are two triggers %q", t.Name))
			}
			all = append(all, t)
		}
	}
	return all
}

func unreadable(file string, err error) *Trigger {
	t := &Trigger{Name: nameOfFile(file), File: file}
	why, advice := whyUnreadable(file, err)
	t.Wrong = workflow.Diagnostics{workflow.Errorf(workflow.Pos{File: file}, codeTrigger, cmp.Or(advice, "replace it with a file of the project"), "the trigger cannot be read: %s", why)}
	return t
}

func nameOfFile(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// readTrigger reads the file of a trigger.
func (p *Project) readTrigger(file string, text []byte) *Trigger {
	doc := strictyaml.Read(file, text)
	root := doc.Root().Map()
	root.Get("$schema")
	t := &Trigger{Name: nameOfFile(file), File: file, Workflow: root.Name("workflow"), inputs: map[string]input{}}
	t.workflow = root.Peek("workflow").Pos()
	if !triggerName().MatchString(t.Name) || len(t.Name) > 80 {
		doc.Report(workflow.Errorf(doc.Start(), codeTrigger, "rename the file: use letters, digits, - and _, and at most 80 of them", "invalid name of a trigger: %q", t.Name))
	}
	t.On = p.readCause(root)
	t.Overlap = Overlap(cmp.Or(root.Word("overlap", string(Queue), string(Skip), string(CancelOlder)), string(Queue)))
	if enabled := root.Get("enabled"); enabled.Exists() {
		t.Disabled = !enabled.Bool()
	}
	for e := range root.Map("inputs").All() {
		if v := readInput(e.Value, t.On); v != nil {
			t.inputs[e.Name] = input{v, e.Value.Value(), e.Key.Pos(), e.Value.Pos()}
		}
	}
	root.Done()
	switch { // a misspelled key explains what is missing
	case doc.Failed():
	case t.Workflow == "":
		doc.Report(workflow.Errorf(doc.Start(), codeTrigger, "add `workflow: NAME`", "the trigger %q starts no workflow", t.Name))
	case t.On == nil:
		doc.Report(workflow.Errorf(doc.Start(), codeTrigger, "add one of schedule, webhook, files and after", "the trigger %q does not say when it fires", t.Name))
	}
	t.Wrong = doc.Diagnostics()
	return t
}

// readCause reads what fires a trigger, nil if the file does not say.
func (p *Project) readCause(root *strictyaml.Map) Cause {
	var all []Cause
	var last strictyaml.Node
	if n := root.Get(scheduleKind); n.Exists() {
		all, last = append(all, readSchedule(n, root)), n
	} else {
		for _, key := range []string{"zone", "missed"} {
			if n := root.Get(key); n.Exists() {
				n.Key().Errorf(codeTrigger, "remove it, or add a `schedule`", "%s without schedule", key)
			}
		}
	}
	if n := root.Get(webhookKind); n.Exists() {
		m := n.Map()
		if !m.Peek("secret").Exists() && n.IsMap() {
			n.Key().Errorf(codeTrigger, "write `webhook: {secret: NAME}`, and define NAME under `secrets` in config.yml", "the webhook has no secret: everyone could use it")
		}
		all, last = append(all, &Hook{Secret: readSecret(m, p.Config.Secrets)}), n
	}
	if n := root.Get(filesKind); n.Exists() {
		all, last = append(all, readFiles(n)), n
	}
	if n := root.Get(afterKind); n.Exists() {
		all, last = append(all, readAfter(n)), n
	}
	if len(all) > 1 {
		last.Key().Errorf(codeTrigger, "keep one of them, and move the other to a second file", "a trigger has one cause, but this one has %d", len(all))
	}
	if len(all) != 1 {
		return nil
	}
	return all[0]
}

func readSchedule(n strictyaml.Node, root *strictyaml.Map) *Schedule {
	zone, name := time.Local, root.Get("zone")
	if name.Exists() && name.Name() != "" {
		found, err := time.LoadLocation(name.Name())
		if err != nil || name.Name() == "Local" {
			name.Errorf(codeTrigger, "use a name such as Europe/Berlin or UTC; without `zone`, it is that of the machine", "unknown time zone %q", name.Name())
		} else {
			zone = found
		}
	}
	missed := Missed(cmp.Or(root.Word("missed", string(MissedOnce), string(MissedSkip), string(MissedAll)), string(MissedOnce)))
	s, wrong, hint := parseSchedule(n.Text(), zone)
	if wrong != "" && n.IsScalar() {
		n.Errorf(codeTrigger, hint, "invalid schedule %q: %s", n.Text(), wrong)
	}
	s.Zone, s.Missed = name.Name(), missed
	return &s
}

func readAfter(n strictyaml.Node) *After {
	if n.IsScalar() {
		return &After{Workflow: n.Name(), Status: endStatuses[:1], pos: n.Pos()}
	}
	m := n.Map()
	a := &After{Workflow: m.Name("workflow"), pos: n.Pos()}
	for _, s := range m.Get("status").OneOrMany() {
		a.Status = append(a.Status, s.Word(endStatuses...))
	}
	if m.Done(); a.Workflow == "" && n.IsMap() {
		n.Key().Errorf(codeTrigger, "write `after: NAME` or `after: {workflow: NAME}`", "the trigger does not say which workflow it follows")
	}
	if len(a.Status) == 0 {
		a.Status = endStatuses[:1]
	}
	return a
}

// readInput reads a value with references to what has happened.
func readInput(n strictyaml.Node, on Cause) *expr.Value {
	tree, err := withInputs(n.Value())
	var v *expr.Value
	if err == nil {
		v, err = expr.ParseValue(tree, expr.Canonical)
	}
	if err != nil {
		detail := "fix it, or write $${ for a literal ${"
		var syntax *expr.SyntaxError
		if errors.As(err, &syntax) {
			err, detail = errors.New(syntax.Summary), syntax.Detail
		}
		n.Errorf(codeTrigger, detail, "invalid value: %v", err)
		return nil
	}
	if on == nil {
		return v
	}
	for _, ref := range v.Refs() {
		if known := on.values(); ref.Kind != expr.Inputs || !slices.Contains(known, ref.Name) {
			name := cmp.Or(ref.Name, ref.String())
			n.Errorf(codeTrigger, cmp.Or(workflow.DidYouMean(name, known), "expected one of: "+strings.Join(known, ", ")), "a trigger with %s has no value %q", on.Kind(), name)
			return nil
		}
	}
	return v
}

// withInputs returns a tree in which names in texts mean inputs.
func withInputs(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return namesAsInputs(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], err = withInputs(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			if object[k], err = withInputs(v[k]); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return v, nil
}

// Inputs returns the inputs of a run, with the values of what has happened.
func (t *Trigger) Inputs(values map[string]any) (map[string]any, error) {
	inputs := map[string]any{}
	for name, in := range t.inputs {
		v, err := in.value.Eval(promptValues(values))
		if err != nil {
			return nil, err
		}
		inputs[name] = v
	}
	return inputs, nil
}

// Uses reports whether an input refers to a value of what has happened.
func (t *Trigger) Uses(name string) bool {
	for _, in := range t.inputs {
		if slices.ContainsFunc(in.value.Refs(), func(r *expr.Ref) bool { return r.Kind == expr.Inputs && r.Name == name }) {
			return true
		}
	}
	return false
}

// CheckTrigger returns the mistakes in a trigger, also those that only its workflow shows.
func (p *Project) CheckTrigger(t *Trigger) workflow.Diagnostics {
	found := slices.Clone(t.Wrong)
	if t.Workflow == "" {
		return found
	}
	l, err := p.LoadNamed(t.Workflow)
	if err != nil || l.Bundle.Root == nil {
		return append(found, unusableWorkflow(t.workflow, t.Workflow, err))
	}
	switch on := t.On.(type) {
	case *After:
		if l, err := p.LoadNamed(on.Workflow); on.Workflow != "" && (err != nil || l.Bundle.Root == nil) {
			found = append(found, unusableWorkflow(on.pos, on.Workflow, err))
		}
	case *Files:
		found = append(found, p.checkFiles(on)...)
		found = append(found, on.checkOwnFiles(&l.Bundle)...)
	case *Schedule, *Hook:
	}
	return append(found, t.checkInputs(l)...)
}

func unusableWorkflow(pos workflow.Pos, name string, err error) workflow.Diagnostic {
	var unknown *UnknownError
	switch {
	case errors.As(err, &unknown):
		return workflow.Errorf(pos, codeTrigger, unknown.Hint(), "%s", unknown.Error())
	case err != nil:
		return workflow.Errorf(pos, codeTrigger, "make it readable", "the workflow %q cannot be read: %v", name, err)
	}
	return workflow.Errorf(pos, codeTrigger, "run `hocket check "+name+"`", "the workflow %q has mistakes", name)
}

// checkInputs compares the inputs of a trigger with those of its workflow.
func (t *Trigger) checkInputs(l *Loaded) (found workflow.Diagnostics) {
	root := l.Bundle.Root
	r := &inputReader{root: root, params: root.Inputs}
	for _, name := range sorted.Keys(t.inputs) {
		in := t.inputs[name]
		declared := r.declared(name)
		if declared == nil && len(root.Inputs) > 0 {
			found = append(found, workflow.Errorf(in.pos, codeInputUnknown, r.suggest(name), "unknown input %q for workflow %q", name, root.Name))
		}
		if declared == nil || len(in.value.Refs()) > 0 {
			continue
		}
		if v, err := in.value.Eval(nil); err == nil && !check.Fits(declared.Type, v) {
			found = append(found, workflow.Errorf(in.at, codeInputType, "write "+example(declared.Type), "input %q: expected type %s, found %s", name, declared.Type, workflow.FormatJSON(v)))
		}
	}
	for _, in := range l.Required() {
		if _, ok := t.inputs[in.Name]; !ok {
			found = append(found, workflow.Errorf(t.workflow, codeInputMissing, "add it under `inputs`", "missing input %q of the workflow %q", in.Name, root.Name))
		}
	}
	return found
}

// TriggerPowers returns what a trigger can do that needs trust: it starts exactly this workflow when nobody is
// there, with what that can do. A change of the workflow, of its agents or of the files that its commands name
// needs trust again.
func (p *Project) TriggerPowers(t *Trigger, l *Loaded) trust.Powers {
	if t.Disabled || t.On == nil {
		return nil
	}
	power := trust.Power{Kind: trust.Trigger, Where: p.place(t.workflow), What: "the trigger " + t.Name + " starts the workflow " + t.Workflow + " by itself, " + t.On.String()}
	written := map[string]any{}
	for name, in := range t.inputs {
		written[name] = in.written
	}
	power.Material = workflow.FormatJSON([]any{written, string(t.Overlap)})
	all := trust.Powers{power}
	switch on := t.On.(type) {
	case *Schedule:
		all[0].Material += string(on.Missed)
	case *Hook:
		all = append(all, p.SecretPowers(on.Secret)...)
	case *Files:
		all[0].Material += on.Settle.String()
	case *After:
	}
	if l != nil && l.Bundle.Root != nil {
		all[0].Material += l.Parts().Digest()
		all = append(all, l.Powers()...)
	}
	return all.Union(nil)
}
