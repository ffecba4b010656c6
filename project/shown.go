package project

import (
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Effect is something that a definition does or may do, as a person has to see it before approving
// it.
type Effect struct {
	Kind EffectKind `json:"kind"`
	Step string     `json:"step,omitempty"` // "": not of one step
	What string     `json:"what"`           // may have several lines
}

// EffectKind is a kind of effect.
type EffectKind string

// The kinds of effects.
const (
	CommandEffect    EffectKind = "command"
	AddressEffect    EffectKind = "address"
	PermissionEffect EffectKind = "permission"
)

var address = lazy.Regexp("(?i)\\b(https?|wss?|ftp|ssh)://[^\\s\"'`<>|;)]+")

// Effects returns everything that the steps of the workflow do on this machine and elsewhere: every
// command, every address, and what their agents may do.
func (l *Loaded) Effects() (all []Effect) {
	add := func(kind EffectKind, step, what string) {
		if d := (Effect{kind, step, what}); !slices.Contains(all, d) {
			all = append(all, d)
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
			add(CommandEffect, n.ID, settingsText(settings)+givenText(task)+"\n"+filesText(p.commandFiles(d, task)))
		case exact:
			add(PermissionEffect, n.ID, d.Agent+" with "+workflow.FormatJSON(settings))
		default:
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
			all = append(all, Effect{PermissionEffect, "", power.What})
		}
	}
	for i := range p.Config.Servers {
		if s := &p.Config.Servers[i]; slices.Contains(d.Servers, s.Name) {
			all = append(all, Effect{PermissionEffect, "", "the agent " + d.Name + " " + p.serverPower(s).What})
			if s.URL != "" {
				all = append(all, Effect{AddressEffect, "", s.URL})
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
	lines := []string{"the agent " + d.Name + " may do this: " + may}
	if len(d.Permissions) > 0 {
		lines = append(lines, "the agent "+d.Name+" has the permissions "+workflow.FormatJSON(d.Permissions))
	}
	if len(d.Tools) > 0 {
		lines = append(lines, "the agent "+d.Name+" uses the tools "+strings.Join(d.Tools, ", "))
	}
	return lines
}

// settingsText returns settings with the command first, as a person reads them.
func settingsText(settings map[string]any) string {
	names := slices.Sorted(maps.Keys(settings))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var lines []string
	for _, name := range names {
		text, isText := settings[name].(string)
		if !isText {
			text = workflow.FormatJSON(settings[name])
		}
		lines = append(lines, name+": "+text)
	}
	return strings.Join(lines, "\n")
}

// givenText returns what a command gets: its inputs, which are environment variables, and its
// prompt, which is its standard input.
func givenText(task *workflow.Task) string {
	var b strings.Builder
	for _, in := range task.Inputs {
		b.WriteString("\ninput " + in.Name + ": " + workflow.FormatText(in.Value))
	}
	if task.Prompt.Text != "" {
		b.WriteString("\nprompt: " + task.Prompt.Text)
	}
	return b.String()
}

// filesText says which files of the project the approval of a command covers.
func filesText(material string) string {
	var names []string
	for line := range strings.Lines(material) {
		names = append(names, line[:max(strings.LastIndex(line, " "), 0)])
	}
	if len(names) == 0 {
		return "files: none is part of the approval, also if the command reads or runs some"
	}
	return "files: " + strings.Join(names, ", ") + "; others that it reads or runs are not part of the approval"
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
	if i := slices.Index([]string{"command", "script", "args"}, setting); i >= 0 {
		return i - 3
	}
	return 0
}
