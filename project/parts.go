package project

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Parts returns everything that a run of the workflow would use, as a person approves it: what
// its workflows mean, the agents of its tasks, the models and servers of these, the files that its
// commands name, and its limits. Tools are not included: the caller knows them.
func (l *Loaded) Parts() trust.Parts {
	l.choose()
	p := l.project
	var all trust.Parts
	add := func(name, text string) {
		if !slices.ContainsFunc(all, func(o trust.Part) bool { return o.Name == name }) {
			all = append(all, trust.Part{Name: name, Text: text})
		}
	}
	for i, w := range check.Workflows(l.Bundle) {
		name := workflowPart
		if i > 0 {
			name += " " + w.Name + " in " + p.place(w.Pos)
		}
		add(name, workflow.Print(w))
	}
	if l.Generated != nil {
		all = append(all, l.Generated.origin())
	}
	add("limits", workflow.FormatJSON(l.Limits))
	l.tasks(func(w *workflow.Workflow, n *workflow.Node, task *workflow.Task, d *agent.Definition) {
		settings := d.With(constants(task.Settings))
		for _, part := range append(p.agentParts(d), p.modelParts(d, settings)...) {
			add(part.Name, part.Text)
		}
		for _, power := range p.settingsPowers(d, settings, n.Pos).Without(trust.Settings) {
			add("power: "+power.What, power.Material)
		}
		if material := p.commandFiles(d, task); material != "" {
			add(filesPart+w.Name+"/"+n.ID, material)
			for _, file := range trust.Files(p.Root, material) {
				add(file.Name, file.Text)
			}
		}
	})
	return all
}

// workflowPart is the name of the part that is the meaning of a workflow. Those of the workflows
// that it calls begin with it.
const workflowPart = "workflow"

// filesPart is the beginning of the name of a part with the hashes of the files that a command names.
const filesPart = "files of "

// IsFiles reports whether a part is a list of hashes of files.
func IsFiles(part string) bool { return strings.HasPrefix(part, filesPart) }

// IsWorkflow reports whether a part is the meaning of a workflow.
func IsWorkflow(part trust.Part) bool {
	return part.Name == workflowPart || strings.HasPrefix(part.Name, workflowPart+" ")
}

// Used returns the definitions of all agents that the workflow uses.
func (l *Loaded) Used() (all []*agent.Definition) {
	l.choose()
	l.tasks(func(_ *workflow.Workflow, _ *workflow.Node, _ *workflow.Task, d *agent.Definition) {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	})
	return all
}

// CheckAgentDraft checks an agent that a model wrote. It works from its prompt, with the tools and
// everything else that the project has, and needs no trust.
func (p *Project) CheckAgentDraft(g *Generated, tools []string) workflow.Diagnostics {
	d, found := agent.ReadDefinition(g.File, g.Files[filepath.Base(g.File)])
	if d == nil || found.Errors() {
		return found
	}
	refuse := func(pos workflow.Pos, detail, summary string, args ...any) {
		found = append(found, workflow.Errorf(pos, CodeGenerated, detail, summary, args...))
	}
	if d.Name != g.ID {
		refuse(d.At("name"), "call it "+g.ID, "the agent is called %q", d.Name)
	}
	if d.Role != "" || len(d.Capabilities) > 0 {
		refuse(d.At("role"), "remove them: steps name the agent itself", "an agent that a model wrote cannot have a role or capabilities")
	}
	for _, name := range d.Tools {
		if !slices.Contains(tools, name) && p.Agents.Traits(d.Agent).CallsTools {
			refuse(d.At("tools"), "use one of: "+strings.Join(tools, ", "), "unknown tool %q", name)
		}
	}
	probe := *p
	others := slices.DeleteFunc(slices.Clone(p.definitions), func(o *agent.Definition) bool {
		return o.Generated && o.ID == d.ID // the same one, which is approved
	})
	probe.definitions, probe.found = append(others, d), nil
	probe.Agents = p.setOf(probe.definitions)
	probe.checkAgents(len(others))
	for _, one := range probe.found { // what would only be a warning in a file of a person
		if one.Severity != workflow.Error && one.Code == agent.CodeDefinition {
			one.Severity = workflow.Error
		}
		found = append(found, one)
	}
	known, _, _ := probe.Agents.Resolve(d.Name)
	if known == nil || known.ID != d.ID {
		refuse(d.Pos, "use another name", "the name %q means another agent", d.Name)
		return found
	}
	if !probe.Agents.Traits(known.Agent).FromPrompt(&agent.Task{Agent: known, Settings: known.Settings}) {
		refuse(d.At("agent"), "set `agent` to a model or a CLI agent, and write a prompt", "an agent that a model wrote must work from a prompt")
	}
	for _, power := range probe.definitionPowers(known).Without(trust.Settings) {
		refuse(d.At("permissions"), "remove what allows it; only people may", "%s", power.What)
	}
	for _, name := range (directory{set: probe.Agents, root: p.Root}).widens(&agent.Definition{Agent: known.Agent}, d.Settings) {
		refuse(d.At("settings"), "remove it; only people may set it", "the agent sets %s", name)
	}
	return found
}

