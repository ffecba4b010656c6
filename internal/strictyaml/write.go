package strictyaml

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Write returns an object of JSON values as a file: keys in an order, others after them by name;
// texts of several lines as blocks; short lists on one line.
func Write(object map[string]any, order []string) []byte {
	w := &writing{order: order}
	w.object(object, "")
	return []byte(w.out.String())
}

type writing struct {
	order []string
	out   strings.Builder
}

func (w *writing) rank(key string) int {
	if i := slices.Index(w.order, key); i >= 0 {
		return i
	}
	return len(w.order)
}

// object writes an object that is not empty, a key on each line, each after an indent.
func (w *writing) object(object map[string]any, indent string) {
	keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.rank(a), w.rank(b)), strings.Compare(a, b))
	})
	for _, key := range keys {
		w.out.WriteString(indent + Quote(key, false) + ":")
		w.value(object[key], indent)
	}
}

// value writes what follows a key, with the end of the line.
func (w *writing) value(v any, indent string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			w.out.WriteString("\n")
			w.object(v, indent+"  ")
			return
		}
	case []any:
		if line := inline(v); line == "" {
			w.out.WriteString("\n")
			w.list(v, indent+"  ")
			return
		}
	case string:
		if fitsBlock(v) {
			w.block(v, indent+"  ")
			return
		}
	}
	w.out.WriteString(" " + inline(v) + "\n")
}

// list writes a list that is not empty, an entry on each line.
func (w *writing) list(list []any, indent string) {
	for _, v := range list {
		nested := &writing{order: w.order}
		switch v := v.(type) {
		case map[string]any:
			if len(v) > 0 {
				nested.object(v, indent+"  ")
			}
		case []any:
			if inline(v) == "" {
				nested.list(v, indent+"  ")
			}
		}
		w.out.WriteString(indent + "-")
		if text := nested.out.String(); text != "" {
			w.out.WriteString(" " + text[len(indent)+2:])
			continue
		}
		w.value(v, indent)
	}
}

// block writes a text of several lines.
func (w *writing) block(text, indent string) {
	mark := " |-\n"
	if strings.HasSuffix(text, "\n") {
		mark = " |\n"
	}
	w.out.WriteString(mark)
	for line := range strings.Lines(text) {
		if line != "\n" {
			w.out.WriteString(indent)
		}
		w.out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
	}
}

// fitsBlock reports whether a text of several lines is the same as a block.
func fitsBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	return strings.Contains(text, "\n") && IsPrintable(text) && !strings.ContainsAny(text[:1], " \t\n") && body == strings.TrimRight(body, " \t\n")
}

// inline returns a value on one line, "" for a list that is better written on several.
func inline(v any) string {
	const longest = 80
	switch v := v.(type) {
	case string:
		return Quote(v, false)
	case map[string]any:
		return "{}" // others are written on several lines
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			switch e := e.(type) {
			case map[string]any, []any:
				return ""
			case string:
				parts[i] = Quote(e, true)
			default:
				parts[i] = workflow.FormatJSON(e)
			}
		}
		if line := "[" + strings.Join(parts, ", ") + "]"; len(line) <= longest {
			return line
		}
		return ""
	}
	return workflow.FormatJSON(v)
}
