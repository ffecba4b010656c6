package importer

import "slices"

// How much an agent may do. The words are those of definitions.
const (
	readOnly = "read-only"
	edit     = "edit"
	full     = "full"
	ask      = "ask"
)

// modes are the words of a program for how much an agent may do, and ours.
type modes map[string]string

// permits reads how much an agent may do.
func (r *reading) permits(known modes, key string) {
	word := r.text(key)
	switch mode := known[word]; {
	case word == "":
	case mode == "":
		r.lose(key, "there is nothing like "+word+" here")
	default:
		r.mode(mode)
	}
}

func (r *reading) mode(mode string) { r.permission("mode", mode) }

func (r *reading) permission(key string, value any) {
	if r.agent.Permissions == nil {
		r.agent.Permissions = map[string]any{}
	}
	r.agent.Permissions[key] = value
}

// denies reads a list of what an agent may not do, in the words of its program.
func (r *reading) denies(key string) { r.listed("deny", r.words(key)) }

func (r *reading) listed(key string, words []string) {
	if len(words) == 0 {
		return
	}
	list, _ := r.agent.Permissions[key].([]any)
	for _, w := range words {
		if !slices.Contains(list, any(w)) {
			list = append(list, w)
		}
	}
	r.permission(key, list)
}
