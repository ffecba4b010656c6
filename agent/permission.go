package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Permission says whether an agent may do something.
type Permission string

// The permissions, from the widest to the narrowest.
const (
	Allow    Permission = "allow"
	AskFirst Permission = "ask" // a person, before every time
	Deny     Permission = "deny"
)

// Power is a kind of thing that an agent may be permitted to do.
type Power string

// The powers, by the words of a definition.
const (
	MayRead  Power = "read"    // files of the project; what is read is its path
	MayWrite Power = "write"   // files of the project; the path
	MayRun   Power = "shell"   // commands; the command line
	MayReach Power = "network" // pages and requests; the address, after the method where that is not GET or HEAD
)

// Powers are all of them, in the order in which they are told.
var Powers = []Power{MayRead, MayWrite, MayRun, MayReach}

// modes are sets of permissions under one name; "" is what holds where a definition
// names none.
var modes = map[string]map[Power][]Rule{
	"":          {MayRead: {{"*", Allow}}, MayWrite: {{"*", AskFirst}}, MayRun: {{"*", AskFirst}}, MayReach: onlyGet(AskFirst)},
	"read-only": {MayRead: {{"*", Allow}}, MayWrite: {{"*", Deny}}, MayRun: {{"*", Deny}}, MayReach: onlyGet(Deny)},
	"edit":      {MayRead: {{"*", Allow}}, MayWrite: {{"*", Allow}}, MayRun: {{"*", AskFirst}}, MayReach: onlyGet(AskFirst)},
	"full":      {MayRead: {{"*", Allow}}, MayWrite: {{"*", Allow}}, MayRun: {{"*", Allow}}, MayReach: {{"*", Allow}}},
	"ask":       {MayRead: {{"*", Allow}}, MayWrite: {{"*", AskFirst}}, MayRun: {{"*", AskFirst}}, MayReach: {{"*", AskFirst}}},
}

// onlyGet allows to look at what is in the network, and says what holds for requests
// that change something.
func onlyGet(others Permission) []Rule {
	return []Rule{{"http://*", Allow}, {"https://*", Allow}, {"*", others}}
}

// guarded are directories through which who may write could run commands, or permit
// itself more. A pattern that means them names them; in the mode full nothing is
// guarded.
var guarded = append([]string{".git"}, Homes...)

// Permissions are what an agent may do. The zero value permits nothing.
type Permissions struct {
	rules map[Power][]Rule
	named map[Power][]Rule // as the definition writes them
	full  bool
}

// Rule is a permission for what a pattern matches, in which * stands for any text.
type Rule struct {
	Pattern    string
	Permission Permission
}

// ReadPermissions reads the permissions of a definition: a mode, and for each power
// a permission or a map of patterns to permissions. Keys in others are left to who
// asks.
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
	for _, key := range slices.Sorted(maps.Keys(written)) {
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
				detail = "there are: " + strings.Join(names, ", ")
			}
			r.problem([]string{key}, detail, "unknown permission %q", key)
		}
	}
	return Permissions{r.rules, r.named, mode == "full"}, r.problems
}

// Named are the rules that a definition writes for a power, by their patterns; none:
// what its mode says holds.
func (p Permissions) Named(power Power) []Rule { return p.named[power] }

// Whole is the permission that rules give to all of a kind; "" it depends on what is
// done.
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

// read reads the permission of one power.
func (r *permissionReader) read(power Power, written any) {
	patterns, isMap := written.(map[string]any)
	if !isMap {
		patterns = map[string]any{"*": written}
	}
	rules := []Rule{}
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
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
	// What no pattern matches is asked for.
	r.rules[power] = append(slices.Clone(rules), Rule{"", AskFirst})
}

// For says whether something may be done. Of the patterns that match, the one with
// the most characters counts, and of equals the narrowest permission.
func (p Permissions) For(power Power, what string) Permission {
	permission, by := p.decide(power, what)
	if power == MayWrite && permission == Allow && !p.full && guards(by.Pattern, what) {
		return AskFirst
	}
	return permission
}

