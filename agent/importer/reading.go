package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// reading is the state of reading one agent: its keys are taken one by one, and any that
// remain at the end are lost.
type reading struct {
	id     string // the name derived from its file
	keys   []string
	values map[string]any
	nodes  map[string]strictyaml.Node // the values whose order matters
	body   string
	digest string
	lost   []Lost
	refuse string
	agent  agent.Definition
	wishes map[string]any // settings, if the executor supports them

	mode    string          // how much it may do, in our terms; "": not specified
	limited bool            // it may use only some tools of its program:
	only    []string        // these
	denied  []string        // tools of its program that it may not use
	partial map[string]bool // servers with tools that it may not use
}

// frontIsList is the refusal of a file whose front matter is not a map.
const frontIsList = "its front matter is a list"

// newReading reads a Markdown file with front matter.
func newReading(file string, text []byte) *reading {
	r := &reading{id: strings.TrimSuffix(path.Base(file), ".md"), digest: digestOf(text)}
	front, body, ok := splitFront(text)
	if !ok {
		r.refuse = "it has no front matter between two lines of --- at its beginning"
		return r
	}
	r.body = body
	root, ok := readFront(file, front)
	if !ok {
		r.refuse = "its front matter is not valid YAML"
		return r
	}
	if root.IsList() {
		r.refuse = frontIsList
		return r
	}
	r.take(root)
	return r
}

// ofValues returns a reading of keys that were parsed already.
func ofValues(id string, values map[string]any) *reading {
	r := &reading{id: id, values: values, digest: digestOf([]byte(workflow.FormatJSON(values)))}
	for key := range values {
		r.keys = append(r.keys, key)
	}
	slices.Sort(r.keys)
	return r
}

func (r *reading) take(root strictyaml.Node) {
	r.values, r.nodes = map[string]any{}, map[string]strictyaml.Node{}
	for _, e := range root.Map().Entries() {
		if _, twice := r.values[e.Name]; !twice {
			r.keys = append(r.keys, e.Name)
		}
		r.values[e.Name], r.nodes[e.Name] = e.Value.Value(), e.Value
	}
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// splitFront splits a file into its front matter and the rest.
func splitFront(text []byte) (front []byte, body string, ok bool) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---"))
	first, rest, more := bytes.Cut(rest, []byte("\n"))
	if !ok || !more || len(bytes.TrimSpace(first)) > 0 {
		return nil, "", false
	}
	for at := 0; at < len(rest); {
		line, after := rest[at:], len(rest)
		if end := bytes.IndexByte(line, '\n'); end >= 0 {
			line, after = line[:end], at+end+1
		}
		if string(bytes.TrimRight(line, " \t")) == "---" {
			return rest[:at], string(rest[after:]), true
		}
		at = after
	}
	return nil, "", false
}

// readFront parses front matter as YAML. Often it is not valid YAML, since the programs
// that it was written for accept any line: "description: Use it when: …". Then plain lines
// are quoted.
func readFront(file string, front []byte) (strictyaml.Node, bool) {
	for _, text := range [][]byte{front, quoteLines(front)} {
		doc := strictyaml.Read(file, text)
		if root := doc.Root(); doc.Readable() && !doc.Failed() && (root.IsMap() || root.IsList()) {
			return root, true
		}
	}
	return strictyaml.Node{}, false
}

func quoteLines(front []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(front) {
		key, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), ":")
		value = strings.TrimSpace(value)
		if !ok || key == "" || strings.ContainsAny(key, " \t\"'#-{[") || value == "" || strings.ContainsAny(value[:1], "\"'[{|>&*!") {
			out.Write(line)
			continue
		}
		out.WriteString(key + ": " + strictyaml.Quote(value, false) + "\n")
	}
	return out.Bytes()
}

