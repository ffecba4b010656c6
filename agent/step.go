package agent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/workflow"
)

// stepWords are settings that a step may have whatever works from its prompt: what they
// mean is the same for all executors. An executor with a setting of such a name has its
// own meaning for it.
var stepWords = []string{"mode", "permission", "permissions", "tools", "maxSteps"}

// stepPowers are the powers, by the words for them in a step: ours, and those of opencode.
var stepPowers = map[string]Power{
	"read": MayRead, "write": MayWrite, "edit": MayWrite, "patch": MayWrite, "multiedit": MayWrite,
	"shell": MayRun, "bash": MayRun, "network": MayReach, "webfetch": MayReach, "websearch": MayReach,
}

// ForStep gives the definition and the settings with which a step is done. What the step
// says about permissions narrows those of the definition: a step takes away, and never
// adds.
func (t Traits) ForStep(d *Definition, settings map[string]any) (*Definition, map[string]any, []Problem) {
	given := func(word string) bool {
		_, own := t.Settings.Properties()[word]
		return settings[word] != nil && !own
	}
	if !t.Prompted || t.Settings == nil || !slices.ContainsFunc(stepWords, given) || !t.FromPrompt(&Task{Agent: d, Settings: settings}) {
		return d, settings, nil
	}
	s := stepReader{settings: maps.Clone(settings), permissions: maps.Clone(d.Permissions), edits: !t.CallsTools}
	if s.permissions == nil {
		s.permissions = map[string]any{}
	}
	for _, word := range stepWords {
		if given(word) {
			delete(s.settings, word)
			s.word(word, settings[word])
		}
	}
	narrowed := *d
	narrowed.Permissions = s.permissions
	return &narrowed, s.settings, s.problems
}

type stepReader struct {
	settings    map[string]any
	permissions map[string]any // of the definition, narrowed
	edits       bool           // without a mode the agent may write
	problems    []Problem
}

func (s *stepReader) problem(word, detail, summary string, args ...any) {
	s.problems = append(s.problems, Problem{Path: []string{word}, Summary: fmt.Sprintf(summary, args...), Detail: detail})
}

func (s *stepReader) word(word string, value any) {
	switch word {
	case "mode": // what kind of agent opencode makes of it: here every agent can be named
		if !slices.Contains([]any{"subagent", "primary", "all"}, value) {
			s.problem(word, "how much an agent may do stands under `permissions: {mode: …}` of its definition", "mode cannot be %s", workflow.FormatJSON(value))
		}
	case "maxSteps":
		if s.settings["max_turns"] == nil {
			s.settings["max_turns"] = value
		}
	case "permission", "permissions":
		if members, isMap := value.(map[string]any); isMap {
			s.permit(word, members)
		} else {
			s.permit(word, map[string]any{"*": value})
		}
	case "tools":
		s.tools(value)
	}
}

// tools reads tools that are on or off. One that is on is no more than the agent has.
func (s *stepReader) tools(value any) {
	members, isMap := value.(map[string]any)
	if !isMap {
		s.problem("tools", "write a map such as {write: false}; tools of the project stand under `tools` of the agent's definition", "tools of a step cannot be %s", workflow.FormatJSON(value))
		return
	}
	denied := map[string]any{}
	for name, on := range members {
		switch on {
		case true:
		case false:
			denied[name] = "deny"
		default:
			s.problem("tools", "write true or false", "tools.%s cannot be %s", name, workflow.FormatJSON(on))
		}
	}
	s.permit("tools", denied)
}

// permit narrows powers by the words of a step. "*" is about those that it does not name.
func (s *stepReader) permit(word string, members map[string]any) {
	named := map[Power]any{}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		power, known := stepPowers[key]
		switch {
		case key == "*":
		case known && named[power] == nil:
			named[power] = members[key]
		case known && Whole(s.rules(word, key, members[key])) == Deny: // of two words for a power
			named[power] = "deny"
		case members[key] != "allow" && !known:
			s.problem(word, "a step can take away read, write, shell and network; write the rest under `deny` in the agent's definition, in the words of its program", "%s.%s cannot be enforced by a step", word, key)
		}
	}
	for _, power := range Powers {
		value, ok := named[power]
		if !ok {
			value, ok = members["*"]
		}
		if ok {
			s.narrow(word, power, value)
		}
	}
}

// rules reads the permission of one power.
func (s *stepReader) rules(word, key string, value any) []Rule {
	r := permissionReader{rules: map[Power][]Rule{}, named: map[Power][]Rule{}}
	r.read(Power(key), value)
	for _, p := range r.problems {
		s.problem(word, p.Detail, "%s.%s", word, p.Summary)
	}
	return r.named[Power(key)]
}

// narrow narrows one power.
func (s *stepReader) narrow(word string, power Power, value any) {
	rules := s.rules(word, string(power), value)
	before, _ := ReadPermissions(s.permissions, "allow", "deny")
	mode, _ := s.permissions["mode"].(string)
	own := before.Named(power)
	all := Whole(own) == Allow || own == nil && (power == MayRead || mode == "full" || power == MayWrite && (mode == "edit" || mode == "" && s.edits))
	switch whole := Whole(rules); {
	case len(rules) == 0, whole == Allow, Whole(own) == Deny, power == MayWrite && own == nil && mode == "read-only":
	case whole == Deny, whole == AskFirst && (own == nil || Whole(own) != ""):
		s.permissions[string(power)] = string(whole)
	case all:
		narrowed := map[string]any{"*": string(Allow)}
		for _, rule := range rules {
			narrowed[rule.Pattern] = string(rule.Permission)
		}
		s.permissions[string(power)] = narrowed
	default:
		s.problem(word, "a step takes away, and never adds; write the patterns under `permissions` in the agent's definition",
			"a step cannot have patterns for `%s`, unless its agent may do all of it", power)
	}
}
