package engine

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/hocket-dev/hocket/workflow/expr"
)

// view is what an expression can refer to from one place in a run. It implements expr.Env.
type view struct {
	scope   *scope
	reg     *region
	env     *env
	self    *inst
	behind  bool // evaluated after self, on its edges
	handsOn bool // values that are looked up need not be loaded
}

// view returns the view before the instance, and behind the view after it.
func (in *inst) view() *view   { return &view{scope: in.scope(), reg: in.reg, env: in.env, self: in} }
func (in *inst) behind() *view { v := in.view(); v.behind = true; return v }

// eval evaluates a value that is passed on unread: if it is only a reference, the referenced
// value need not be loaded.
func (v *view) eval(x interface {
	Eval(expr.Env) (any, error)
	IsRef() bool
}) (any, error) {
	v.handsOn = x.IsRef()
	return x.Eval(v)
}

// Lookup returns the value of a canonical reference, or nil if there is none.
func (v *view) Lookup(ref *expr.Ref) (any, bool) {
	value := v.lookup(ref)
	if !v.handsOn {
		value = whole(value)
	}
	return value, true
}

func (v *view) lookup(ref *expr.Ref) any {
	switch ref.Kind {
	case expr.Inputs:
		return v.input(ref.Name)
	case expr.Vars:
		if w := v.variable(ref.Name); w != nil {
			return w.value
		}
	case expr.Nodes:
		if in := v.node(ref.Name); in != nil {
			return in.field(ref.Field)
		}
	case expr.Groups:
		return v.group(ref.Name, ref.Field)
	case expr.Previous:
		return v.previous(ref.Field)
	case expr.Failure:
		return v.failure(ref.Field)
	case expr.Item, expr.Index:
		return v.item(ref.Kind)
	case expr.Iteration:
		return jsonNumber(int64(v.reg.iterationHere()))
	case expr.Repeats:
		return jsonNumber(int64(v.reg.iterationHere() - 1))
	case expr.Unresolved:
	}
	return nil
}

// previous returns a field of what leads here: the output, or what was decided on the way.
func (v *view) previous(field string) any {
	if v.self == nil {
		return nil
	}
	from := v.self.from()
	if v.behind {
		from = []parcel{{by: v.self}}
	}
	if field == "output" {
		return previous(from)
	}
	for i := range from {
		switch h := from[i].decided(); {
		case h == nil:
		case field == "decision" && h.decision != "":
			return h.decision
		case field == "reason" && h.reason != "":
			return h.reason
		}
	}
	return nil
}

// input returns one input, or all of them. A single input is returned itself.
func (v *view) input(name string) any {
	f := v.scope.frame
	if name != "" {
		return f.inputs[name]
	}
	if len(f.p.inputs) == 1 {
		return f.inputs[f.p.inputs[0]]
	}
	return objectOf(maps.Clone(f.inputs))
}

func (v *view) variable(name string) *write {
	p := v.scope.frame.p
	i, ok := p.vars[name]
	if !ok {
		return nil
	}
	return v.env.get(p.depth, i)
}

// node returns the instance that `nodes.id` refers to here.
func (v *view) node(id string) *inst {
	n := v.scope.frame.p.nodes[id]
	if n == nil {
		return nil
	}
	if v.behind && v.self.n == n {
		return v.self
	}
	return v.scope.newest(n)
}

func (in *inst) field(name string) any {
	switch name {
	case "output":
		return in.output
	case "status":
		return string(in.status)
	case "error":
		if in.err == "" {
			return nil
		}
		return in.err
	case "duration_ms":
		return jsonNumber(in.durationMS())
	case "attempts":
		return jsonNumber(int64(in.attempt - in.base))
	case "workspace":
		return in.workspace()
	}
	return nil
}

func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func (in *inst) durationMS() int64 {
	if in.ended == notYet {
		return 0
	}
	return (in.ended - in.started).Milliseconds()
}

func (v *view) failure(field string) any {
	if v.self == nil {
		return nil
	}
	failed := failureIn(v.self.from())
	if failed == nil {
		return nil
	}
	if field == "node" {
		return failed.n.def.ID
	}
	return failed.field(field)
}

// failureIn returns the first failure that led to a node.
func failureIn(from []parcel) *inst {
	for i := range from {
		if from[i].failed != nil {
			return from[i].failed
		}
	}
	return nil
}

func (v *view) item(kind expr.Kind) any {
	s := v.scope
	switch each := s.each(); {
	case each == nil:
		return nil
	case kind == expr.Index:
		return jsonNumber(int64(s.item))
	default:
		return each.items[s.item]
	}
}

// iterationHere returns the iteration of the innermost loop around the region in the same workflow, or 1
// outside loops.
func (reg *region) iterationHere() int {
	for ; reg != nil; reg = reg.around() {
		if reg.loop != nil {
			return reg.loop.iteration
		}
	}
	return 1
}

// group returns the results of a parallel group's members, in order.
func (v *view) group(name, field string) any {
	members := v.scope.frame.p.groups[name]
	if members == nil {
		return nil
	}
	var all, succeeded, failed []*inst
	for _, n := range members {
		in := v.scope.newestOrSkipped(n)
		if in == nil || in.status == Skipped {
			in = &inst{n: n, status: Skipped}
		}
		all = append(all, in)
		switch in.status {
		case Success:
			succeeded = append(succeeded, in)
		case Failed, TimedOut:
			failed = append(failed, in)
		case Running, Waiting, Partial, Skipped, Cancelled:
		}
	}
	switch field {
	case "outputs":
		return results(all)
	case "succeeded":
		return results(succeeded)
	case "failed":
		return results(failed)
	case "status":
		return string(groupStatus(len(succeeded), len(failed)))
	}
	return nil
}

func groupStatus(succeeded, failed int) Status {
	switch {
	case failed == 0:
		return Success
	case succeeded == 0:
		return Failed
	default:
		return Partial
	}
}

// results returns the outputs of instances, and loads those that are long.
func results(list []*inst) []any {
	values := make([]any, len(list))
	for i, in := range list {
		values[i] = in.value()
	}
	return values
}

// value returns a result in the form that workflows see.
func (in *inst) value() map[string]any {
	return map[string]any{
		"node": in.n.def.ID, "agent": in.n.place.Agent, "status": string(in.status), "output": whole(in.output), "error": in.field("error"),
		"duration_ms": jsonNumber(in.durationMS()), "attempts": jsonNumber(int64(in.attempt - in.base)), "step_index": jsonNumber(int64(in.n.step)),
	}
}

// result returns the instance in the form that Result lists it.
func (r *Run) result(in *inst) StepResult {
	res := StepResult{
		Address: in.address, Node: in.n.def.ID, Agent: in.n.place.Agent, Status: in.status, Output: shown(in.shown()), Error: in.err,
		DurationMS: in.durationMS(), Attempts: int(in.attempt), Iteration: int(in.iteration), StepIndex: in.n.step,
		Started: r.began.Add(in.started), Usage: in.usage, Unsent: in.phase == running && in.unsent, Effect: r.hadEffect(in),
	}
	if len(in.trees) == 1 && in.trees[0].Step == in.n.def.ID {
		res.Workspace = in.trees[0].Workspace
	}
	if edit := r.edits[in.address]; edit.Prompt != nil {
		res.Prompt = *edit.Prompt
	}
	if in.ended != notYet {
		res.Ended = r.began.Add(in.ended)
	}
	if in.status == Running && (in.phase == asked || in.phase == held || in.phase == parked || in.resting && !in.away) {
		res.Status = Waiting
	}
	return res
}