// found ends the reading.
func (r *reading) found(from, file string, user bool, target Target) Found {
	f := Found{From: from, File: file, User: user, Digest: r.digest}
	if f.Refuse = r.refusal(&f); f.Refuse != "" {
		return f
	}
	if r.agent.Prompt = text(r.body); r.agent.Prompt != "" {
		r.agent.Prompt += "\n"
	}
	r.agent.Agent = from
	if target.Knows == nil || !target.Knows(from) {
		r.agent.Agent = ""
		if r.agent.Prompt == "" {
			f.Refuse = "it has no prompt, and there is no executor " + from
			return f
		}
		r.lose("agent", "there is no executor "+from+", so the definition does not name an executor")
	}
	r.settlePermissions(from)
	r.enforced(target)
	if f.Refuse = r.refusal(&f); f.Refuse != "" {
		return f
	}
	r.settleServers(target)
	r.settleBounds(target)
	for _, key := range sorted.Keys(r.wishes) {
		if r.agent.Agent != "" && target.Takes != nil && target.Takes(r.agent.Agent, key, r.wishes[key]) {
			r.set(key, r.wishes[key])
		} else {
			r.lose(key, "the executor does not support this setting")
		}
	}
	for _, key := range r.keys {
		if v, left := r.values[key]; left && v != nil {
			r.lose(key, "unknown key")
		}
	}
	f.Agent, f.Lost = r.agent, r.lost
	return f
}

// refusal returns why the agent cannot be imported; for a file with several agents it says
// which.
func (r *reading) refusal(f *Found) string {
	if r.refuse != "" && f.shared() && r.id != "" {
		return r.id + ": " + r.refuse
	}
	return r.refuse
}

// settleBounds removes keys that the executor does not support: a definition with one could
// not run.
func (r *reading) settleBounds(target Target) {
	if target.Ignored == nil {
		return
	}
	for _, key := range target.Ignored(&r.agent) {
		switch key {
		case "model":
			r.agent.Model = ""
		case "mcp":
			r.agent.Servers = nil
		case "max_turns":
			r.agent.MaxTurns = 0
		default:
			continue // no source has it
		}
		r.lose(key, "the executor does not support it")
	}
}

func (r *reading) set(key string, value any) {
	if r.agent.Settings == nil {
		r.agent.Settings = map[string]any{}
	}
	r.agent.Settings[key] = value
}

// wish sets a setting if the executor supports it.
func (r *reading) wish(key string, value any) {
	if value == nil {
		return
	}
	if r.wishes == nil {
		r.wishes = map[string]any{}
	}
	r.wishes[key] = value
}

func (r *reading) lose(key, reason string) { r.lost = append(r.lost, Lost{key, reason}) }

// loseAll takes keys that are known to be unsupported, with the reason.
func (r *reading) loseAll(reason string, keys ...string) {
	for _, key := range keys {
		if v, ok := r.get(key); ok && v != nil {
			r.lose(key, reason)
		}
	}
}

// get takes a value.
func (r *reading) get(key string) (any, bool) {
	v, ok := r.values[key]
	delete(r.values, key)
	return v, ok
}

// text takes a string; a number or a boolean is taken as written.
func (r *reading) text(key string) string {
	v, ok := r.get(key)
	switch v := v.(type) {
	case nil:
	case string:
		return text(v)
	case json.Number, bool:
		return workflow.FormatText(v)
	default:
		if ok {
			r.lose(key, "it is not a string")
		}
	}
	return ""
}

// text returns a text without surrounding space and without characters that no file may
// contain.
func text(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "\ufffd"))
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return -1
		}
		return c
	}, s))
}

// count takes a positive integer.
func (r *reading) count(key string) int {
	v, ok := r.get(key)
	if !ok || v == nil {
		return 0
	}
	n, err := strconv.Atoi(workflow.FormatText(v))
	if err != nil || n < 1 || n > 1<<30 {
		r.lose(key, "it is not a positive integer")
		return 0
	}
	return n
}

// words takes a list of words, or a string with commas. Commas in parentheses do not
// separate: "Bash(a, b), Read".
func (r *reading) words(key string) []string {
	v, _ := r.get(key)
	var list []string
	switch v := v.(type) {
	case nil:
	case string:
		list = splitWords(v)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, text(s))
			} else {
				r.lose(key, "an entry is not a string")
			}
		}
	default:
		r.lose(key, "it is not a list")
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

func splitWords(s string) []string {
	var list []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(0, depth-1)
		case c == ',' && depth == 0:
			list = append(list, text(s[from:i]))
			from = i + 1
		}
	}
	return append(list, text(s[from:]))
}
