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

// Deed is something that a definition does or may do, as a person has to see it before approving
// it.
type Deed struct {
	Kind DeedKind `json:"kind"`
	Step string   `json:"step,omitempty"` // "": not of one step
	What string   `json:"what"`           // may have several lines
}

// DeedKind is a kind of deed.
type DeedKind string

// The kinds of deeds.
const (
	CommandDeed    DeedKind = "command"
	AddressDeed    DeedKind = "address"
	PermissionDeed DeedKind = "permission"
)

var address = lazy.Regexp("(?i)\\b(https?|wss?|ftp|ssh)://[^\\s\"'`<>|;)]+")

// Deeds returns everything that the steps of the workflow do on this machine and elsewhere: every
// command, every address, and what their agents may do.
func (l *Loaded) Deeds() (all []Deed) {
	add := func(kind DeedKind, step, what string) {
		if d := (Deed{kind, step, what}); !slices.Contains(all, d) {
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
			add(CommandDeed, n.ID, settingsText(settings)+givenText(task))
		case exact:
			add(PermissionDeed, n.ID, d.Agent+" with "+workflow.FormatJSON(settings))
		default:
			for _, line := range agentDeeds(d, does) {
				add(PermissionDeed, n.ID, line)
			}
		}
		for _, text := range slices.Concat(texts(settings), texts(bound(task)), []string{task.Prompt.Text, d.Prompt}) {
			for _, found := range address().FindAllString(text, -1) {
				add(AddressDeed, n.ID, found)
			}
		}
		for _, power := range p.settingsPowers(d, d.With(constants(task.Settings)), n.Pos).Without(trust.Settings) {
			add(PermissionDeed, n.ID, power.What)
		}
	})
	for _, d := range l.Used() {
		for _, deed := range p.AgentDeeds(d) {
			add(deed.Kind, deed.Step, deed.What)
		}
	}
	return all
}

// AgentDeeds returns what an agent may do, whatever it is asked.
func (p *Project) AgentDeeds(d *agent.Definition) (all []Deed) {
	if !d.Builtin {
		for _, power := range p.definitionPowers(d).Without(trust.Settings) {
			all = append(all, Deed{PermissionDeed, "", power.What})
		}
	}
	for i := range p.Config.Servers {
		if s := &p.Config.Servers[i]; slices.Contains(d.Servers, s.Name) {
			all = append(all, Deed{PermissionDeed, "", "the agent " + d.Name + " " + p.serverPower(s).What})
			if s.URL != "" {
				all = append(all, Deed{AddressDeed, "", s.URL})
			}
		}
	}
	return all
}

// agentDeeds describes an agent that works from a prompt.
func agentDeeds(d *agent.Definition, does []agent.Power) []string {
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
