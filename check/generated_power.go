package check

import (
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

var generatedPower = rule{
	code:     "generated-power",
	severity: workflow.Error,
	summary:  "a step that a model wrote would be allowed more than its agent",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil || !p.generated(n) {
			return
		}
		if h := t.Handoffs; h != nil && h.Detach {
			p.errorf(n.Pos, "remove `detach`: detached work has its own budget", "%q may detach work, which only people may allow", n.ID)
		}
		a := p.in.agent(p.w, n, t)
		if a.Executor == "shell" { // its inputs are environment variables, too
			for _, in := range t.Inputs {
				if startsPrograms(in.Name) {
					p.errorf(placeOr(in.Pos, n.Pos), "use another name for the input", "the input %s of %q would decide which programs run", in.Name, n.ID)
				}
			}
			env, _ := t.Settings["env"].(map[string]any)
			for _, name := range sorted.Keys(env) {
				if startsPrograms(name) {
					p.errorf(splicePos(n, t, "env"), "remove it, and name the program in the command", "the variable %s of %q would decide which programs run", name, n.ID)
				}
			}
		}
		if a.Widens == nil {
			return
		}
		for _, name := range a.Widens(t.Settings) {
			pos := placeOr(placeOr(t.SettingsPos[name], t.SettingsSrc[name].Pos), n.Pos)
			p.errorf(pos, "remove it; a person can set it in the definition of an agent", "%q sets %s, which only people may set", n.ID, name)
		}
	},
}
