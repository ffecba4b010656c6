package agent

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// CodeDefinition is the code of errors in an agent file other than YAML errors.
const CodeDefinition = "agent-definition"

// ReadDefinition reads an agent file, .hocket/agents/NAME.yml:
//
//	name           default: the file name without its extension
//	description    for people, and for choosing an agent
//	role           tasks may name the role instead of the agent
//	capabilities   list; tasks may name one that no other agent has
//	agent          what does the work: shell, file, http, or a CLI or model
//	prompt         system prompt
//	model          for agents that have several
//	tools          list of tools that the agent may use
//	mcp            list of MCP servers, by their names in config.yml
//	max_turns      most model responses in one attempt
//	inputs         what its tasks are given: a list of names, or by name a type, a
//	               default, or {type, description, required, default}
//	permissions    map; what it may do
//	settings       map; what only the executor understands. A task's own `config`
//	               replaces settings key by key. No references here
//	timeout        duration of an attempt, if the task has none;
//	timeout_mins   the same in minutes
//	max_output_kb  most that an attempt may give back
//	retry          attempts in all, or {attempts, backoff, delay, max_delay}
//	budget         {max_cost_usd, max_tokens} of one attempt
//	queue          label of the workers that do its tasks, for a driver with workers
//	place          any: its tasks need not be done on the machine of others of the run
//	source         {from, file, imported_at, digest, written} of an imported agent
//
// It reports every error. The definition is nil only if the file is not YAML.
func ReadDefinition(file string, text []byte) (*Definition, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	root := doc.Root()
	if !root.Exists() && !doc.Readable() {
		return nil, doc.Diagnostics()
	}
	base := path.Base(filepath.ToSlash(file))
	d := &Definition{ID: strings.TrimSuffix(base, path.Ext(base)), Pos: doc.Start()}
	if root.Exists() {
		d.Pos = root.Pos()
	}
	d.read(root.Map())
	found := doc.Diagnostics()
	if d.Agent == "" && d.Prompt == "" && d.Settings == nil && !found.Errors() {
		found = append(found, workflow.Errorf(d.Pos, CodeDefinition,
			"add a `prompt`, or set `agent` to an executor", "agent %q has neither a prompt nor an executor", d.Name))
	}
	return d, found
}

func (d *Definition) read(m *strictyaml.Map) {
	m.Get("$schema")
	d.Name = d.ID
	if n := m.Get("name"); n.Exists() {
		d.Name = n.Name()
		if strings.TrimSpace(d.Name) == "" {
			if !n.IsNull() && n.IsScalar() {
				n.Errorf(CodeDefinition, "write a name, or remove the key to use the file name", "the agent's name is empty")
			}
			d.Name = d.ID // for listing agents that cannot be used
		}
		d.Pos = n.Pos()
	}
	d.Description = m.String("description")
	d.Role = m.Name("role")
	d.Capabilities = m.Strings("capabilities")
	d.Agent = m.String("agent")
	d.Prompt = m.String("prompt")
	d.Model = m.String("model")
	d.Tools = m.Strings("tools")
	d.Servers = m.Strings("mcp")
	d.MaxTurns = m.Int("max_turns", 1)
	d.Inputs = readInputs(m.Get("inputs"))
	d.Permissions = values(m.Get("permissions"))
	d.Settings = values(m.Get("settings"))
	d.Timeout = readTimeout(m)
	d.MaxOutputKB = m.Int("max_output_kb", 1)
	d.Retry = readRetry(m.Get("retry"))
	d.Budget = readBudget(m.Map("budget"))
	d.Queue = readQueue(m.Get("queue"))
	d.Anywhere = m.Word("place", "any") != ""
	d.Source = readSource(m.Get("source"))
	d.Keys = map[string]workflow.Pos{}
	for _, optional := range optionalKeys {
		if n := m.Peek(optional.key); n.Exists() {
			d.Keys[optional.key] = n.Key().Pos()
		}
	}
	if n := m.Peek("role"); n.Exists() {
		d.Keys["role"] = n.Key().Pos()
	}
	m.Done()
}

