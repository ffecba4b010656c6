package yaml

import (
	"slices"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// A merge and a landing are tasks of the model with their own keys in the notations. The agent of a
// merge is below the key that says what it is for: on_conflict or pick.

// Kind returns what a node is in the notations: its kind in the model, except that a merge and a
// landing are kinds of their own.
func Kind(n *workflow.Node) string {
	t, ok := n.Step.(*workflow.Task)
	switch {
	case ok && t.Branches != workflow.OneBranch:
		return "merge"
	case ok && isLanding(n, t):
		return "land"
	}
	return n.Kind()
}

// taskKeys are the keys of a task.
var taskKeys = []string{"agent", "prompt", "template", "inputs", "context", "config", "handoffs"}

func (r *reader) merge(n strictyaml.Node, s *step) {
	m := strictyaml.Node{}.Map()
	if n.Written() != "true" {
		m = n.Map()
	}
	s.node.Step, s.base = r.readMerge(m), "merge"
	m.Done()
}

// readMerge reads what becomes of the workspaces that reach a step.
func (r *reader) readMerge(m *strictyaml.Map) *workflow.Task {
	conflict, pick := m.Get("on_conflict"), m.Get("pick")
	t := &workflow.Task{Agent: workflow.MergeAgent}
	switch {
	case conflict.Exists() && pick.Exists():
		pick.Key().Errorf(codeStepKey, "keep one of them: a merge takes the changes of all workspaces, a pick those of one", "a merge cannot have both on_conflict and pick")
		t = r.decider(conflict)
	case conflict.Exists():
		t = r.decider(conflict)
	case pick.Exists():
		t = r.decider(pick)
		t.Branches = workflow.PickBranch
		return t
	}
	t.Branches = workflow.MergeBranches
	return t
}

// The setting with which a person, not an agent, resolves conflicts or picks a workspace.
const bySetting, human = "by", "human"

// decider reads who resolves conflicts or picks a workspace: an agent, or a person.
func (r *reader) decider(n strictyaml.Node) *workflow.Task {
	if n.IsMap() {
		m, s := n.Map(), &step{}
		for _, key := range taskKeys {
			m.Get(key)
		}
		r.task(m, s)
		m.Done()
		return s.node.Step.(*workflow.Task)
	}
	t := &workflow.Task{Agent: workflow.MergeAgent}
	switch name := n.Written(); {
	case name == human:
		t.Settings = map[string]any{}
		readSetting(strictyaml.Entry{Name: bySetting, Key: n.Key(), Value: n}, 1, t)
	case n.IsText() && name != "":
		n.Errorf(codeWord, "write `{agent: "+strictyaml.Quote(name, true)+"}` for an agent, or human for a person", "%s cannot be %q", n.Label(), name)
	default:
		n.WrongType("human or a map with `agent` and `prompt`")
	}
	return t
}

// The settings of a landing, of which branch and message are keys, and the ways to land.
const (
	asSetting      = "as"
	branchSetting  = "branch"
	messageSetting = "message"
)

var landings = []string{"branch", "commit", "patch"}

// landing reads a step that brings a workspace into the project.
func (r *reader) landing(m *strictyaml.Map, s *step) {
	t, as := &workflow.Task{Agent: workflow.LandAgent, Settings: map[string]any{}}, m.Get("land")
	s.node.Step, s.node.Workspace, s.base = t, workflow.WorkspaceOwn, "land"
	const remedy, missing = "write `land: branch`, `land: commit` or `land: patch`", "this step does not say how to land"
	switch {
	case !as.Exists():
		m.Node().Errorf(codeStepKind, remedy, missing)
	case as.IsNull():
		as.Key().Errorf(codeStepKind, remedy, missing)
	case as.Word(landings...) != "":
		readSetting(strictyaml.Entry{Name: asSetting, Key: as.Key(), Value: as}, 3, t)
	}
	how := t.Settings[asSetting]
	for _, key := range []string{branchSetting, messageSetting} {
		n := m.Get(key)
		switch {
		case !n.Exists():
		case how == "patch":
			n.Key().Errorf(codeStepKey, "remove it, or write `land: branch`", "land: patch has no %s: it changes files, and commits nothing", key)
		case how == "commit" && key == branchSetting:
			n.Key().Errorf(codeStepKey, "remove it, or write `land: branch`", "land: commit has no branch of its own: the commit is on the current branch")
		default:
			n.Text()
			readSetting(strictyaml.Entry{Name: key, Key: n.Key(), Value: n}, 3, t)
		}
	}
}

// workspace reads where a step works. Only steps that let agents work say so.
func (s *step) workspace(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	where := workflow.Workspace(n.Word(string(workflow.WorkspaceOwn), string(workflow.WorkspaceProject)))
	switch Kind(&s.node) {
	case "merge":
		n.Key().Errorf(codeStepKey, "remove it: a merge works on the workspaces that lead to it", "%q cannot be used here", "workspace")
	case "land":
		if where == workflow.WorkspaceProject {
			n.Errorf(codeStepKey, "remove it: the step lands the workspace that leads to it", "a landing cannot work in the project")
		}
	case "human", "choice", "combine":
		n.Key().Errorf(codeStepKey, "only agents, workflows, loops and for_each work in a workspace", "%q cannot be used here", "workspace")
	default:
		s.node.Workspace = where
	}
}

// isLanding reports whether a task is one that `land` creates.
func isLanding(n *workflow.Node, t *workflow.Task) bool {
	if t.Agent != workflow.LandAgent || n.Workspace != workflow.WorkspaceOwn || t.Branches != workflow.OneBranch ||
		t.Prompt.Text != "" || len(t.Inputs) > 0 || t.Context != workflow.AutoContext || t.Handoffs != nil {
		return false
	}
	as, _ := t.Settings[asSetting].(string)
	if !slices.Contains(landings, as) {
		return false
	}
	for name, value := range t.Settings {
		_, isText := value.(string)
		switch {
		case name == asSetting, isText && name == branchSetting && as == "branch", isText && name == messageSetting && as != "patch":
		default:
			return false
		}
	}
	return true
}

// workspace writes where a step works. A landing needs not say so.
func (out *writer) workspace(n *workflow.Node) {
	if Kind(n) != "land" {
		out.text("workspace", string(n.Workspace))
	}
}

func (out *writer) land(t *workflow.Task) {
	out.field("land", t.Settings[asSetting].(string))
	for _, key := range []string{branchSetting, messageSetting} {
		if text, ok := t.Settings[key].(string); ok {
			out.always(key, text)
		}
	}
}

// merge writes a merge or a pick. One without keys needs none if it is drawn.
func (out *writer) merge(t *workflow.Task) {
	key := "on_conflict"
	if t.Branches == workflow.PickBranch {
		key = "pick"
	}
	by, nobody := Decider(t)
	if nobody {
		if !out.flat {
			out.field("merge", "{}")
		}
		return
	}
	out.group("merge", func() {
		switch {
		case by == human:
			out.field(key, human)
		case t.Agent == "" && t.Prompt.Text == "" && t.Context == workflow.AutoContext && t.Handoffs == nil && len(t.Inputs)+len(t.Settings) == 0:
			out.field(key, "{}")
		default:
			out.nested(key, func() { out.task(t, false) })
		}
	})
}

// Decider returns who resolves conflicts or picks a workspace: "human", or "" for the agent of the
// task. nobody says that conflicts are errors.
func Decider(t *workflow.Task) (by string, nobody bool) {
	switch {
	case t.Agent != workflow.MergeAgent || t.Prompt.Text != "" || t.Context != workflow.AutoContext || t.Handoffs != nil || len(t.Inputs) > 0:
	case len(t.Settings) == 1 && t.Settings[bySetting] == human:
		return human, false
	case len(t.Settings) == 0:
		return "", t.Branches == workflow.MergeBranches
	}
	return "", false
}
