package project

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// readAgents adds the agents in homes to those of the project. If two files have the same
// name, the first wins: .hocket over .glee, and the project over the directory of a
// workflow.
func (p *Project) readAgents(homes []string) error {
	before := len(p.definitions)
	for _, home := range homes {
		root := filepath.Dir(home)
		files, err := p.definitionFiles(filepath.Join(home, "agents"), root)
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := p.read(file, root)
			if p.unusable(file, err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("project: %w", err)
			}
			d, found := agent.ReadDefinition(file, text)
			p.found = append(p.found, found...)
			if d != nil && !slices.ContainsFunc(p.definitions, func(other *agent.Definition) bool { return other.ID == d.ID }) {
				p.definitions = append(p.definitions, d)
			}
		}
	}
	p.Agents = p.setOf(p.definitions)
	p.checkAgents(before)
	return nil
}

// setOf returns the agents of tasks. Whether this machine has what they need does not matter if others do the tasks.
func (p *Project) setOf(definitions []*agent.Definition) *agent.Set {
	reserved := slices.Clone(p.reserved)
	for _, name := range []string{workflow.MergeAgent, workflow.LandAgent} {
		if _, here := p.executors[name]; here && !slices.Contains(reserved, name) {
			reserved = append(reserved, name) // what a merge and a landing do is not up to the project
		}
	}
	set := agent.NewSet(p.executors, definitions, p.Config.Agent, reserved...)
	if p.away || p.Config.Driver == TemporalDriver {
		set = set.Away()
	}
	return set
}

// Admit adds the agents that models wrote and that a person has approved. The others are known
// only so that messages can say why they cannot be used.
func (p *Project) Admit(all []*Generated, approved func(*Generated, *agent.Definition) bool) {
	before := len(p.definitions)
	for _, g := range all {
		d := p.AgentOf(g)
		switch {
		case d == nil:
		case approved(g, d):
			p.definitions = append(p.definitions, d)
		default:
			p.waiting = append(p.waiting, g.ID)
		}
	}
	if len(p.definitions) > before {
		p.Agents = p.setOf(p.definitions)
		p.checkAgents(before)
	}
}

// AgentOf returns the agent that a definition of a model defines; nil if it defines none.
func (p *Project) AgentOf(g *Generated) *agent.Definition {
	if g.Kind != AgentKind || g.Wrong.Errors() {
		return nil
	}
	d, found := agent.ReadDefinition(g.File, g.Files[filepath.Base(g.File)])
	if found.Errors() {
		return nil
	}
	d.Generated = true
	return d
}

// checkAgents checks new definitions against their executors and the project's
// configuration.
func (p *Project) checkAgents(before int) {
	var servers []string
	for _, s := range p.Config.Servers {
		servers = append(servers, s.Name)
	}
	for _, d := range p.Agents.Definitions() {
		if d.Builtin || !slices.ContainsFunc(p.definitions[before:], func(one *agent.Definition) bool { return one.ID == d.ID }) {
			continue
		}
		p.found = append(p.found, p.Agents.Reserved(d)...)
		// A warning: steps with other agents can still run.
		if executors := append(p.Agents.Executors(), p.reserved...); d.Agent != "" && !slices.Contains(executors, d.Agent) {
			hint := cmp.Or(workflow.DidYouMean(d.Agent, executors), "expected one of: "+strings.Join(executors, ", "))
			p.found = append(p.found, workflow.Warningf(d.At("agent"), agent.CodeDefinition, hint, "agent %q: unknown executor %q", d.Name, d.Agent))
		}
		for _, problem := range p.Agents.CheckPermissions(d) {
			p.found = append(p.found, workflow.Errorf(d.At("permissions"), agent.CodeDefinition, problem.Detail, "permissions of %q: %s", d.Name, strings.TrimPrefix(problem.Summary, "permissions: ")))
		}
		for _, problem := range p.Agents.Ignored(d) {
			p.found = append(p.found, workflow.Errorf(d.At(problem.Path[0]), agent.CodeDefinition, problem.Detail, "agent %q: %s", d.Name, problem.Summary))
		}
		for _, name := range d.Servers {
			if !slices.Contains(servers, name) {
				hint := workflow.DidYouMean(name, servers)
				if hint == "" {
					hint = "define it under `mcp` in config.yml"
				}
				p.found = append(p.found, workflow.Errorf(d.At("mcp"), agent.CodeDefinition, hint, "agent %q: unknown MCP server %q", d.Name, name))
			}
		}
	}
}

