package scripted

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// CodeReplies is the code of the mistakes in a replies file that are not mistakes
// in its YAML.
const CodeReplies = "replies"

// Parse reads a replies file, as the package comment describes it, and reports
// every mistake. With an error among them the replies are not to be used.
func Parse(file string, text []byte) (*Replies, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	r := &Replies{lists: map[string][]Reply{}, places: map[string][]workflow.Pos{}}
	for _, e := range doc.Root().Map().Entries() {
		checkKey(e)
		if list, places := parseList(e.Value); len(list) > 0 {
			r.lists[e.Name], r.places[e.Name] = list, places
		}
	}
	return r, doc.Diagnostics()
}

// checkKey refuses keys that no instance can have.
func checkKey(e strictyaml.Entry) {
	if strings.TrimSpace(e.Name) == "" {
		e.Key.Errorf(CodeReplies, "write the id of a node", "the key is empty")
	}
	for step := range strings.SplitSeq(e.Name, "/") {
		rounds := strings.Split(step, "#")[1:]
		later := func(round string) bool { number, _, _ := strings.Cut(round, "["); return number != "1" }
		if len(rounds) > 0 && !slices.ContainsFunc(rounds, later) {
			e.Key.Errorf(CodeReplies, "leave #1 out; a list of replies goes on from one iteration to the next",
				"the first iteration has no number in an address: %q", e.Name)
		}
	}
}

// parseList is what stands under a key: one entry, or a list of them, and where
// each of them says what it says.
func parseList(n strictyaml.Node) ([]Reply, []workflow.Pos) {
	if n.IsList() && len(n.List()) == 0 {
		n.Errorf(CodeReplies, "write at least one reply, or leave the key out", "%s has no replies", n.Label())
	}
	var list []Reply
	var places []workflow.Pos
	for _, entry := range n.OneOrMany() {
		list, places = append(list, parseReply(entry)), append(places, place(entry))
	}
	return list, places
}

// place is where the output or the error of an entry stands.
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
		n.Errorf(CodeReplies, "write JSON in quotes, or under `output`", "a list inside a list is no reply")
		return Reply{}
	}
	return Reply{Output: parseText(n)}
}

// parseText is a scalar as it was written. Nothing at all is a mistake: an empty
// reply is written ”.
func parseText(n strictyaml.Node) string {
	if !n.IsNull() {
		return n.Name()
	}
	if n.Written() == "" {
		n.Errorf(CodeReplies, "write a reply; an empty one is ''", "%s has no reply", n.Label())
	}
	return n.Written()
}

// parseMap is a reply with more to it than its text.
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
	failure, permanent, after := m.Get("error"), m.Get("permanent"), m.Get("retry_after")
	r.Error = failure.Name()
	r.Permanent = permanent.Bool()
	r.RetryAfter = after.Duration()
	m.Done()
	checkFailure(output, failure, permanent, after)
	return r
}

// isOutput recognises a map of which no key is, or could be meant for, one of a
// reply: most likely it is the JSON that the agent is to give.
func isOutput(n strictyaml.Node) bool {
	fields := []string{"output", "delay", "cost_usd", "tokens_in", "tokens_out", "error", "permanent", "retry_after"}
	return !slices.ContainsFunc(n.Map().Entries(), func(e strictyaml.Entry) bool { return workflow.Nearest(e.Name, fields) != "" })
}

func tokens(n strictyaml.Node) int64 {
	count := n.Int(0)
	if count > maxTokens {
		n.Errorf(CodeReplies, "write fewer", "no attempt uses that many tokens")
		return 0
	}
	return count
}

// maxTokens keeps the sum of both numbers of tokens in bounds.
const maxTokens = 1 << 60

// checkFailure refuses keys that contradict each other.
func checkFailure(output, failure, permanent, after strictyaml.Node) {
	switch {
	case failure.Exists() && output.Exists():
		output.Key().Errorf(CodeReplies, "keep one of them", "an attempt has an output or an error, not both")
	case failure.IsScalar() && !failure.IsNull() && failure.Written() == "":
		failure.Errorf(CodeReplies, "write what went wrong", "the error has no text")
	}
	for _, n := range []strictyaml.Node{permanent, after} {
		if n.Exists() && !failure.Exists() {
			n.Key().Errorf(CodeReplies, "add `error`", "%s says something about an error, and there is none", n.Label())
		}
	}
	if permanent.Exists() && after.Exists() {
		after.Key().Errorf(CodeReplies, "keep one of them", "an error that is permanent is not retried")
	}
}
