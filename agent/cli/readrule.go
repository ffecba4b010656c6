package cli

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// takes are what a rule can take from an event.
var takes = []string{"text", "delta", "message", "tool", "input", "call", "output", "path", "note", "session", "model", "result", "structured", "error", "status", "reset"}

// figures are what a rule can count.
var figures = []string{"tokens_in", "tokens_in_all", "tokens_out", "cache_read", "cache_write", "cost_usd"}

func (r *reader) reply(n strictyaml.Node) {
	m := n.Map()
	if r.m.reply.format = m.Word("format", "lines", "json", "text"); r.m.reply.format == "" {
		r.m.reply.format = "lines"
	}
	if file := m.Get("file"); file.Exists() {
		r.replyFile(file)
	}
	rules := m.Get("rules")
	for _, entry := range rules.List() {
		r.m.reply.rules = append(r.m.reply.rules, r.rule(entry.Map()))
	}
	if r.m.reply.format == "text" && rules.Exists() {
		rules.Key().Errorf(CodeManifest, "remove them, or set another `format`", "plain text has no events for rules")
	}
	m.Done()
}

// replyFile reads the name of a file that the CLI writes.
func (r *reader) replyFile(n strictyaml.Node) {
	name := n.Name()
	r.m.reply.file = name
	switch {
	case !localName(name):
		n.Errorf(CodeManifest, "write a name such as usage.json", "%q is outside the directory for files", name)
	case !r.m.uses["tmp"]:
		n.Errorf(CodeManifest, `write "{tmp}/`+name+`" among args`, "the manifest does not tell the CLI where to write %q", name)
	}
}

func (r *reader) rule(m *strictyaml.Map) rule {
	var rule rule
	rule.when = r.conditions(m.Get("when"))
	if each := m.Get("each"); each.Exists() {
		if rule.each = r.path(each); rule.each == nil {
			rule.each = path{}
		}
	}
	where := m.Get("where")
	if rule.where = r.conditions(where); where.Exists() && rule.each == nil {
		where.Key().Errorf(CodeManifest, "use `when`, or set `each` to the path of the entries", "`where` applies to the entries of a list, but there is no list")
	}
	rule.take = r.fields(m.Get("take"), takes)
	rule.note = r.notes(m.Get("note"))
	rule.add = r.fields(m.Get("add"), figures)
	rule.total = r.fields(m.Get("total"), figures)
	rule.means = Meaning(m.Word("means", meanings...))
	rule.stop = m.Bool("stop")
	rule.failed = r.conditions(m.Get("failed"))
	rule.change = agent.ChangeKind(m.Word("change", string(agent.Created), string(agent.Modified), string(agent.Deleted), string(agent.Written)))
	m.Done()
	return rule
}

// notes reads lines for the log, in which a path in braces stands for the value at that
// path.
func (r *reader) notes(n strictyaml.Node) (list []template) {
	for _, entry := range n.OneOrMany() {
		if !entry.Exists() {
			continue
		}
		words, wrong := parseTemplate(entry.Name())
		if wrong != "" {
			entry.Errorf(CodeManifest, "write {.path} for a value of the event, and {{ and }} for braces", "%s", wrong)
		}
		for _, name := range words.names() {
			if _, ok := parsePath(name); !ok {
				entry.Errorf(CodeManifest, "write the keys with a dot before each: {.error.status}", "invalid path %q", name)
			}
		}
		list = append(list, words)
	}
	return list
}

// path reads a path; nil if it is invalid.
func (r *reader) path(n strictyaml.Node) path {
	p, ok := parsePath(n.Name())
	if !ok {
		n.Errorf(CodeManifest, "write the keys with a dot before each: .message.content", "invalid path %q", n.Written())
		return nil
	}
	return p
}

// fields reads what is taken from where: one path, or a list of alternatives.
func (r *reader) fields(n strictyaml.Node, names []string) map[string]paths {
	m, out := n.Map(), map[string]paths{}
	for _, name := range names {
		for _, alternative := range m.Get(name).OneOrMany() {
			if !alternative.Exists() {
				continue
			}
			if p := r.path(alternative); p != nil {
				out[name] = append(out[name], p)
			}
		}
	}
	m.Done()
	return out
}

// conditions reads what must hold: for each path a value, a list of possible values, or
// {not: …} or {matches: …}.
func (r *reader) conditions(n strictyaml.Node) []condition {
	var list []condition
	for _, e := range n.Map().Entries() {
		at, ok := parsePath("." + e.Name)
		if !ok {
			e.Key.Errorf(CodeManifest, "write the keys with dots between them: message.role", "invalid path %q", e.Name)
			continue
		}
		c := condition{at: at}
		switch {
		case e.Value.IsMap():
			r.condition(e.Value.Map(), &c)
		default:
			c.oneOf = r.scalars(e.Value)
		}
		list = append(list, c)
	}
	return list
}

func (r *reader) condition(m *strictyaml.Map, c *condition) {
	not, matches := m.Get("not"), m.Get("matches")
	switch {
	case not.Exists() == matches.Exists():
		m.Node().Errorf(CodeManifest, "write {not: VALUE} or {matches: PATTERN}", "a condition needs either `not` or `matches`")
	case not.Exists():
		c.not, c.oneOf = true, r.scalars(not)
	default:
		c.matches = r.pattern(matches)
	}
	m.Done()
}

func (r *reader) scalars(n strictyaml.Node) []any {
	var list []any
	for _, entry := range n.OneOrMany() {
		if !entry.IsScalar() {
			entry.WrongType("a string, a number, true, false or null")
		}
		list = append(list, entry.Value())
	}
	return list
}

func (r *reader) pattern(n strictyaml.Node) *regexp.Regexp {
	re, err := regexp.Compile(n.Name())
	if err != nil {
		n.Errorf(CodeManifest, "write an RE2 regular expression", "invalid pattern: %v", err)
		return nil
	}
	return re
}

// failures are the possible meanings of an exit status or an error message.
var failures = slices.DeleteFunc(slices.Clone(meanings), func(m string) bool { return m == string(Success) })

func (r *reader) exits(n strictyaml.Node) {
	r.m.exits = map[int]Meaning{}
	for _, e := range n.Map().Entries() {
		status, err := strconv.Atoi(e.Name)
		if err != nil || status < 1 || status > 255 {
			e.Key.Errorf(CodeManifest, "write a number from 1 to 255; 0 is a success", "%q is not a failing exit status", e.Name)
		}
		r.m.exits[status] = Meaning(e.Value.Word(failures...))
	}
}

func (r *reader) errors(n strictyaml.Node) (list []errorRule) {
	for _, entry := range n.List() {
		m := entry.Map()
		rule := errorRule{means: Meaning(m.Word("means", failures...))}
		matches := m.Get("matches")
		if rule.matches = r.pattern(matches); !matches.Exists() || rule.means == "" {
			entry.Errorf(CodeManifest, "write both", "an error rule needs `matches` and `means`")
		}
		m.Done()
		if rule.matches != nil {
			list = append(list, rule)
		}
	}
	return list
}
