package scripted

import (
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Script hands out the replies of one run. It is an [agent.Script]: the duties
// of whoever holds it stand there. It is not safe for concurrent use.
type Script struct {
	replies *Replies
	used    map[string]int   // entries that were handed out, by key
	open    map[string]entry // what is under way, by address
}

// entry says which entry of its list an attempt was given.
type entry struct{ attempt, index int }

var _ agent.Script = (*Script)(nil)

// Script starts handing out the replies from their first entries.
func (r *Replies) Script() *Script {
	return &Script{replies: r, used: map[string]int{}, open: map[string]entry{}}
}

// Task is the executor that gives the reply to an attempt at a task, or at the question
// of a choice.
func (s *Script) Task(address, node string, attempt int, question bool) (agent.Executor, bool) {
	key, ok := s.replies.taskKey(address, node, question)
	if !ok {
		return nil, false
	}
	return s.next(key, address, attempt), true
}

// Person is what a person answers to the question at an address.
func (s *Script) Person(address, node string) (answer string, delay time.Duration, ok bool) {
	key, ok := s.replies.key(address, node)
	if !ok {
		return "", 0, false
	}
	reply := s.next(key, address, 1)
	return reply.Output, reply.Delay, true
}

// Ended says that the attempt or question at an address has its answer, so that
// the next one there gets the next entry.
func (s *Script) Ended(address string) { delete(s.open, address) }

// next is the entry for an attempt that begins at an address. The same attempt
// under way already was cut off by a crash and begins again, with the entry it
// had. After a quota it begins again too, but then it has ended before.
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
