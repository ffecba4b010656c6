package check

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Input is everything that the rules read.
type Input struct {
	// Bundle is the workflow and the workflows that it calls, by the names used in the calls. A
	// name that is missing was not found. Several names may refer to the same workflow.
	Bundle workflow.Bundle
	// Agents resolves the names of agents. If it is nil, agents are not checked.
	Agents Agents
	// Replied reports whether a node has a scripted reply, so that it needs no agent. Nil means
	// that none has.
	Replied func(*workflow.Node) bool
	// Bound returns the budget of an attempt of a task whose agent has the given budget: less, if
	// it has scripted replies. Nil means that no task has.
	Bound func(*workflow.Node, workflow.Budget) workflow.Budget
	// Limits are the limits of a whole run. Zero fields mean the defaults.
	Limits workflow.Limits
	// Names are the workflows that could be called, for suggestions.
	Names []string
	// Broken are the names of workflows that exist but could not be read, which has already been
	// reported.
	Broken []string
	// Unread reports whether part of the step at a position could not be read. That has already
	// been reported, and settings may be missing because of it. Nil means that everything was
	// read.
	Unread func(workflow.Pos) bool
	// Generated restricts the workflow, because a model wrote it. Nil means that a person did.
	Generated *Generated

	resolved map[agentKey]*Agent // cache: many tasks use the same name
}

// Agents resolves the name of an agent. Role is the description that the workflow's own list of
// agents gives for that name, or "".
type Agents interface {
	Agent(name, role string) Agent
}

// Agent is what is known about an agent before it runs.
type Agent struct {
	Found Found
	// Name is the name of its definition, or "" if that is not known.
	Name string
	// Candidates are the agents that the name may mean if it is Ambiguous, and all known agents if
	// it is Unknown.
	Candidates []string
	// Install says what to do if Found is NoExecutor, or if it is Unknown and there are no
	// Candidates.
	Install string
	// Executor is the executor that does the work, such as "shell".
	Executor string
	// Settings are the settings of the agent's definition. The task's own settings override them.
	Settings map[string]any
	// Validate returns the problems of settings; if it is nil, anything is valid. Strings in them
	// may be templates, whose values are not known yet.
	Validate func(settings map[string]any) []Problem
	// Fixed are the settings that must not contain references, because a person approves them
	// before a run.
	Fixed []string
	// Widens returns those of a task's own settings that would allow it more than its agent, so
	// that a model must not write them. If it is nil, none does.
	Widens func(settings map[string]any) []string
	// Cost returns the budget of an attempt of a task with these settings of its own. If it is
	// nil, an attempt costs nothing.
	Cost func(settings map[string]any) workflow.Budget
	// Attempts is the number of attempts of a task that does not set it itself; 0 means one.
	Attempts int
}

// UnknownCost is the Cost of an agent whose cost is not known.
func UnknownCost(map[string]any) workflow.Budget { return workflow.Budget{} }

// Problem is something wrong with the settings of an agent.
type Problem struct {
	Setting string // the setting that is wrong; "" the settings as a whole
	Path    string // to the part of it that is wrong, as in workflow.Task.SettingsSrc
	Unknown bool   // there is no setting of that name
	Missing bool   // one is not set
	Note    bool   // it has no effect, and nothing depends on it
	Summary string
	Detail  string // how to fix it
}

// Found is the result of looking up an agent.
type Found int

// The results of looking up an agent.
const (
	Resolved   Found = iota
	Unknown          // no agent has that name
	Ambiguous        // several agents have that name
	NoExecutor       // there is a definition, but no executor that can run it
)

// Run applies every rule to every workflow of the bundle.
func Run(in Input) workflow.Diagnostics {
	in.Limits = WithDefaults(in.Limits)
	c := &bundlePass{in: &in, passes: make(map[*workflow.Workflow]*pass)}
	for _, w := range Workflows(in.Bundle) {
		p := &pass{in: &in, w: w, index: newIndex(w)}
		c.order = append(c.order, p)
		c.passes[w] = p
	}
	for _, p := range c.order {
		p.run()
		c.found = append(c.found, p.found...)
	}
	for _, r := range rules {
		if r.bundle != nil {
			c.code = r.code
			r.bundle(c)
		}
	}
	return c.found.Sort()
}

// Workflows returns the distinct workflows of a bundle: the root, then the others
// in the order in which they are first called.
func Workflows(b workflow.Bundle) []*workflow.Workflow {
	if b.Root == nil {
		return nil
	}
	list, seen := []*workflow.Workflow{b.Root}, map[*workflow.Workflow]bool{b.Root: true}
	for i := 0; i < len(list); i++ {
		list[i].Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			call, ok := n.Step.(*workflow.Call)
			if !ok {
				return
			}
			if w := b.Called[call.Workflow]; w != nil && !seen[w] {
				seen[w] = true
				list = append(list, w)
			}
		})
	}
	return list
}

// pass checks one workflow.
type pass struct {
	in    *Input
	w     *workflow.Workflow
	index *index
	code  string // of the rule that is being applied
	found workflow.Diagnostics
	flows []*flow // of workspaces; nil if not computed yet
}

func (p *pass) run() {
	p.found = append(p.found, p.w.Mistakes...)
	for _, r := range rules {
		p.code = r.code
		if r.workflow != nil {
			r.workflow(p)
		}
		if r.node != nil {
			for _, n := range p.index.nodes {
				r.node(p, n)
			}
		}
		if r.edge != nil {
			for _, e := range p.index.edges {
				r.edge(p, e)
			}
		}
	}
}

// errorf reports an error under the code of the current rule.
func (p *pass) errorf(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Errorf(p.place(pos), p.code, detail, summary, args...))
}

// warnf reports a probable mistake.
func (p *pass) warnf(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Warningf(p.place(pos), p.code, detail, summary, args...))
}

// notef reports something that is not a mistake, but worth knowing.
func (p *pass) notef(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Notef(p.place(pos), p.code, detail, summary, args...))
}

// place returns pos, or the position of the workflow if pos is not set.
func (p *pass) place(pos workflow.Pos) workflow.Pos {
	if pos.Line == 0 {
		return p.w.Pos
	}
	return pos
}

// isMermaid reports whether a file is drawn in Mermaid, so that hints use its syntax.
func isMermaid(pos workflow.Pos) bool { return hasEnding(pos, ".md", ".markdown", ".mmd", ".mermaid") }

// isPlantUML reports whether a file is drawn in PlantUML.
func isPlantUML(pos workflow.Pos) bool {
	return hasEnding(pos, ".puml", ".plantuml", ".uml", ".pu", ".iuml")
}

func hasEnding(pos workflow.Pos, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(filepath.Ext(pos.File)))
}

// placeOr returns pos, or other if pos is not set.
func placeOr(pos, other workflow.Pos) workflow.Pos {
	if pos.Line == 0 {
		return other
	}
	return pos
}

// bundlePass checks how the workflows of a bundle work together.
type bundlePass struct {
	in     *Input
	order  []*pass
	passes map[*workflow.Workflow]*pass
	code   string // of the rule that is being applied
	found  workflow.Diagnostics

	// For the rules about workspaces; nil if not computed yet.
	leftBy map[callKey]callLeft
	own    map[callOf]bool
}

func (c *bundlePass) errorf(pos workflow.Pos, detail, summary string, args ...any) {
	c.found = append(c.found, workflow.Errorf(pos, c.code, detail, summary, args...))
}

func (c *bundlePass) warnf(pos workflow.Pos, detail, summary string, args ...any) {
	c.found = append(c.found, workflow.Warningf(pos, c.code, detail, summary, args...))
}
