package cli

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// permissions are what an agent may do: as passed to the CLI, and as decided here when the
// CLI asks.
type permissions struct {
	mode   Mode // "": the manifest has no modes
	values values
	common agent.Permissions
}

// checkPermissions reports which permissions the CLI cannot enforce.
func (x *Executor) checkPermissions(written map[string]any) []agent.Problem {
	_, problems := x.m().permit(written)
	return problems
}

// permit reads the permissions of a definition: mode and powers, which mean the same for
// all agents, and the lists allow and deny in the syntax of the CLI. What the CLI cannot
// enforce is an error, because the author relies on it.
func (m *Manifest) permit(written map[string]any) (permissions, []agent.Problem) {
	common, problems := agent.ReadPermissions(written, "allow", "deny")
	p := &permitting{m: m, permissions: permissions{common: common, values: values{}}, problems: problems}
	if len(problems) == 0 {
		p.choose(written)
	}
	if len(p.problems) == 0 {
		p.values.add(m.permissions[p.mode])
		for _, power := range agent.Powers {
			if rules := common.Named(power); len(rules) > 0 {
				p.power(power, rules)
			}
		}
	}
	before := maps.Clone(p.values)
	for _, key := range []string{"allow", "deny"} {
		p.list(written, key)
	}
	p.rank(before)
	return p.permissions, p.problems
}

type permitting struct {
	m *Manifest
	permissions
	problems []agent.Problem
}

func (p *permitting) problem(power agent.Power, detail, summary string, args ...any) {
	p.problems = append(p.problems, agent.Problem{Path: []string{string(power)}, Summary: fmt.Sprintf(summary, args...), Detail: detail})
}

// here describes the situation to which an error applies.
func (p *permitting) here() string {
	if p.mode == "" {
		return " without a mode"
	}
	return " in the mode " + string(p.mode)
}

// choose selects the mode. If nobody can be asked, only write access distinguishes edit
// from read-only, so it decides between the two.
func (p *permitting) choose(written map[string]any) {
	if mode, given := written["mode"].(string); given {
		p.mode = Mode(mode)
		if _, can := p.m.permissions[p.mode]; !can && (p.mode != AskFirst || p.m.acp == nil) {
			p.problem("mode", "its modes are "+p.m.modes(), "%s does not support the mode %q", p.m.Name, mode)
		}
	} else if _, can := p.m.permissions[Edit]; can {
		p.mode = Edit
	}
	other := map[Mode]Mode{Edit: ReadOnly, ReadOnly: Edit}[p.mode]
	wanted := map[Mode]agent.Permission{Edit: agent.Deny, ReadOnly: agent.Allow}[p.mode]
	if _, can := p.m.permissions[other]; can && agent.Whole(p.common.Named(agent.MayWrite)) == wanted {
		p.mode = other
	}
}

func (p *permitting) talks() bool { return p.m.talks(p.mode) }

// talks reports whether an agent in a mode runs in a conversation instead of headless.
func (m *Manifest) talks(mode Mode) bool { return !m.headless || mode == AskFirst }

// granted and withheld are what a mode says about everything of a kind.
var (
	granted = map[Mode][]agent.Power{
		ReadOnly: {agent.MayRead}, Edit: {agent.MayRead, agent.MayWrite}, Full: agent.Powers, AskFirst: {agent.MayRead},
	}
	withheld = map[Mode][]agent.Power{ReadOnly: {agent.MayWrite}}
)

// power handles a power that the definition names.
func (p *permitting) power(power agent.Power, rules []agent.Rule) {
	whole := agent.Whole(rules)
	switch {
	case whole == agent.Allow && slices.Contains(granted[p.mode], power), whole == agent.Deny && slices.Contains(withheld[p.mode], power):
	case p.talks():
		p.talking(power, whole)
	case slices.ContainsFunc(rules, func(r agent.Rule) bool { return r.Permission == agent.AskFirst }):
		p.problem(power, p.instead(power), "`%s` uses ask, which %s does not support%s", power, p.m.Name, p.here())
	case whole != "":
		if !p.tell(power, whole) {
			p.problem(power, p.instead(power), "%s does not support `%s: %s`%s", p.m.Name, power, whole, p.here())
		}
	default:
		p.patterns(power, rules)
	}
}

