package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Text returns a definition as a file, readable and complete. Its last line holds the
// digest of all others.
func Text(d *agent.Definition) []byte {
	var w writer
	w.text("name", d.Name)
	w.text("description", d.Description)
	w.text("role", d.Role)
	w.list("capabilities", d.Capabilities)
	w.text("agent", d.Agent)
	w.text("model", d.Model)
	w.list("tools", d.Tools)
	w.list("mcp", d.Servers)
	w.values("permissions", d.Permissions)
	w.values("settings", d.Settings)
	if d.Timeout > 0 {
		w.line("timeout", d.Timeout.String())
	}
	if d.MaxTurns > 0 {
		w.line("max_turns", fmt.Sprint(d.MaxTurns))
	}
	if d.MaxOutputKB > 0 {
		w.line("max_output_kb", fmt.Sprint(d.MaxOutputKB))
	}
	w.text("queue", d.Queue)
	if d.Anywhere {
		w.line("place", "any")
	}
	w.retry(d.Retry)
	w.budget(d.Budget)
	w.text("prompt", d.Prompt)
	if d.Source != nil {
		w.source(d.Source)
	}
	return []byte(w.String())
}

// writer writes the keys of a definition; empty ones are omitted.
type writer struct{ strings.Builder }

func (w *writer) line(key, value string) { w.WriteString(key + ": " + value + "\n") }

// text writes a string: as a block if it has several lines.
func (w *writer) text(key, text string) {
	switch {
	case text == "":
	case key == "prompt" && isBlock(text), strings.Contains(text, "\n") && isBlock(text):
		w.line(key, blockMark(text))
		for line := range strings.Lines(text) {
			if strings.TrimSuffix(line, "\n") == "" {
				w.WriteString(line)
				continue
			}
			w.WriteString("  " + line)
		}
		if !strings.HasSuffix(text, "\n") {
			w.WriteString("\n")
		}
	default:
		w.line(key, strictyaml.Quote(text, false))
	}
}

// isBlock reports whether a string survives unchanged as a block.
func isBlock(text string) bool {
	return strictyaml.IsPrintable(text) && !strings.ContainsAny(text[:1], " \t\n") && !strings.HasSuffix(text, "\n\n") &&
		!strings.HasSuffix(strings.TrimSuffix(text, "\n"), " ") && !strings.HasSuffix(strings.TrimSuffix(text, "\n"), "\t")
}

func blockMark(text string) string {
	if strings.HasSuffix(text, "\n") {
		return "|"
	}
	return "|-"
}

func (w *writer) list(key string, list []string) {
	if len(list) == 0 {
		return
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strictyaml.Quote(s, true)
	}
	if line := strings.Join(quoted, ", "); len(line) < 90 {
		w.line(key, "["+line+"]")
		return
	}
	w.WriteString(key + ":\n")
	for _, s := range list {
		w.WriteString("  - " + strictyaml.Quote(s, false) + "\n")
	}
}

func (w *writer) values(key string, values map[string]any) {
	if len(values) == 0 {
		return
	}
	w.WriteString(key + ":\n")
	for _, name := range sorted.Keys(values) {
		w.WriteString("  " + strictyaml.Quote(name, false) + ": " + flow(values[name]) + "\n")
	}
}

// flow returns a value on one line.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		return strictyaml.Quote(v, true)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = flow(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return workflow.FormatJSON(v)
}

func (w *writer) retry(r workflow.Retry) {
	if r == (workflow.Retry{}) {
		return
	}
	w.WriteString("retry:\n")
	if r.Attempts > 0 {
		fmt.Fprintf(w, "  attempts: %d\n", r.Attempts)
	}
	if r.Backoff != "" {
		fmt.Fprintf(w, "  backoff: %s\n", r.Backoff)
	}
	if r.Delay > 0 {
		fmt.Fprintf(w, "  delay: %s\n", r.Delay)
	}
	if r.MaxDelay > 0 {
		fmt.Fprintf(w, "  max_delay: %s\n", r.MaxDelay)
	}
}

func (w *writer) budget(b workflow.Budget) {
	if b.String() == "" {
		return
	}
	w.WriteString("budget:\n")
	if _, ok := b.CostUSD.Amount(); ok {
		fmt.Fprintf(w, "  max_cost_usd: %v\n", b.CostUSD)
	}
	if _, ok := b.Tokens.Amount(); ok {
		fmt.Fprintf(w, "  max_tokens: %v\n", b.Tokens)
	}
}

func (w *writer) source(s *agent.Source) {
	fmt.Fprintf(w, "source:\n  from: %s\n  file: %s\n  imported_at: %s\n  digest: %s\n",
		strictyaml.Quote(s.From, false), strictyaml.Quote(s.File, false), strictyaml.Quote(s.ImportedAt, false), strictyaml.Quote(s.Digest, false))
	fmt.Fprintf(w, "%s%s\n", writtenMark, writtenDigest([]byte(w.String())))
}

const writtenMark = "  written: "

// writtenDigest returns the digest of a definition's file, excluding the line that holds
// it.
func writtenDigest(file []byte) string {
	var kept strings.Builder
	for line := range strings.Lines(string(file)) {
		if !strings.HasPrefix(line, writtenMark) {
			kept.WriteString(line)
		}
	}
	return digestOf([]byte(kept.String()))
}

// Change is a key of a definition whose value changes.
type Change struct {
	Key string `json:"key"`
	Was string `json:"was"`
	Is  string `json:"is"`
}

// changes returns the differences between two definitions, in the order of the file.
func changes(was, is *agent.Definition) []Change {
	var list []Change
	add := func(key, before, after string) {
		if before != after {
			list = append(list, Change{key, before, after})
		}
	}
	words := func(list []string) string { return strings.Join(list, ", ") }
	each := func(key string, before, after map[string]any) {
		all := maps.Clone(before)
		if all == nil {
			all = map[string]any{}
		}
		maps.Copy(all, after)
		for _, name := range sorted.Keys(all) {
			add(key+"."+name, plain(before[name]), plain(after[name]))
		}
	}
	duration := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	add("description", was.Description, is.Description)
	add("agent", was.Agent, is.Agent)
	add("model", was.Model, is.Model)
	add("tools", words(was.Tools), words(is.Tools))
	add("mcp", words(was.Servers), words(is.Servers))
	each("permissions", was.Permissions, is.Permissions)
	each("settings", was.Settings, is.Settings)
	add("timeout", duration(was.Timeout), duration(is.Timeout))
	add("max_turns", number(was.MaxTurns), number(is.MaxTurns))
	if before, after := lineChanges(was.Prompt, is.Prompt); before != after {
		add("prompt", before, after)
	}
	return list
}

// plain returns a value for people; nothing if it does not exist.
func plain(v any) string {
	if v == nil {
		return ""
	}
	return workflow.FormatText(v)
}

// lineChanges returns the lines that only one of two texts has.
func lineChanges(was, is string) (before, after string) {
	if was == is {
		return "", ""
	}
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	only := func(list, other []string) string {
		return strings.Join(slices.DeleteFunc(slices.Clone(list), func(line string) bool { return slices.Contains(other, line) }), "\n")
	}
	before, after = only(old, now), only(now, old)
	if before == after { // only the order differs
		return was, is
	}
	return before, after
}
