package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// Permission is whether an agent may do something.
type Permission string

// The permissions, from widest to narrowest.
const (
	Allow    Permission = "allow"
	AskFirst Permission = "ask" // ask a person every time
	Deny     Permission = "deny"
)

// Power is a kind of action that can be permitted to an agent.
type Power string

// The powers, as definitions name them.
const (
	MayRead  Power = "read"    // files of the project; matched by path
	MayWrite Power = "write"   // files of the project; matched by path
	MayRun   Power = "shell"   // commands; matched by command line
	MayReach Power = "network" // pages and requests; matched by URL, after the method unless it is GET or HEAD
)

// Powers lists all powers in the order in which they are shown.
var Powers = []Power{MayRead, MayWrite, MayRun, MayReach}

// modes are named sets of permissions; "" is the default of a definition without a mode.
var modes = map[string]map[Power][]Rule{
	"":          {MayRead: {{"*", Allow}}, MayWrite: {{"*", AskFirst}}, MayRun: {{"*", AskFirst}}, MayReach: onlyGet(AskFirst)},
	"read-only": {MayRead: {{"*", Allow}}, MayWrite: {{"*", Deny}}, MayRun: {{"*", Deny}}, MayReach: onlyGet(Deny)},
	"edit":      {MayRead: {{"*", Allow}}, MayWrite: {{"*", Allow}}, MayRun: {{"*", AskFirst}}, MayReach: onlyGet(AskFirst)},
	"full":      {MayRead: {{"*", Allow}}, MayWrite: {{"*", Allow}}, MayRun: {{"*", Allow}}, MayReach: {{"*", Allow}}},
	"ask":       {MayRead: {{"*", Allow}}, MayWrite: {{"*", AskFirst}}, MayRun: {{"*", AskFirst}}, MayReach: {{"*", AskFirst}}},
}

// onlyGet allows GET and HEAD requests, and applies the given permission to all others.
func onlyGet(others Permission) []Rule {
	return []Rule{{"http://*", Allow}, {"https://*", Allow}, {"*", others}}
}

// guarded are directories that would let an agent with write access run commands, or extend
// its own permissions. A pattern must name them explicitly; in mode full nothing is
// guarded.
var guarded = append([]string{".git"}, Homes...)

// Permissions is what an agent may do. The zero value permits nothing.
type Permissions struct {
	rules map[Power][]Rule
	named map[Power][]Rule // as written in the definition
	full  bool
}

// Rule is a permission for everything that matches a pattern, in which * matches any text.
type Rule struct {
	Pattern    string
	Permission Permission
}

// ReadPermissions reads the permissions of a definition: a mode, and for each power a
// permission or a map of patterns to permissions. The keys in others are left to the
// caller.
//
//	mode: edit                         # read-only, edit, full or ask
//	shell: {"go test *": allow, "*": ask}
//	network: deny
func ReadPermissions(written map[string]any, others ...string) (Permissions, []Problem) {
	r := permissionReader{rules: map[Power][]Rule{}, named: map[Power][]Rule{}}
	mode, _ := written["mode"].(string)
	if _, known := modes[mode]; !known || mode == "" && written["mode"] != nil {
		r.problem([]string{"mode"}, "write one of read-only, edit, full, ask", "mode cannot be %s", workflow.FormatJSON(written["mode"]))
	}
	maps.Copy(r.rules, modes[mode])
	for _, key := range sorted.Keys(written) {
		switch power := Power(key); {
		case key == "mode" || slices.Contains(others, key):
		case slices.Contains(Powers, power):
			r.read(power, written[key])
		case key == "allow" || key == "deny":
			r.problem([]string{key}, "use read, write, shell or network, which all agents support", "`%s` is supported for CLI agents only", key)
		default:
			names := slices.Sorted(slices.Values(append([]string{"mode", "network", "read", "shell", "write"}, others...)))
			detail := workflow.DidYouMean(key, names)
			if detail == "" {
				detail = "available: " + strings.Join(names, ", ")
			}
			r.problem([]string{key}, detail, "unknown permission %q", key)
		}
	}
	return Permissions{r.rules, r.named, mode == "full"}, r.problems
}