// guards says whether a path leads into a guarded directory that the pattern which
// allows it does not name. There are systems on which .GIT is .git.
func guards(pattern, path string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		part = strings.TrimRight(strings.ToLower(part), ". ") // Windows takes ".git. " for .git
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

// Never says that something of a kind is never permitted, so that the means to do it
// need not be offered.
func (p Permissions) Never(power Power) bool {
	return !slices.ContainsFunc(p.rules[power], func(r Rule) bool { return r.Permission != Deny && r.Pattern != "" }) && p.For(power, "") == Deny
}

// ForCommand is For of a command that a shell will read. A pattern cannot see through
// a script: one that does more than run one program needs the permission of each part,
// and a pattern that is not * is then not enough to go unasked.
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

// command decides about one command. It may be written so that a pattern which forbids
// it does not match, as in `\rm x` or `A=1 "rm" x`: then the words count that a shell
// makes of it.
func (p Permissions) command(text string) (Permission, Rule) {
	permission, by := p.decide(MayRun, strings.TrimSpace(text))
	words := strings.Fields(strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(text))
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	if plain, why := p.decide(MayRun, strings.Join(words, " ")); narrower(plain, permission) && len(why.Pattern) > len(by.Pattern) {
		return plain, why
	}
	return permission, by
}

// Stricter is the narrower of two permissions.
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

// fits says whether something is what the pattern of a rule describes.
func (r Rule) fits(power Power, what string) bool {
	switch power {
	case MayReach:
		return leads(r.Pattern, what)
	case MayRun: // "ls *" is ls too, as CLI agents read it
		if program, open := strings.CutSuffix(r.Pattern, " *"); open && matches(program, what) {
			return true
		}
	case MayRead, MayWrite:
	}
	return matches(r.Pattern, what)
}

// matches says whether a text is what a pattern describes.
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

// questions are asked where a person decides.
var questions = map[Power]string{
	MayRead:  "May the agent %s read this?",
	MayWrite: "May the agent %s change this?",
	MayRun:   "May the agent %s run this command?",
	MayReach: "May the agent %s make this request?",
}

// Permitted are the permissions of the agent of a task. The error is permanent.
func (t *Task) Permitted() (Permissions, error) {
	var written map[string]any
	if t.Agent != nil {
		written = t.Agent.Permissions
	}
	permissions, problems := ReadPermissions(written)
	if len(problems) == 0 {
		return permissions, nil
	}
	return permissions, Permanentf("permissions: %s", join(problems))
}

// Permit gives nil if something may be done: because it is permitted, or because a
// person who is asked allows it. The error is for the agent, which goes on without.
// detail is shown to the person: all of what would be done.
func (t *Task) Permit(ctx context.Context, permission Permission, power Power, detail string) error {
	switch permission {
	case Allow:
		return nil
	case AskFirst:
		return t.askTo(ctx, power, detail)
	case Deny:
	}
	return fmt.Errorf("the permissions of this agent do not allow it (%s); go on without it", power)
}

func (t *Task) askTo(ctx context.Context, power Power, detail string) error {
	name := ""
	if t.Agent != nil {
		name = t.Agent.Name
	}
	return t.Approve(ctx, fmt.Sprintf(questions[power], name), detail)
}

// Approve asks a person whether something may be done, and gives nil if it may. The error
// is for the agent. Where nobody can be asked, it may not.
func (t *Task) Approve(ctx context.Context, question, detail string) error {
	said, err := "", ErrNobody
	options := []string{string(Allow), string(Deny)}
	if t.Ask != nil {
		said, err = t.Ask(ctx, Question{Text: question, Detail: detail, Options: options})
	}
	switch {
	case errors.Is(err, ErrNobody):
		return errors.New("this needs the approval of a person, and nobody is here to give it; go on without it")
	case err != nil:
		return fmt.Errorf("this needs the approval of a person, who could not be asked: %w", err)
	case said != options[0]:
		return errors.New("a person was asked and did not allow this; go on without it")
	}
	return nil
}
