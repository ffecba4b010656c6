package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// stepWords are the settings that a step may have with any executor that works from a prompt, and
// that mean the same for all of them. If an executor has a setting with such a name, its own
// meaning applies.
var stepWords = []string{"mode", "permission", "permissions", "tools", "maxSteps"}

// stepPowers maps the words for permissions in a step, ours and those of opencode, to the
// permissions.
var stepPowers = map[string]Power{
	"read": MayRead, "write": MayWrite, "edit": MayWrite, "patch": MayWrite, "multiedit": MayWrite,
	"shell": MayRun, "bash": MayRun, "network": MayReach, "webfetch": MayReach, "websearch": MayReach,
}

// ForStep returns the definition and the settings for a step. Permissions in a step narrow
// those of the definition: a step can remove permissions but never add them.
func (t Traits) ForStep(d *Definition, settings map[string]any) (*Definition, map[string]any, []Problem) {
	given := func(word string) bool {
		_, own := t.Settings.Properties()[word]
		return settings[word] != nil && !own
	}
	if t.Settings == nil || !slices.ContainsFunc(stepWords, given) {
		return d, settings, nil
	}
	s := stepReader{settings: maps.Clone(settings), permissions: maps.Clone(d.Permissions), edits: !t.CallsTools}
	exact := !t.FromPrompt(&Task{Agent: d, Settings: settings})
	if exact {
		s.permissions = map[string]any{"mode": "full"} // it may do what its settings say
	}
	if s.permissions == nil {
		s.permissions = map[string]any{}
	}
	for _, word := range stepWords {
		if given(word) {
			delete(s.settings, word)
			s.word(word, settings[word])
		}
	}
	if exact {
		delete(s.settings, "max_turns")
		if len(s.permissions) > 1 && len(s.problems) == 0 {
			s.problem(firstOf(settings, "permission", "permissions", "tools"), unenforcedDetail, "%s does exactly what the settings say, and enforces no permissions", d.Agent)
		}
		return d, s.settings, s.problems
	}
	narrowed := *d
	narrowed.Permissions = s.permissions
	return &narrowed, s.settings, s.problems
}

// unenforcedDetail says what to do if permissions cannot be enforced.
const unenforcedDetail = "set `agent` to one that works from a prompt"

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
	case "mode": // the kind of agent in opencode; in Hocket every agent can be named
		kinds := []string{"subagent", "primary", "all"}
		if kind, _ := value.(string); !slices.Contains(kinds, kind) {
			s.problem(word, cmp.Or(workflow.DidYouMean(kind, kinds), "write `permissions: {mode: …}` in the agent's definition"), "mode cannot be %s", workflow.FormatJSON(value))
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

// tools reads tools that are switched on or off. Switching one on adds nothing to what the
// agent has.
func (s *stepReader) tools(value any) {
	members, isMap := value.(map[string]any)
	if !isMap {
		s.problem("tools", "write a map such as {write: false}; list the project's tools under `tools` in the agent's definition", "`tools` of a step must be a map, not %s", workflow.FormatJSON(value))
		return
	}
	permissions := map[string]any{}
	for name, on := range members {
		switch on {
		case true:
			permissions[name] = string(Allow)
		case false:
			permissions[name] = string(Deny)
		default:
			s.problem("tools", "write true or false", "tools.%s cannot be %s", name, workflow.FormatJSON(on))
		}
	}
	s.permit("tools", permissions)
}

// permit narrows permissions by those in a step. "*" applies to all that the step does not
// name.
func (s *stepReader) permit(word string, members map[string]any) {
	named := map[Power][]Rule{}
	for _, key := range sorted.Keys(members) {
		power, known := stepPowers[key]
		switch {
		case key == "*":
		case known:
			named[power] = s.both(word, power, named[power], s.rules(word, key, members[key]))
		case members[key] != string(Allow):
			s.problem(word, "a step can remove read, write, shell and network; write other rules under `deny` in the agent's definition, in the syntax of its program", "%s.%s cannot be enforced by a step", word, key)
		}
	}
	for _, power := range Powers {
		rules := named[power]
		if rules == nil && members["*"] != nil {
			rules = s.rules(word, string(power), members["*"])
		}
		s.narrow(word, power, rules)
	}
}

// both merges the rules for a permission that has two names in a step, such as edit and
// write.
func (s *stepReader) both(word string, power Power, a, b []Rule) []Rule {
	switch wholeA, wholeB := Whole(a), Whole(b); {
	case len(a) == 0 || wholeA == Allow || wholeB == Deny:
		return b
	case len(b) == 0 || wholeB == Allow || wholeA == Deny || wholeA == wholeB && wholeA != "":
		return a
	}
	s.problem(word, "remove one of them", "%s names `%s` twice, with different values", word, power)
	return a
}

// rules reads the value of one permission.
func (s *stepReader) rules(word, key string, value any) []Rule {
	r := permissionReader{rules: map[Power][]Rule{}, named: map[Power][]Rule{}}
	r.read(Power(key), value)
	for _, p := range r.problems {
		s.problem(word, p.Detail, "%s.%s", word, p.Summary)
	}
	return r.named[Power(key)]
}

// narrow narrows one permission by the rules of a step.
func (s *stepReader) narrow(word string, power Power, rules []Rule) {
	before := s.effective(power)
	switch whole := Whole(rules); {
	case len(rules) == 0, whole == Allow, Whole(before) == Deny:
	case whole == Deny:
		s.permissions[string(power)] = string(Deny)
	case whole == AskFirst:
		asked := make([]Rule, len(before))
		for i, r := range before {
			asked[i] = Rule{r.Pattern, Stricter(r.Permission, AskFirst)}
		}
		s.set(power, asked)
	case Whole(before) != Allow:
		s.problem(word, "a step can only remove permissions; write the patterns under `permissions` in the agent's definition",
			"a step cannot have patterns for `%s` unless its agent is allowed all of it", power)
	case power == MayWrite && s.permissions["mode"] != "full" && slices.ContainsFunc(rules, namesGuarded):
		s.problem(word, "an agent that can change these files can run commands or extend its own permissions; allow it in the agent's definition", "a step cannot allow writing to %s", strings.Join(guarded, ", "))
	default:
		s.set(power, append([]Rule{{"*", Allow}}, rules...))
	}
}

// effective returns the rules for a permission without the step.
func (s *stepReader) effective(power Power) []Rule {
	before, _ := ReadPermissions(s.permissions, "allow", "deny")
	if own := before.Named(power); own != nil {
		return own
	}
	mode, _ := s.permissions["mode"].(string)
	if power == MayWrite && mode == "" && s.edits {
		return []Rule{{"*", Allow}}
	}
	return modes[mode][power]
}

// set stores rules, the last one for each pattern. A single rule for everything is stored
// as a plain value.
func (s *stepReader) set(power Power, rules []Rule) {
	patterns := map[string]any{}
	for _, r := range rules {
		patterns[r.Pattern] = string(r.Permission)
	}
	if all := patterns["*"]; all != nil && !slices.ContainsFunc(rules, func(r Rule) bool { return patterns[r.Pattern] != all }) {
		s.permissions[string(power)] = all
		return
	}
	s.permissions[string(power)] = patterns
}

// namesGuarded reports whether a rule allows files that are guarded unless a rule names
// them.
func namesGuarded(r Rule) bool {
	return r.Permission == Allow && slices.ContainsFunc(guarded, func(name string) bool { return strings.Contains(strings.ToLower(r.Pattern), name) })
}