// talking handles a power in a conversation. There the CLI asks, and the definition
// decides. If everything is denied, the CLI is also told if possible: then its model sees
// no such tool and continues without it.
func (p *permitting) talking(power agent.Power, whole agent.Permission) {
	asks := p.m.acp != nil && p.m.acp.asks[power]
	switch {
	case whole == agent.Deny && p.tell(power, whole):
	case whole == agent.Allow && (asks || p.tell(power, whole)):
	case asks:
		p.tell(power, agent.AskFirst) // if it would do some of it without asking
	default:
		p.problem(power, p.instead(power), "%s does not ask before it uses `%s`, so Hocket cannot enforce it", p.m.Name, power)
	}
}

// tell passes a rule for everything of a kind to the CLI; false if the CLI does not support
// it, or not in this run.
func (p *permitting) tell(power agent.Power, permission agent.Permission) bool {
	said, can := p.m.powers[power].told[permission]
	if !can || !p.m.tellsAll(said, p.talks()) {
		return false
	}
	p.values.add(said)
	return true
}

// patterns adds patterns to the lists of the CLI. There a denial takes precedence over any
// allowance, and what is in neither list is refused.
func (p *permitting) patterns(power agent.Power, rules []agent.Rule) {
	how := p.m.powers[power]
	all := slices.Contains(rules, agent.Rule{Pattern: "*", Permission: agent.Allow})
	if how.pattern == nil {
		p.problem(power, p.instead(power), "%s does not support patterns for `%s`%s", p.m.Name, power, p.here())
		return
	}
	switch {
	case !all && p.mode == Full:
		p.problem(power, "choose the mode edit or read-only, or allow \"*\"", "the mode full allows what no pattern of `%s` matches", power)
		return
	case all && p.mode != Full && !p.tell(power, agent.Allow):
		p.problem(power, p.instead(power), "%s cannot allow all of `%s`", p.m.Name, power)
		return
	case !all:
		p.values.add(how.some)
	}
	for _, rule := range rules {
		if rule.Pattern == "*" {
			continue
		}
		if wrong := unclear(rule, rules); wrong != "" {
			p.problem(power, p.instead(power), "%s does not support the pattern %q of `%s`: %s", p.m.Name, rule.Pattern, power, wrong)
			continue
		}
		if word, ok := how.pattern.text(values{"pattern": rule.Pattern}); ok {
			p.values.add(values{string(rule.Permission): []any{word}})
		}
	}
}

// unclear explains why a CLI would interpret a pattern differently than intended; "" if it
// would not.
func unclear(rule agent.Rule, rules []agent.Rule) string {
	open := strings.TrimSuffix(rule.Pattern, "*")
	switch {
	case open == "" || strings.Contains(open, "*"):
		return "a * is allowed only at the end, after other text"
	case strings.ContainsAny(open, "(),\\\n") || strings.HasSuffix(rule.Pattern, ":*"):
		return "brackets, commas, backslashes and :* have another meaning there"
	}
	for _, other := range rules {
		shorter := strings.TrimSuffix(other.Pattern, "*")
		if rule.Permission == agent.Allow && other.Permission == agent.Deny && other.Pattern != "*" && len(other.Pattern) < len(rule.Pattern) && strings.HasPrefix(open, strings.TrimRight(shorter, " ")) {
			return fmt.Sprintf("%q denies it, and denials take precedence there", other.Pattern)
		}
	}
	return ""
}

// instead suggests what to write about a power instead of what cannot be enforced.
func (p *permitting) instead(power agent.Power) string {
	var advice []string
	here := p.kept(power, p.talks())
	if slices.Contains(granted[p.mode], power) && !slices.Contains(here, "allow") {
		here = slices.Insert(here, 0, "allow")
	}
	if len(here) > 0 {
		advice = append(advice, "it supports "+spell(power, here)+" there")
	}
	switch {
	case p.talks() && p.m.headless:
		if there := p.kept(power, false); len(there) > 0 {
			advice = append(advice, "in its other modes it supports "+spell(power, there))
		}
	case !p.talks() && p.m.acp != nil && p.m.acp.asks[power]:
		asking := "`mode: ask`"
		if p.mode == Edit && power != agent.MayWrite {
			asking += " with `write: allow`"
		}
		if len(advice) > 0 {
			asking = "or write " + asking
		} else {
			asking = "write " + asking
		}
		advice = append(advice, asking+": Hocket then decides by these permissions, and a person is asked for the rest")
	}
	if len(advice) == 0 {
		return fmt.Sprintf("remove `%s`; the supported modes are %s", power, p.m.modes())
	}
	return strings.Join(advice, "; ")
}