// Named returns the rules that a definition has for a power, by pattern; if there are none,
// those of its mode apply.
func (p Permissions) Named(power Power) []Rule { return p.named[power] }

// Whole returns the permission that rules give for everything; "" if it depends on the
// action.
func Whole(rules []Rule) Permission {
	if len(rules) == 1 && rules[0].Pattern == "*" {
		return rules[0].Permission
	}
	return ""
}

type permissionReader struct {
	rules    map[Power][]Rule
	named    map[Power][]Rule
	problems []Problem
}

func (r *permissionReader) problem(path []string, detail, summary string, args ...any) {
	r.problems = append(r.problems, Problem{Path: path, Summary: fmt.Sprintf(summary, args...), Detail: detail})
}

// read reads the permission for one power.
func (r *permissionReader) read(power Power, written any) {
	patterns, isMap := written.(map[string]any)
	if !isMap {
		patterns = map[string]any{"*": written}
	}
	rules := []Rule{}
	for _, pattern := range sorted.Keys(patterns) {
		text, _ := patterns[pattern].(string)
		if p := Permission(text); p == Allow || p == AskFirst || p == Deny {
			rules = append(rules, Rule{pattern, p})
			continue
		}
		path := []string{string(power)}
		if isMap {
			path = append(path, pattern)
		}
		r.problem(path, "write one of allow, ask, deny", "%s cannot be %s", strings.Join(path, "."), workflow.FormatJSON(patterns[pattern]))
	}
	r.named[power] = rules
	// Ask about anything that matches no pattern.
	r.rules[power] = append(slices.Clone(rules), Rule{"", AskFirst})
}

// For returns the permission for an action. Among the matching patterns, the longest one
// counts, and among equally long ones the narrowest permission.
func (p Permissions) For(power Power, what string) Permission {
	permission, by := p.decide(power, what)
	if power == MayWrite && permission == Allow && !p.full && guards(by.Pattern, what) {
		return AskFirst
	}
	return permission
}

// guards reports whether a path is in a guarded directory that the pattern that allows it
// does not name. On some systems .GIT is the same as .git.
func guards(pattern, path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		part = strings.TrimRight(strings.ToLower(part), ". ") // Windows treats ".git. " as .git
		return slices.ContainsFunc(guarded, func(name string) bool { return name == part && !strings.Contains(pattern, name) })
	})
}

func (p Permissions) decide(power Power, what string) (Permission, Rule) {
	if power == MayReach {
		what = Address(what)
	}
	best := Rule{Permission: Deny}
	found := false
	for _, r := range p.rules[power] {
		if r.Pattern != "" && !r.fits(power, what) {
			continue
		}
		if !found || len(r.Pattern) > len(best.Pattern) || len(r.Pattern) == len(best.Pattern) && narrower(r.Permission, best.Permission) {
			best, found = r, true
		}
	}
	return best.Permission, best
}

// Never reports whether all actions of a kind are denied, so that no tool for them needs to
// be offered.
func (p Permissions) Never(power Power) bool {
	return !slices.ContainsFunc(p.rules[power], func(r Rule) bool { return r.Permission != Deny && r.Pattern != "" }) && p.For(power, "") == Deny
}

// ForCommand is like For, for a command that a shell will interpret. A pattern cannot see
// through a script: if a script does more than run one program, each part needs permission,
// and no pattern other than * is enough to run it without asking.
func (p Permissions) ForCommand(script string) Permission {
	permission, by := p.command(script)
	if !strings.ContainsAny(script, "\n;&|<>()$`{}") {
		return permission
	}
	if permission == Allow && by.Pattern != "*" {
		permission = AskFirst
	}
	for part := range strings.FieldsFuncSeq(script, func(r rune) bool { return strings.ContainsRune("\n;&|()`{}", r) }) {
		if strings.TrimSpace(part) != "" {
			own, _ := p.command(part)
			permission = Stricter(permission, own)
		}
	}
	return permission
}