// Report adds diagnostics about the project's files that only the caller can find.
func (p *Project) Report(found workflow.Diagnostics) { p.found = append(p.found, found...) }

// definitionFiles returns the agent files of a directory, sorted.
func (p *Project) definitionFiles(dir, root string) ([]string, error) {
	entries, err := projectfile.List(dir, root, p.Root)
	if p.unusable(dir, err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("project: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yml" || ext == ".yaml") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

// directory adapts the agents of a project to the interface of package check.
type directory struct {
	set     *agent.Set
	root    string   // of the project
	waiting []string // agents that nobody has approved
}

// Agent resolves a name for a check. It also works for an agent whose executor is not
// installed.
func (d directory) Agent(name, role string) check.Agent {
	def, _, err := d.set.ResolveLane(name, role)
	var a check.Agent
	if def != nil {
		a = check.Agent{
			Name:     def.Name,
			Executor: def.Agent,
			Settings: def.Settings,
			Attempts: def.Retry.Attempts,
			Fixed:    d.set.Traits(def.Agent).Fixed,
			Widens:   func(settings map[string]any) []string { return d.widens(def, settings) },
			Cost:     func(settings map[string]any) workflow.Budget { return d.set.Bound(def, settings) },
			Validate: func(settings map[string]any) []check.Problem { return d.validate(def, settings) },
		}
	}
	var failed *agent.ResolveError
	if errors.As(err, &failed) {
		a.Candidates, a.Install, a.Cost = failed.Candidates, failed.StepAdvice(), check.UnknownCost
		a.Found = map[agent.Why]check.Found{agent.Unknown: check.Unknown, agent.Ambiguous: check.Ambiguous, agent.NoExecutor: check.NoExecutor}[failed.Why]
		if failed.Why == agent.Unknown && slices.Contains(d.waiting, name) {
			a.Found, a.Install = check.NoExecutor, "a model wrote it, and nobody has approved it; review it with `hocket approve "+name+"`"
		}
	}
	return a
}

func (d directory) validate(def *agent.Definition, settings map[string]any) []check.Problem {
	var list []check.Problem
	for _, p := range d.set.ValidateSettings(def, settings) {
		if len(p.Path) > 0 && p.Path[0] == templateName {
			continue // reported as missing
		}
		problem := check.Problem{Summary: p.Summary, Detail: p.Detail, Note: p.Note, Missing: len(p.Missing) > 0, Unknown: p.Unknown && len(p.Path) == 1}
		if len(p.Path) > 0 {
			problem.Setting, problem.Path = p.Path[0], strings.Join(p.Path, ".")
		}
		list = append(list, problem)
	}
	return list
}

// wide are settings of steps that reach beyond the step, whatever the agent is: a conversation of
// the user, work of another agent, addresses of this machine, a program that is too old.
var wide = []string{agent.SessionSetting, agent.HandoffSetting, "private_network", "any_version"}

// widens returns the settings of a task that allow it more than the definition of its agent does.
func (d directory) widens(def *agent.Definition, settings map[string]any) (names []string) {
	traits := d.set.Traits(def.Agent)
	powers := func(own map[string]any) trust.Powers {
		if traits.Powers == nil {
			return nil
		}
		return traits.Powers(d.root, def.With(own)).Without(trust.Settings) // a CLI does without its own settings
	}
	before := powers(nil)
	for _, name := range sorted.Keys(settings) {
		if slices.Contains(wide, name) || slices.Contains(traits.Fixed, name) || powers(map[string]any{name: settings[name]}).Exceeds(before) {
			names = append(names, name)
		}
	}
	return names
}
