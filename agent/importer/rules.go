package importer

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// rule is what opencode calls a permission: an action for what a pattern of a tool
// matches. The last that matches counts, and without one it is allowed.
type rule struct{ tool, pattern, action string }

// rules reads the permissions of an agent, and the tools that are on or off, which is
// the older form.
func (r *reading) rules() []rule {
	var list []rule
	switch tools := r.nodes["tools"]; {
	case !tools.Exists():
	case tools.IsMap():
		for _, e := range tools.Map().Entries() {
			action := map[any]string{true: "allow", false: "deny"}[e.Value.Value()]
			list = append(list, r.rule("tools."+e.Name, e.Name, "*", action, e.Value))
		}
	default:
		r.refuseFor("tools", plain(tools.Value()), "it is no map")
	}
	for _, key := range []string{"permission", "permissions"} {
		switch written := r.nodes[key]; {
		case !written.Exists() || written.IsNull():
		case written.IsMap():
			for _, e := range written.Map().Entries() {
				list = append(list, r.ruleFor(key+"."+e.Name, e.Name, e.Value)...)
			}
		default:
			list = append(list, r.ruleFor(key, "*", written)...)
		}
	}
	for _, key := range []string{"tools", "permission", "permissions"} {
		r.get(key)
	}
	return list
}

// ruleFor reads the permission of one tool: an action, or actions by pattern.
func (r *reading) ruleFor(key, tool string, n strictyaml.Node) (list []rule) {
	if !n.IsMap() {
		action, _ := n.Value().(string)
		return []rule{r.rule(key, tool, "*", action, n)}
	}
	for _, e := range n.Map().Entries() {
		action, _ := e.Value.Value().(string)
		list = append(list, r.rule(key+"."+e.Name, tool, e.Name, action, e.Value))
	}
	return list
}

func (r *reading) rule(key, tool, pattern, action string, n strictyaml.Node) rule {
	if !slices.Contains([]string{"allow", "ask", "deny"}, action) {
		r.refuseFor(key, plain(n.Value()), "it is neither ask, allow nor deny")
	}
	if p, _ := opencode.power(tool); p == agent.MayWrite {
		tool = "edit" // for which opencode takes them all
	}
	return rule{tool, pattern, action}
}

var opencode = vocabularies["opencode"]

// settleRules says rules of opencode as permissions: those of files, commands and the
// network in the words of all agents, the rest in its own.
func (r *reading) settleRules(rules []rule) {
	said := map[agent.Power]any{}
	asks, patterns := false, false
	for _, power := range []agent.Power{agent.MayRead, agent.MayWrite, agent.MayRun, agent.MayReach} {
		said[power] = r.powerRules(rules, power)
		_, many := said[power].(map[string]any)
		asks, patterns = asks || said[power] == any("ask"), patterns || many
	}
	others := strictest(effective(rules, ""))
	switch write := said[agent.MayWrite]; {
	case asks || patterns || others == "ask":
		r.mode = ask
		for _, power := range []agent.Power{agent.MayWrite, agent.MayReach} {
			if said[power] == nil {
				said[power] = "allow" // as it is without any permissions
			}
		}
	case others == "allow" && write == any("allow") && said[agent.MayRun] == any("allow") && said[agent.MayReach] == any("allow"):
		r.mode, said = full, map[agent.Power]any{agent.MayRead: said[agent.MayRead]}
	case write == any("deny"):
		r.mode = readOnly
		delete(said, agent.MayWrite)
	case write == any("allow"):
		r.mode = edit
		delete(said, agent.MayWrite)
	}
	for power, permission := range said {
		if permission != nil && (power != agent.MayRead || permission != any("allow")) {
			r.permission(string(power), permission)
		}
	}
	r.settleOthers(rules, others)
}

