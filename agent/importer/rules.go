package importer

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// rule is what opencode calls a permission: an action for whatever matches a pattern of a
// tool. The last match counts, and without one it is allowed.
type rule struct{ tool, pattern, action string }

// rules reads the permissions of an agent, and the tools that are on or off, which is the
// older form.
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
		r.refuseFor("tools", plain(tools.Value()), "it is not a map")
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
		r.refuseFor(key, plain(n.Value()), "it must be ask, allow or deny")
	}
	if p, _ := opencode.power(tool); p == agent.MayWrite {
		tool = "edit" // opencode then applies it to all
	}
	return rule{tool, pattern, action}
}

var opencode = vocabularies["opencode"]

// settleRules converts rules of opencode to permissions: those for files, commands and the
// network to the terms common to all agents, the rest to its own.
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
				said[power] = "allow" // as without any permissions
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

// powerRules returns the rules for a power, as a definition has them; nil if there are
// none.
func (r *reading) powerRules(rules []rule, power agent.Power) any {
	tools := map[agent.Power][]string{agent.MayRead: {"read"}, agent.MayWrite: {"edit"}, agent.MayRun: {"bash"}, agent.MayReach: opencode.tools[agent.MayReach]}[power]
	if len(tools) > 1 { // one power for several tools: the narrowest rule that holds for any of them
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

// byLength drops rules that a later one overrides but that would count in a definition,
// where the longest pattern wins.
func (r *reading) byLength(tool string, list []rule) []rule {
	var kept []rule
	for i, earlier := range list {
		void := strings.Contains(earlier.pattern, "?") && earlier.action == "allow" // a ? is literal in a definition
		for _, later := range list[i+1:] {
			switch {
			case len(earlier.pattern) <= len(later.pattern) || !wider(earlier.action, later.action):
			case covers(later.pattern, earlier.pattern):
				void = true
			case overlap(earlier.pattern, later.pattern):
				r.refuseFor("permission."+tool+"."+earlier.pattern, earlier.action, "in a definition it would take precedence over "+later.pattern+": "+later.action)
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

// settleOthers handles tools that belong to no power, in the syntax of opencode.
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
		case others == "deny": // like all of them, except for patterns that allow some
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

// effective returns the rules for a tool that count, without those before the last rule for
// everything.
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

// strictest returns the strictest action of rules, or "" if there are none.
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

// covers reports whether a pattern matches a text, or everything that another pattern
// matches.
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

// overlap reports whether two patterns may match the same text, judging by what precedes
// their first *.
func overlap(a, b string) bool {
	a, _, _ = strings.Cut(a, "*")
	b, _, _ = strings.Cut(b, "*")
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
