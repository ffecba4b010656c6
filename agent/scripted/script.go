package scripted

import (
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// Script hands out the replies of one run. It is an [agent.Script]: the duties
// of whoever holds it stand there. It is not safe for concurrent use.
type Script struct {
	replies *Replies
	used    map[string]int // entries that were handed out, by key
	open    map[string]int // entry of what is under way, by address
}

var _ agent.Script = (*Script)(nil)

// Script starts handing out the replies from their first entries.
func (r *Replies) Script() *Script {
	return &Script{replies: r, used: map[string]int{}, open: map[string]int{}}
}

// Task is the executor that gives the reply to an attempt at a task.
func (s *Script) Task(address, node string) (agent.Executor, bool) {
	key, ok := s.replies.taskKey(address, node)
	if !ok {
		return nil, false
	}
	return s.next(key, address), true
}

// Person is what a person answers to the question at an address.
func (s *Script) Person(address, node string) (answer string, delay time.Duration, ok bool) {
	key, ok := s.replies.key(address, node)
	if !ok {
		return "", 0, false
	}
	reply := s.next(key, address)
	return reply.Output, reply.Delay, true
}

// Ended says that the attempt or question at an address has its answer, so that
// the next one there gets the next entry.
func (s *Script) Ended(address string) { delete(s.open, address) }

// next is the entry for the attempt that begins at an address. One that is under
// way already was cut off by a crash and begins again, with the entry it had.
func (s *Script) next(key, address string) Reply {
	n, again := s.open[address]
	if !again {
		n = s.used[key]
		s.used[key]++
		s.open[address] = n
	}
	list := s.replies.lists[key]
	return list[min(n, len(list)-1)]
}