// powerRules are the rules of a power, as a definition has them; nil: there are none.
func (r *reading) powerRules(rules []rule, power agent.Power) any {
	tools := map[agent.Power][]string{agent.MayRead: {"read"}, agent.MayWrite: {"edit"}, agent.MayRun: {"bash"}, agent.MayReach: opencode.tools[agent.MayReach]}[power]
	if len(tools) > 1 { // one word for several: the narrowest that holds for any of them
		actions := []rule{}
		for _, tool := range tools {
			actions = append(actions, effective(rules, tool)...)
		}
		if len(actions) == 0 {
			return nil
		}
		return strictest(actions)
	}
	list := r.byLength(tools[0], effective(rules, tools[0]))
	switch {
	case len(list) == 0:
		return nil
	case len(list) == 1 && list[0].pattern == "*":
		return list[0].action
	}
	out := map[string]any{"*": "allow"}
	for _, rule := range list {
		out[rule.pattern] = rule.action
	}
	return out
}

// byLength leaves out rules that a later one makes void but that would count in a
// definition, where the longest pattern does.
func (r *reading) byLength(tool string, list []rule) []rule {
	var kept []rule
	for i, earlier := range list {
		void := strings.Contains(earlier.pattern, "?") && earlier.action == "allow" // a ? means itself in a definition
		for _, later := range list[i+1:] {
			switch {
			case len(earlier.pattern) <= len(later.pattern) || !wider(earlier.action, later.action):
			case covers(later.pattern, earlier.pattern):
				void = true
			case overlap(earlier.pattern, later.pattern):
				r.refuseFor("permission."+tool+"."+earlier.pattern, earlier.action, "in a definition it would count more than "+later.pattern+": "+later.action)
			}
		}
		if strings.Contains(earlier.pattern, "?") && !void {
			r.refuseFor("permission."+tool+"."+earlier.pattern, earlier.action, "a definition has no pattern for one character")
		}
		if !void {
			kept = append(kept, earlier)
		}
	}
	return kept
}

// settleOthers sees to tools that no power stands for, in the words of opencode.
func (r *reading) settleOthers(rules []rule, others string) {
	tools := slices.Concat(opencode.tools[agent.MayRead], opencode.tools[inert])
	for _, rule := range rules {
		if _, known := opencode.power(rule.tool); !known && rule.tool != "*" {
			tools = append(tools, rule.tool)
		}
	}
	var allow, deny []string
	if others == "deny" {
		deny = append(deny, "*")
	}
	tools = slices.Compact(slices.Sorted(slices.Values(tools)))
	allows := func(tool string) bool { return strictest(effective(rules, tool)) == "allow" }
	for _, tool := range tools {
		own := effective(rules, tool)
		switch action := strictest(own); {
		case others == "deny" && action == "allow":
			allow = append(allow, tool)
		case others == "deny": // as all are, but for patterns that allow some
			if slices.ContainsFunc(tools, func(other string) bool { return strings.Contains(other, "*") && overlap(other, tool) && allows(other) }) {
				deny = append(deny, tool)
			}
		case tool == "read" || len(own) == 0 || action == "allow" || action == "ask" && others == "ask":
		default:
			deny = append(deny, tool)
		}
	}
	if len(allow) > 0 {
		r.permission("allow", anys(allow))
	}
	if len(deny) > 0 {
		r.permission("deny", anys(deny))
	}
}

// effective are the rules for a tool that count, those before the last for all of it
// left out.
func effective(rules []rule, tool string) (list []rule) {
	for _, rule := range rules {
		switch {
		case !covers(rule.tool, tool):
		case rule.pattern == "*":
			list = append(list[:0:0], rule)
		default:
			list = append(list, rule)
		}
	}
	return list
}

// strictest is the narrowest action of rules; what no rule is about is allowed.
func strictest(rules []rule) string {
	action := agent.Allow
	for _, rule := range rules {
		action = agent.Stricter(action, agent.Permission(rule.action))
	}
	if len(rules) == 0 {
		return ""
	}
	return string(action)
}

func wider(a, b string) bool {
	return a != b && agent.Stricter(agent.Permission(a), agent.Permission(b)) == agent.Permission(b)
}

// covers says whether a pattern matches a text, or all that another pattern does.
func covers(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 || !ok {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok = strings.Cut(rest, part)
		if !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// overlap says whether two patterns may match the same text, as far as what stands
// before their first * tells.
func overlap(a, b string) bool {
	a, _, _ = strings.Cut(a, "*")
	b, _, _ = strings.Cut(b, "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
