package scripted

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// CodeReplies is the code of errors in a replies file other than YAML errors.
const CodeReplies = "replies"

// Parse reads a replies file, as the package comment describes it, and reports every error.
// If there is an error, the replies must not be used.
func Parse(file string, text []byte) (*Replies, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	r := Read(doc.Root())
	return r, doc.Diagnostics()
}

// Read reads replies that are a part of another file. Its document reports the errors.
func Read(n strictyaml.Node) *Replies {
	r := &Replies{lists: map[string][]Reply{}, places: map[string][]workflow.Pos{}, keys: map[string]workflow.Pos{}}
	for _, e := range n.Map().Entries() {
		checkKey(e)
		r.keys[e.Name] = e.Key.Pos()
		if list, places := parseList(e.Value); len(list) > 0 {
			r.lists[e.Name], r.places[e.Name] = list, places
		}
	}
	return r
}

// checkKey rejects keys that no instance can have.
func checkKey(e strictyaml.Entry) {
	if strings.TrimSpace(e.Name) == "" {
		e.Key.Errorf(CodeReplies, "write the id of a node", "the key is empty")
	}
	for step := range strings.SplitSeq(e.Name, "/") {
		rounds := strings.Split(step, "#")[1:]
		later := func(round string) bool { number, _, _ := strings.Cut(round, "["); return number != "1" }
		if len(rounds) > 0 && !slices.ContainsFunc(rounds, later) {
			e.Key.Errorf(CodeReplies, "remove #1; a list of replies continues from one iteration to the next",
				"invalid address %q: the first iteration has no number", e.Name)
		}
	}
}

// parseList reads the value of a key: one entry, or a list of them, and the position of
// each.
func parseList(n strictyaml.Node) ([]Reply, []workflow.Pos) {
	if n.IsList() && len(n.List()) == 0 {
		n.Errorf(CodeReplies, "write at least one reply, or remove the key", "%s has no replies", n.Label())
	}
	var list []Reply
	var places []workflow.Pos
	for _, entry := range n.OneOrMany() {
		list, places = append(list, parseReply(entry)), append(places, place(entry))
	}
	return list, places
}

// place returns the position of the output or the error of an entry.
func place(n strictyaml.Node) workflow.Pos {
	if n.IsMap() {
		for _, e := range n.Map().Entries() {
			switch e.Name {
			case "output":
				return e.Value.Pos()
			case "error":
				return e.Key.Pos()
			}
		}
	}
	return n.Pos()
}

func parseReply(n strictyaml.Node) Reply {
	switch {
	case n.IsMap():
		return parseMap(n)
	case n.IsList():
		n.Errorf(CodeReplies, "write JSON in quotes, or under `output`", "a list inside a list is not a reply")
		return Reply{}
	}
	return Reply{Output: parseText(n)}
}

// parseText reads a scalar as it was written. A missing value is an error: an empty reply
// must be quoted.
func parseText(n strictyaml.Node) string {
	if !n.IsNull() {
		return n.Name()
	}
	if n.Written() == "" {
		n.Errorf(CodeReplies, "write a reply; an empty reply is ''", "%s has no reply", n.Label())
	}
	return n.Written()
}

// parseMap reads a reply in the form of a map.
func parseMap(n strictyaml.Node) Reply {
	if isOutput(n) {
		n.Errorf(CodeReplies, "put it under `output`, or in quotes", "this map is not a reply")
		return Reply{}
	}
	m := n.Map()
	var r Reply
	output := m.Get("output")
	if output.IsList() || output.IsMap() {
		r.Output = workflow.FormatJSON(output.Value())
	} else if output.Exists() {
		r.Output = parseText(output)
	}
	r.Delay = m.Duration("delay")
	r.CostUSD = m.Float("cost_usd")
	r.TokensIn = tokens(m.Get("tokens_in"))
	r.TokensOut = tokens(m.Get("tokens_out"))
	r.Files = parseFiles(m.Get("files"))
	failure, permanent, after := m.Get("error"), m.Get("permanent"), m.Get("retry_after")
	r.Error = failure.Name()
	r.Permanent = permanent.Bool()
	r.RetryAfter = after.Duration()
	m.Done()
	checkFailure(output, failure, permanent, after)
	return r
}

// isOutput recognises a map without any key that is, or could be meant for, one of a reply:
// most likely it is the JSON that the agent is to return.
func isOutput(n strictyaml.Node) bool {
	fields := []string{"output", "delay", "cost_usd", "tokens_in", "tokens_out", "error", "permanent", "retry_after", "files"}
	return !slices.ContainsFunc(n.Map().Entries(), func(e strictyaml.Entry) bool { return workflow.Nearest(e.Name, fields) != "" })
}

// parseFiles reads what a reply does to files, by path: their new content, or null to delete them.
func parseFiles(n strictyaml.Node) map[string]*string {
	if !n.Exists() {
		return nil
	}
	files := map[string]*string{}
	for _, e := range n.Map().Entries() {
		if err := projectfile.CheckPath(e.Name); err != nil {
			e.Key.Errorf(CodeReplies, "write a path in the directory of the step, such as docs/notes.md", "invalid file: %v", err)
		}
		files[e.Name] = nil
		if !e.Value.IsNull() {
			text := e.Value.Name()
			files[e.Name] = &text
		}
	}
	return files
}

func tokens(n strictyaml.Node) int64 {
	count := n.Int(0)
	if count > maxTokens {
		n.Errorf(CodeReplies, "write fewer", "no attempt uses that many tokens")
		return 0
	}
	return count
}

// maxTokens keeps the sum of both token counts in bounds.
const maxTokens = 1 << 60

// checkFailure rejects keys that contradict each other.
func checkFailure(output, failure, permanent, after strictyaml.Node) {
	switch {
	case failure.Exists() && output.Exists():
		output.Key().Errorf(CodeReplies, "keep one of them", "an attempt can have an output or an error, not both")
	case failure.IsScalar() && !failure.IsNull() && failure.Written() == "":
		failure.Errorf(CodeReplies, "write what went wrong", "the error has no text")
	}
	for _, n := range []strictyaml.Node{permanent, after} {
		if n.Exists() && !failure.Exists() {
			n.Key().Errorf(CodeReplies, "add `error`", "%s applies to errors only", n.Label())
		}
	}
	if permanent.Exists() && after.Exists() {
		after.Key().Errorf(CodeReplies, "keep one of them", "a permanent error is not retried")
	}
}
