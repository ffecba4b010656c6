package scripted

import (
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Script returns the replies of one run. It is an [agent.Script], which documents the
// duties of its user. It is not safe for concurrent use.
type Script struct {
	replies *Replies
	used    map[string]int   // number of entries used, by key
	open    map[string]entry // attempts in progress, by address
	clock   Clock
}

// entry says which entry of its list an attempt got.
type entry struct{ attempt, index int }

var _ agent.Script = (*Script)(nil)

// Script returns a script that begins with the first entries.
func (r *Replies) Script() *Script { return r.ScriptOn(systemClock{}) }

// ScriptOn is Script with another clock.
func (r *Replies) ScriptOn(clock Clock) *Script {
	return &Script{replies: r, used: map[string]int{}, open: map[string]entry{}, clock: clock}
}

// Task returns the executor for the reply to an attempt at a task, or at the question of a
// choice.
func (s *Script) Task(address, node string, attempt int, question bool) (agent.Executor, bool) {
	key, ok := s.replies.taskKey(address, node, question)
	if !ok {
		return nil, false
	}
	return timed{s.next(key, address, attempt), s.clock, key == others}, true
}

// Person returns what a person answers to the question at an address.
func (s *Script) Person(address, node string) (answer string, delay time.Duration, ok bool) {
	key, ok := s.replies.key(address, node)
	if !ok {
		return "", 0, false
	}
	reply := s.next(key, address, 1)
	return reply.Output, reply.Delay, true
}

// Ended records that the attempt or question at an address has its answer, so that the next
// one there gets the next entry.
func (s *Script) Ended(address string) { delete(s.open, address) }

// next returns the entry for an attempt that begins at an address. If the same attempt is
// already in progress, a crash interrupted it and it begins again with the same entry.
// After a quota it begins again too, but then it has ended before.
func (s *Script) next(key, address string, attempt int) Reply {
	e := s.open[address]
	if e.attempt != attempt {
		e = entry{attempt, s.used[key]}
		s.used[key]++
		s.open[address] = e
	}
	list := s.replies.lists[key]
	return list[min(e.index, len(list)-1)]
}
