package chaos

import (
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// replies maps addresses, without rounds and items, to the lists of a file of replies.
type replies map[string][]reply

type reply struct {
	Output     string  `json:"output,omitempty"`
	Error      string  `json:"error,omitempty"`
	Permanent  bool    `json:"permanent,omitempty"`
	RetryAfter string  `json:"retry_after,omitempty"`
	Delay      string  `json:"delay,omitempty"`
	CostUSD    float64 `json:"cost_usd,omitempty"`
	TokensIn   int64   `json:"tokens_in,omitempty"`
	TokensOut  int64   `json:"tokens_out,omitempty"`
}

// is reports whether an attempt ended with the reply.
func (r reply) is(ev *engine.TaskEnded) bool {
	if ev.Usage.CostUSD != r.CostUSD || ev.Usage.TokensIn != r.TokensIn || ev.Usage.TokensOut != r.TokensOut || ev.Output != r.Output {
		return false
	}
	if ev.Fault == nil {
		return r.Error == ""
	}
	return ev.Fault.Message == r.Error && ev.Fault.Permanent == r.Permanent && ev.Fault.Until.IsZero() == (r.RetryAfter == "")
}

// randomReplies answers every task, and some people.
func randomReplies(random *rand.Rand, b *workflow.Bundle) replies {
	list := replies{}
	addReplies(random, list, b, b.Root, "")
	return list
}

func addReplies(random *rand.Rand, list replies, b *workflow.Bundle, w *workflow.Workflow, prefix string) {
	w.Body.Walk(func(g *workflow.Graph, n *workflow.Node) {
		switch s := n.Step.(type) {
		case *workflow.Call:
			addReplies(random, list, b, b.Called[s.Workflow], prefix+n.ID+"/")
		case *workflow.Human:
			if offered := g.Offered(n); len(offered) > 0 && random.IntN(2) == 0 {
				for range 1 + random.IntN(3) {
					list[prefix+n.ID] = append(list[prefix+n.ID], reply{Output: offered[random.IntN(len(offered))].Value, Delay: delay(random)})
				}
			}
		}
	})
	w.Body.WalkTasks(func(n *workflow.Node, _ *workflow.Task) {
		for left := random.IntN(5); left >= 0; left-- {
			list[prefix+n.ID] = append(list[prefix+n.ID], randomReply(random, left == 0))
		}
	})
}

func delay(random *rand.Rand) string {
	return []string{"", "", "1ms", "5ms", "20ms"}[random.IntN(5)]
}

func randomReply(random *rand.Rand, last bool) reply {
	r := reply{Delay: delay(random), CostUSD: float64(random.IntN(3)) / 100, TokensIn: 3, TokensOut: 1}
	switch k := random.IntN(100); {
	case k < 12:
		r.Error, r.Permanent = "boom", k < 3
	case k < 15 && !last: // the last one repeats
		r.Error, r.RetryAfter = "quota", "10ms"
	default:
		r.Output = []string{"a", "b", "c", "It is a.", `{"decision": "b", "reason": "why"}`, "", "nothing", "b\n\n\n", `[1, "a"]`}[random.IntN(9)]
	}
	return r
}

// script independently implements which entry of a list an attempt gets: the entries of a
// key are used in the order in which attempts start. An attempt that starts again under
// its number, because its process died, gets the same entry.
type script struct {
	lists replies
	used  map[string]int
	open  map[string]entry // by address
}

type entry struct {
	attempt int
	reply   reply
}

func newScript(lists replies) *script {
	return &script{lists, map[string]int{}, map[string]entry{}}
}

// round matches the parts of an address that are not in a key.
var round = regexp.MustCompile(`[#\[][^/]*`)

func (s *script) begin(address string, attempt int) {
	key := round.ReplaceAllString(address, "")
	if s.lists[key] == nil { // the node alone is a key too
		key = key[strings.LastIndex(key, "/")+1:]
	}
	list := s.lists[key]
	if len(list) == 0 || s.open[address].attempt == attempt {
		return
	}
	s.open[address] = entry{attempt, list[min(s.used[key], len(list)-1)]}
	s.used[key]++
}

func (s *script) happened(ev engine.Event) {
	switch ev := ev.(type) {
	case *engine.TaskEnded:
		delete(s.open, ev.Address)
	case *engine.Answered:
		delete(s.open, ev.ID)
	}
}

func (s *script) commanded(commands []engine.Command) {
	for _, c := range commands {
		switch c := c.(type) {
		case *engine.StartTask:
			s.begin(c.Address, c.Attempt)
		case *engine.Ask:
			if c.Kind == engine.GateQuestion {
				s.begin(c.ID, 1)
			}
		case *engine.Withdraw:
			delete(s.open, c.ID)
		}
	}
}
