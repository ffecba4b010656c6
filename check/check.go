package check

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Input is all that the rules look at.
type Input struct {
	// Bundle is the workflow and the workflows that it calls, by the names by
	// which they are called. A name that is not in it was not found. Several
	// names may lead to one workflow.
	Bundle workflow.Bundle
	// Agents resolves the names of agents. Nil: agents are not checked.
	Agents Agents
	// Replied says whether a node has a scripted reply. Such a node needs no
	// agent. Nil: none has.
	Replied func(*workflow.Node) bool
	// Limits are those of a whole run. Zero fields are the defaults.
	Limits workflow.Limits
	// Names are the workflows that could be called, for suggestions.
	Names []string
	// Broken are names of workflows that exist but could not be read. That is
	// reported already.
	Broken []string
	// Unread says of the place of a step whether some of it could not be read. That is
	// reported already, and settings may be missing only because of it. Nil: all was
	// read.
	Unread func(workflow.Pos) bool

	resolved map[agentKey]*Agent // a name is used many times
}

// Agents says what becomes of the name of an agent. Role is what the
// workflow's own list of agents says about that name, "" if nothing.
type Agents interface {
	Agent(name, role string) Agent
}

// Agent is what is known of an agent before it does any work.
type Agent struct {
	Found Found
	// Name is that of its definition; "" not known.
	Name string
	// Candidates are the agents that the name may mean when it is Ambiguous,
	// and all agents there are when it is Unknown.
	Candidates []string
	// Install says what to do when Found is NoExecutor, and when it is Unknown and
	// there are no Candidates.
	Install string
	// Executor is what does the work, such as "shell".
	Executor string
	// Settings are those of the agent's definition, below the task's own.
	Settings map[string]any
	// Validate says what is wrong with settings; nil: anything goes. Strings
	// in them are templates, of which nobody knows yet what they become.
	Validate func(settings map[string]any) []Problem
	// Fixed are settings that hold no references, as a person approves them before
	// a run.
	Fixed []string
	// Cost bounds an attempt of a task with these settings of its own; nil: it
	// costs nothing.
	Cost func(settings map[string]any) workflow.Budget
	// Attempts is how often a task of the agent is tried, where it does not say so
	// itself; 0: once.
	Attempts int
}

// cost bounds an attempt of a task of the agent.
func (a *Agent) cost(t *workflow.Task) workflow.Budget {
	if a.Cost == nil {
		return workflow.Free
	}
	return a.Cost(t.Settings)
}

// UnknownCost is that of an agent of which nobody knows it.
func UnknownCost(map[string]any) workflow.Budget { return workflow.Budget{} }

// Problem is what an agent has against its settings.
type Problem struct {
	Setting string // the setting that is wrong; "" the settings as a whole
	Path    string // to the part of it that is wrong, as in workflow.Task.SettingsSrc
	Unknown bool   // there is no setting of that name
	Missing bool   // one is not set
	Note    bool   // it has no effect, and nobody relies on it
	Summary string
	Detail  string // what to do about it
}

// Found is how the search for an agent ended.
type Found int

// The ways the search for an agent ends.
const (
	Resolved   Found = iota
	Unknown          // no agent has the name
	Ambiguous        // several have
	NoExecutor       // there is a definition, but nothing that could carry it out
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

// Workflows are the distinct workflows of a bundle: the root, then the others
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

// pass is the check of one workflow.
type pass struct {
	in    *Input
	w     *workflow.Workflow
	index *index
	code  string // of the rule at work
	found workflow.Diagnostics
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

// errorf reports a mistake under the code of the rule at work.
func (p *pass) errorf(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Errorf(p.place(pos), p.code, detail, summary, args...))
}

// warnf reports what is probably a mistake.
func (p *pass) warnf(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Warningf(p.place(pos), p.code, detail, summary, args...))
}

// notef reports what is worth knowing and no mistake.
func (p *pass) notef(pos workflow.Pos, detail, summary string, args ...any) {
	p.found = append(p.found, workflow.Notef(p.place(pos), p.code, detail, summary, args...))
}

// place falls back on the workflow for what stands nowhere in the source.
func (p *pass) place(pos workflow.Pos) workflow.Pos {
	if pos.Line == 0 {
		return p.w.Pos
	}
	return pos
}

// isMermaid says whether a file is a drawing in Mermaid, so that help is given in its
// words.
func isMermaid(pos workflow.Pos) bool { return hasEnding(pos, ".md", ".markdown", ".mmd", ".mermaid") }

// isPlantUML says the same of PlantUML.
func isPlantUML(pos workflow.Pos) bool {
	return hasEnding(pos, ".puml", ".plantuml", ".uml", ".pu", ".iuml")
}

func hasEnding(pos workflow.Pos, endings ...string) bool {
	return slices.Contains(endings, strings.ToLower(filepath.Ext(pos.File)))
}

// placeOr is the first position, or the second if the first is nowhere.
func placeOr(pos, other workflow.Pos) workflow.Pos {
	if pos.Line == 0 {
		return other
	}
	return pos
}

// bundlePass is the check of what several workflows do together.
type bundlePass struct {
	in     *Input
	order  []*pass
	passes map[*workflow.Workflow]*pass
	code   string // of the rule at work
	found  workflow.Diagnostics
}

func (c *bundlePass) errorf(pos workflow.Pos, detail, summary string, args ...any) {
	c.found = append(c.found, workflow.Errorf(pos, c.code, detail, summary, args...))
}

func (c *bundlePass) warnf(pos workflow.Pos, detail, summary string, args ...any) {
	c.found = append(c.found, workflow.Warningf(pos, c.code, detail, summary, args...))
}