// exact reports whether settings describe all of the work of a task, so that no model decides.
func (p *Project) exact(d *agent.Definition, settings map[string]any) bool {
	return !p.Agents.Traits(d.Agent).FromPrompt(&agent.Task{Agent: d, Settings: settings})
}

// commandFiles returns the material of the files in the project that the command of a task names. What
// such a file, or a program such as make, reads or runs in turn is not known.
func (p *Project) commandFiles(d *agent.Definition, task *workflow.Task) string {
	if !slices.Contains(p.does(d, task), agent.MayRun) {
		return ""
	}
	settings := d.With(constants(task.Settings))
	words := texts(settings)
	if p.exact(d, settings) { // the inputs of a model are not programs to run
		words = slices.Concat(words, texts(constants(bound(task))), []string{task.Prompt.Text})
	}
	return strings.TrimSpace(p.namedFiles(settings, words))
}

// namedFiles returns the material of the files in the project that the words of a task with some
// settings name, except those that a command writes to.
func (p *Project) namedFiles(settings map[string]any, words []string) string {
	material := trust.Material(p.Root, "", p.Root, words...)
	if dir, ok := settings["dir"].(string); ok {
		material += "\n" + trust.Material(p.Root, "", filepath.Join(p.Root, dir), words...)
	}
	return material
}

// AgentParts returns everything that an agent uses, except tools: its definition, its model, what it
// may do, and the servers that it names.
func (p *Project) AgentParts(d *agent.Definition) trust.Parts {
	return append(p.agentParts(d), p.modelParts(d, d.Settings)...)
}

// modelParts returns the model that an agent uses over an API, and its provider. Both may be in the
// configuration: whoever changes it decides what the model says, and who reads the prompt.
func (p *Project) modelParts(d *agent.Definition, settings map[string]any) (all trust.Parts) {
	model, providers := p.modelOf(d, settings)
	if model != "" {
		all = append(all, trust.Part{Name: "model " + model})
	}
	for _, name := range providers {
		one := p.Config.Providers[name]
		all = append(all, trust.Part{Name: "provider " + name, Text: workflow.FormatJSON(map[string]any{"api": one.API, "base_url": one.BaseURL, "key_env": one.Key.Env, "key_file": one.Key.File})})
	}
	return all
}

// modelOf returns the model that an agent uses over an API, and those of the configured providers that
// it may belong to.
func (p *Project) modelOf(d *agent.Definition, settings map[string]any) (model string, providers []string) {
	traits := p.Agents.Traits(d.Agent)
	if traits.Settings.Properties()["provider"] == nil || !traits.FromPrompt(&agent.Task{Agent: d, Settings: settings}) {
		return "", nil // a CLI finds its own model
	}
	named, _ := settings["model"].(string)
	model = cmp.Or(named, d.Model, p.Config.Model)
	provider, _ := settings["provider"].(string)
	if before, _, ok := strings.Cut(model, "/"); ok && provider == "" && p.Config.Providers[before].API != "" {
		provider = before
	}
	for _, name := range sorted.Keys(p.Config.Providers) {
		if provider == "" || name == provider || strings.Contains(provider+model, "${") {
			providers = append(providers, name)
		}
	}
	return model, providers
}

func (p *Project) agentParts(d *agent.Definition) trust.Parts {
	own := *d
	own.Pos, own.Source = workflow.Pos{}, nil
	text, err := json.MarshalIndent(own, "", " ")
	if err != nil {
		text = []byte(err.Error()) // plain data can always be encoded
	}
	all := trust.Parts{{Name: "agent " + d.Name, Text: string(text)}}
	if !d.Builtin {
		for _, power := range p.definitionPowers(d).Without(trust.Settings) {
			all = append(all, trust.Part{Name: "power: " + power.What, Text: power.Material})
		}
	}
	for i := range p.Config.Servers {
		if s := &p.Config.Servers[i]; slices.Contains(d.Servers, s.Name) {
			power := p.serverPower(s)
			all = append(all, trust.Part{Name: "server " + s.Name, Text: power.What + "\n" + power.Material})
		}
	}
	return all
}
