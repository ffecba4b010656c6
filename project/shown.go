package project

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Effect is something that a definition does or may do, as a person has to see it before approving
// it.
type Effect struct {
	Kind EffectKind `json:"kind"`
	Step string     `json:"step,omitempty"` // "": not of one step
	What string     `json:"what"`           // may have several lines
	// Files are the files of the project that a command names, which the approval covers. It covers no
	// others that the command reads or runs.
	Files []string `json:"files,omitempty"`
}

// EffectKind is a kind of effect.
type EffectKind string

// The kinds of effects.
const (
	CommandEffect    EffectKind = "command"
	AddressEffect    EffectKind = "address"
	PermissionEffect EffectKind = "permission"
	PromptEffect     EffectKind = "prompt" // what a model is told
)

var address = lazy.Regexp("(?i)\\b(https?|wss?|ftp|ssh)://[^\\s\"'`<>|;)]+")

// Effects returns everything that the steps of the workflow do on this machine and elsewhere: every
// command, every address, what their agents may do, and what models are told. It has the settings, inputs and
// prompts of all tasks.
func (l *Loaded) Effects() (all []Effect) {
	add := func(kind EffectKind, step, what string, files ...string) {
		known := func(e Effect) bool { return e.Kind == kind && e.Step == step && e.What == what }
		if what != "" && !slices.ContainsFunc(all, known) {
			all = append(all, Effect{kind, step, what, files})
		}
	}
	l.choose()
	p := l.project
	l.tasks(func(_ *workflow.Workflow, n *workflow.Node, task *workflow.Task, d *agent.Definition) {
		settings := d.With(task.Settings)
		exact := p.exact(d, settings)
		does := p.does(d, task)
		switch {
		case exact && slices.Contains(does, agent.MayRun):
			add(CommandEffect, n.ID, lines(settingsText(settings), inputsText(task), optional("prompt: ", task.Prompt.Text)), fileNames(p.commandFiles(d, task))...)
		case exact:
			add(PermissionEffect, n.ID, lines(d.Agent, settingsText(settings), inputsText(task), optional("prompt: ", task.Prompt.Text)))
		default:
			add(PromptEffect, n.ID, lines(strings.TrimRight(task.Prompt.Text, "\n"), inputsText(task), settingsText(settings)))
			for _, line := range agentEffects(d, does) {
				add(PermissionEffect, n.ID, line)
			}
			_, providers := p.modelOf(d, d.With(constants(task.Settings)))
			for _, name := range providers {
				if url := p.Config.Providers[name].BaseURL; url != "" {
					add(AddressEffect, n.ID, url)
				}
			}
		}
		for _, text := range slices.Concat(texts(settings), texts(bound(task)), []string{task.Prompt.Text, d.Prompt}) {
			for _, found := range address().FindAllString(text, -1) {
				add(AddressEffect, n.ID, found)
			}
		}
		for _, power := range p.settingsPowers(d, d.With(constants(task.Settings)), n.Pos).Without(trust.Settings) {
			add(PermissionEffect, n.ID, power.What)
		}
	})
	for _, d := range l.Used() {
		for _, effect := range p.AgentEffects(d) {
			add(effect.Kind, effect.Step, effect.What)
		}
	}
	return all
}

// AgentEffects returns what an agent may do, whatever it is asked.
func (p *Project) AgentEffects(d *agent.Definition) (all []Effect) {
	if !d.Builtin {
		for _, power := range p.definitionPowers(d).Without(trust.Settings) {
			all = append(all, Effect{Kind: PermissionEffect, What: power.What})
		}
	}
	for i := range p.Config.Servers {
		if s := &p.Config.Servers[i]; slices.Contains(d.Servers, s.Name) {
			all = append(all, Effect{Kind: PermissionEffect, What: "the agent " + d.Name + " " + p.serverPower(s).What})
			if s.URL != "" {
				all = append(all, Effect{Kind: AddressEffect, What: s.URL})
			}
		}
	}
	return all
}

// agentEffects describes an agent that works from a prompt.
func agentEffects(d *agent.Definition, does []agent.Power) []string {
	may := "nothing without asking"
	words := map[agent.Power]string{agent.MayRun: "run commands", agent.MayWrite: "write files", agent.MayReach: "access the network"}
	var list []string
	for _, power := range []agent.Power{agent.MayRun, agent.MayWrite, agent.MayReach} {
		if slices.Contains(does, power) {
			list = append(list, words[power])
		}
	}
	if len(list) > 0 {
		may = strings.Join(list, ", ") + " without asking"
	}
	all := []string{"the agent " + d.Name + " may do this: " + may}
	if len(d.Permissions) > 0 {
		all = append(all, "the agent "+d.Name+" has the permissions "+workflow.FormatJSON(d.Permissions))
	}
	if len(d.Tools) > 0 {
		all = append(all, "the agent "+d.Name+" uses the tools "+strings.Join(d.Tools, ", "))
	}
	return all
}

// settingsText returns settings with the most important ones first, as a person reads them.
func settingsText(settings map[string]any) string {
	names := sorted.Keys(settings)
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var all []string
	for _, name := range names {
		text, isText := settings[name].(string)
		if !isText {
			text = workflow.FormatJSON(settings[name])
		}
		all = append(all, name+": "+text)
	}
	return strings.Join(all, "\n")
}

// inputsText returns the inputs of a task. Those of a command are environment variables.
func inputsText(task *workflow.Task) string {
	var all []string
	for _, in := range task.Inputs {
		all = append(all, "input "+in.Name+": "+workflow.FormatText(in.Value))
	}
	return strings.Join(all, "\n")
}

// lines joins the texts that are not empty.
func lines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "\n")
}

func optional(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// fileNames returns the names of the files in a material.
func fileNames(material string) (names []string) {
	for line := range strings.Lines(material) {
		names = append(names, line[:max(strings.LastIndex(line, " "), 0)])
	}
	return names
}

// bound returns the inputs of a task by name.
func bound(task *workflow.Task) map[string]any {
	all := map[string]any{}
	for _, in := range task.Inputs {
		all[in.Name] = in.Value
	}
	return all
}

func rank(setting string) int {
	first := []string{"command", "script", "args", "action", "method", "url", "path"}
	if i := slices.Index(first, setting); i >= 0 {
		return i - len(first)
	}
	return 0
}