// command decides about a single command. It may be written so that a deny pattern does not
// match, as in `\rm x` or `A=1 "rm" x`, so the words that a shell makes of it are matched
// as well.
func (p Permissions) command(text string) (Permission, Rule) {
	permission, by := p.decide(MayRun, strings.TrimSpace(text))
	words := strings.Fields(strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(text))
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if plain, why := p.decide(MayRun, strings.Join(words, " ")); narrower(plain, permission) && len(why.Pattern) >= len(by.Pattern) {
		return plain, why
	}
	return permission, by
}

// Stricter returns the narrower of two permissions.
func Stricter(a, b Permission) Permission {
	if narrower(a, b) {
		return a
	}
	return b
}

func narrower(a, b Permission) bool {
	order := []Permission{Allow, AskFirst, Deny}
	return slices.Index(order, a) > slices.Index(order, b)
}

// fits reports whether an action matches the pattern of a rule.
func (r Rule) fits(power Power, what string) bool {
	switch power {
	case MayReach:
		return leads(r.Pattern, what)
	case MayRun: // "ls *" also matches ls, as in CLI agents
		if program, open := strings.CutSuffix(r.Pattern, " *"); open && matches(program, what) {
			return true
		}
	case MayRead, MayWrite:
	}
	return matches(r.Pattern, what)
}

// matches reports whether a text matches a pattern.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// questions are asked when a person decides.
var questions = map[Power]string{
	MayRead:  "May the agent %s read this?",
	MayWrite: "May the agent %s change this?",
	MayRun:   "May the agent %s run this command?",
	MayReach: "May the agent %s make this request?",
}

// Permitted returns the permissions of the agent of a task. The error is permanent.
func (t *Task) Permitted() (Permissions, error) {
	var written map[string]any
	if t.Agent != nil {
		written = t.Agent.Permissions
	}
	permissions, problems := ReadPermissions(written)
	if len(problems) == 0 {
		return permissions, nil
	}
	return Permissions{}, Permanentf("permissions: %s", join(problems))
}

// Permit returns nil if an action is allowed, by permission or by a person who was asked.
// The error is for the agent, which continues without it. The person sees detail: all of
// what would be done.
func (t *Task) Permit(ctx context.Context, permission Permission, power Power, detail string) error {
	switch permission {
	case Allow:
		return nil
	case AskFirst:
		return t.askTo(ctx, power, detail)
	case Deny:
	}
	return fmt.Errorf("the permissions of this agent do not allow this (%s); continue without it", power)
}

func (t *Task) askTo(ctx context.Context, power Power, detail string) error {
	name := ""
	if t.Agent != nil {
		name = t.Agent.Name
	}
	return t.Approve(ctx, fmt.Sprintf(questions[power], name), detail)
}

// Approve asks a person whether an action is allowed, and returns nil if so. The error is
// for the agent. If nobody can be asked, the action is not allowed.
func (t *Task) Approve(ctx context.Context, question, detail string) error {
	said, err := "", ErrNobody
	options := []string{string(Allow), string(Deny)}
	if t.Ask != nil {
		said, err = t.Ask(ctx, Question{Text: question, Detail: detail, Options: options})
	}
	switch {
	case errors.Is(err, ErrNobody):
		return errors.New("this needs a person's approval, and nobody is available to give it; continue without it")
	case err != nil:
		return fmt.Errorf("this needs a person's approval, and asking failed: %w", err)
	case said != options[0]:
		return errors.New("a person was asked and did not allow this; continue without it")
	}
	return nil
}
