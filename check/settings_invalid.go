package check

import (
	"maps"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var settingsInvalid = rule{
	code:     "settings-invalid",
	severity: workflow.Error,
	summary:  "the settings of a task are invalid for its agent",
	workflow: func(p *pass) {
		var all sharedMistakes
		for _, n := range p.index.nodes {
			if t, a := p.agentOf(n); t != nil && a.Validate != nil {
				p.checkSettings(n, t, a, &all)
			}
		}
		all.report(p)
	},
}

// checkSettings reports problems with the settings of a task. A problem in a setting that comes
// from the agent's definition is reported once for all tasks of the agent.
func (p *pass) checkSettings(n *node, t *workflow.Task, a *Agent, all *sharedMistakes) {
	for _, key := range a.Fixed {
		if v, err := expr.ParseValue(t.Settings[key], expr.Canonical); err == nil && len(v.Refs()) > 0 {
			p.reportAgent(n, splicePos(n, t, key), "this setting is approved before the run, when the reference has no value; write the value itself, or pass it to the agent as an input",
				"%q: %s cannot contain a reference", n.ID, key)
		}
	}
	for _, problem := range a.Validate(merged(a.Settings, t.Settings)) {
		if (problem.Missing || problem.Setting == "") && p.in.Unread != nil && p.in.Unread(n.Pos) {
			continue
		}
		if problem.Detail == "" && !problem.Note {
			problem.Detail = "settings go under config in the step, and under settings in the agent's file"
		}
		_, own := t.Settings[problem.Setting]
		_, agents := a.Settings[problem.Setting]
		exact := t.Agent == a.Executor && t.Prompt.Text == "" // only its settings define its work
		switch {
		case !own && (agents || !problem.Missing && !exact):
			all.add(n, shared{what: t.Agent + " " + problem.Summary, replied: p.in.replied(n), note: problem.Note}, ": "+problem.Summary, problem.Detail)
		case problem.Note:
			p.notef(settingPos(n, t, problem), problem.Detail, "%q: %s", n.ID, problem.Summary)
		default:
			p.reportAgent(n, settingPos(n, t, problem), problem.Detail, "%q: %s", n.ID, problem.Summary)
		}
	}
}

// settingPos returns the position of a problem with a setting: its name if the setting does not
// exist, otherwise its value, otherwise the agent.
func settingPos(n *node, t *workflow.Task, problem Problem) workflow.Pos {
	key := t.SettingsPos[problem.Setting]
	if problem.Unknown && key.Line != 0 {
		return key
	}
	return placeOr(t.SettingsSrc[problem.Path].Pos, placeOr(t.SettingsSrc[problem.Setting].Pos, placeOr(key, agentPos(n))))
}

// merged returns the settings of a definition, overridden by those of a task.
func merged(base, over map[string]any) map[string]any {
	if len(base) == 0 {
		return over
	}
	all := maps.Clone(base)
	maps.Copy(all, over)
	return all
}