// kept returns the permissions for everything of a kind that the CLI supports.
func (p *permitting) kept(power agent.Power, talks bool) (words []string) {
	for _, permission := range []agent.Permission{agent.Allow, agent.Deny} {
		if said, can := p.m.powers[power].told[permission]; can && p.m.tellsAll(said, talks) {
			words = append(words, string(permission))
		}
	}
	return words
}

func spell(power agent.Power, permissions []string) string {
	out := make([]string, len(permissions))
	for i, permission := range permissions {
		out[i] = fmt.Sprintf("`%s: %s`", power, permission)
	}
	return strings.Join(out, " and ")
}

func (m *Manifest) modes() string {
	var names []string
	for _, mode := range []Mode{ReadOnly, Edit, Full} {
		if _, can := m.permissions[mode]; can {
			names = append(names, string(mode))
		}
	}
	if m.acp != nil {
		names = append(names, string(AskFirst))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// list adds a list of permissions in the CLI's own syntax.
func (p *permitting) list(written map[string]any, key string) {
	value, given := written[key]
	if !given || value == nil {
		return
	}
	list, isList := value.([]any)
	for _, entry := range list {
		if text, isText := entry.(string); !isText || text == "" {
			isList = false
		}
	}
	switch {
	case !isList:
		p.problem(agent.Power(key), fmt.Sprintf("write a list of strings, in the syntax of %s", p.m.Name), "%s cannot be %s", key, workflow.FormatJSON(value))
	case p.m.words[key] != nil && p.m.tellsAll(p.m.words[key], p.talks()):
		for _, entry := range list {
			said, _ := worded(map[string]any(p.m.words[key]), workflow.FormatText(entry)).(map[string]any)
			p.values.add(said)
		}
	case len(list) > 0 && !p.m.tells(key, p.talks()):
		p.problem(agent.Power(key), fmt.Sprintf("remove `%s`, and use read, write, shell and network instead", key), "%s does not support a list for `%s`%s", p.m.Name, key, p.here())
	default:
		p.values.add(values{key: list})
	}
}

// rank gives denials precedence over allowances where entries become members of a map: an
// allowed name does not replace a power that is denied, or parts of it that were set
// before, and denials come last.
func (p *permitting) rank(before values) {
	for name, word := range p.m.words["deny"] {
		members, isMap := p.values[name].(map[string]any)
		how, _ := word.(map[string]any)
		denial, isText := how["{word}"].(string)
		if !isMap || !isText {
			continue
		}
		told, _ := before[name].(map[string]any)
		for pattern, parts := range told {
			_, inPart := parts.(map[string]any)
			if all, replaced := members[pattern].(string); inPart && replaced && all != denial {
				members, _ = merged(members, map[string]any{pattern: merged(parts, map[string]any{"*": all})}).(map[string]any)
			}
		}
		for _, power := range agent.Powers {
			if slices.Contains(withheld[p.mode], power) || agent.Whole(p.common.Named(power)) == agent.Deny {
				told, _ := p.m.powers[power].told[agent.Deny][name].(map[string]any)
				members, _ = merged(members, told).(map[string]any)
			}
		}
		p.values[name] = ranked(members, denial)
	}
}

// ranked orders a map of patterns for a CLI that uses the last match: first what applies to
// everything, then allowances, then partial allowances, and finally denials.
func ranked(members map[string]any, denial string) pairs {
	rank := func(p pair) int {
		_, inPart := p.value.(pairs)
		switch {
		case p.key == "*":
			return 0
		case p.value == denial:
			return 3
		case inPart:
			return 2
		}
		return 1
	}
	list := pairsOf(members)
	for i, p := range list {
		if parts, inPart := p.value.(map[string]any); inPart {
			list[i].value = ranked(parts, denial)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return rank(list[i]) < rank(list[j]) })
	return list
}

// worded inserts a word into a value in place of {word}.
func worded(v any, word string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{word}", word)
	case map[string]any:
		out := map[string]any{}
		for key, member := range v {
			out[strings.ReplaceAll(key, "{word}", word)] = worded(member, word)
		}
		return out
	}
	return v
}

// refuse returns the error for a task whose permissions the CLI cannot enforce.
func refuse(problems []agent.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return agent.Permanentf("permissions: %s", strings.Join(lines, "; "))
}