// readQueue reads the label of workers. It becomes part of a name on their server.
func readQueue(n strictyaml.Node) string {
	label := n.Name()
	if strings.ContainsFunc(label, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		n.Errorf(CodeDefinition, "use letters, digits, '-', '_' and '.'", "the label %q is not valid", label)
	}
	return label
}

// values returns a map of arbitrary values; nil if the key is missing.
func values(n strictyaml.Node) map[string]any {
	if !n.Exists() {
		return nil
	}
	out := map[string]any{}
	for _, e := range n.Map().Entries() {
		out[e.Name] = e.Value.Value()
	}
	return out
}

// inputTypes are the words that name the type of an input, as opposed to a default.
var inputTypes = []any{"string", "text", "number", "integer", "boolean", "array", "list", "object", "any"}

// readInputs reads the inputs of an agent's tasks.
func readInputs(n strictyaml.Node) map[string]any {
	if !n.Exists() || n.IsNull() {
		return nil
	}
	out := map[string]any{}
	if n.IsList() {
		for _, entry := range n.List() {
			out[entry.Name()] = nil
		}
		return out
	}
	for _, e := range n.Map().Entries() {
		switch {
		case e.Value.IsMap():
			m := e.Value.Map()
			for _, key := range []string{"type", "description", "required"} {
				m.Get(key)
			}
			out[e.Name] = m.Value("default")
			m.Done()
		case !slices.Contains(inputTypes, e.Value.Value()):
			out[e.Name] = e.Value.Value()
		default:
			out[e.Name] = nil
		}
	}
	return out
}

func readTimeout(m *strictyaml.Map) time.Duration {
	timeout, mins := m.Get("timeout"), m.Get("timeout_mins")
	given, length := timeout, timeout.Duration()
	if mins.Exists() {
		given, length = mins, mins.Minutes()
		if timeout.Exists() {
			mins.Key().Errorf(CodeDefinition, "keep one of them", "both timeout and timeout_mins are given")
		}
	}
	if length == 0 && given.IsScalar() && isZero(given.Written()) {
		given.Errorf(CodeDefinition, "set a positive duration, or remove it", "%s must be positive", given.Label())
	}
	return length
}

// isZero distinguishes a zero, which would have no effect, from an invalid number or
// duration, which is reported elsewhere.
func isZero(written string) bool {
	number, err := strconv.ParseFloat(written, 64)
	if err == nil {
		return number == 0
	}
	length, err := time.ParseDuration(written)
	return err == nil && length == 0
}

func readRetry(n strictyaml.Node) workflow.Retry {
	if !n.Exists() {
		return workflow.Retry{}
	}
	if n.IsScalar() && !n.IsNull() {
		return workflow.Retry{Attempts: int(n.Int(1))}
	}
	m := n.Map()
	if n.IsMap() && !m.Peek("attempts").Exists() {
		n.Errorf(CodeDefinition, "write, for example, attempts: 3, or remove retry", "retry is missing attempts")
	}
	r := workflow.Retry{Attempts: m.Int("attempts", 1), Delay: m.Duration("delay"), MaxDelay: m.Duration("max_delay")}
	if word := m.Word("backoff", "fixed", string(workflow.Linear), string(workflow.Exponential)); word != "fixed" {
		r.Backoff = workflow.Backoff(word)
	}
	m.Done()
	return r
}

func readBudget(m *strictyaml.Map) (b workflow.Budget) {
	cost, tokens := m.Get("max_cost_usd"), m.Get("max_tokens")
	if usd := cost.Float(); usd > 0 {
		b.CostUSD = workflow.AtMost(usd)
	}
	if n := tokens.Int(1); n > 0 {
		b.Tokens = workflow.AtMost(n)
	}
	if cost.IsScalar() && isZero(cost.Written()) {
		cost.Errorf(CodeDefinition, "set a number above 0, or remove it for no limit", "%s must be positive", cost.Label())
	}
	m.Done()
	return b
}

func readSource(n strictyaml.Node) *Source {
	if !n.Exists() {
		return nil
	}
	m := n.Map()
	s := &Source{
		From: m.String("from"), File: m.String("file"), ImportedAt: m.Name("imported_at"),
		Digest: m.String("digest"), Written: m.String("written"),
	}
	m.Done()
	return s
}
