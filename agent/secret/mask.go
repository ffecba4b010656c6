package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark stands where a secret was.
const Mark = "***"

// Masker hides secrets. The zero value knows none. It is safe for concurrent use.
type Masker struct {
	finder atomic.Pointer[automaton] // nil: there is nothing to hide
	load   func()                    // finds what is to be hidden, before anything is; nil: nothing

	mu    sync.Mutex
	known []string
}

// Add makes values secret, from now on. Those that are too short are none.
func (m *Masker) Add(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.known)
	for _, v := range values {
		v = strings.TrimSpace(v) // who says it may leave out the space around it
		if len(v) >= Shortest && !slices.Contains(m.known, v) {
			m.known = append(m.known, v)
		}
	}
	if len(m.known) == before {
		return
	}
	var all []string
	for _, v := range m.known {
		all = append(all, forms(v)...)
	}
	m.finder.Store(newAutomaton(all))
}

func (m *Masker) ready() {
	if m.load != nil {
		m.load()
	}
}

// Mask hides the secrets in a text.
func (m *Masker) Mask(text string) string {
	m.ready()
	finder := m.finder.Load()
	if finder == nil || !finder.any(text) {
		return text
	}
	var b strings.Builder
	s := stream{finder: finder, to: func(piece []byte) { b.Write(piece) }}
	s.write([]byte(text))
	s.end()
	return b.String()
}

// Stream hides secrets in what comes piece by piece, also where one is spread
// over several pieces. Everything is given on at once but for the last bytes, if a
// secret begins with them: these wait for the next piece, or for flush. Both
// functions are safe for concurrent use.
func (m *Masker) Stream(to func(piece []byte)) (write func(piece []byte), flush func()) {
	m.ready()
	var mu sync.Mutex
	s := stream{to: to}
	write = func(piece []byte) {
		mu.Lock()
		defer mu.Unlock()
		s.use(m.finder.Load())
		s.write(piece)
	}
	flush = func() {
		mu.Lock()
		defer mu.Unlock()
		s.end()
	}
	return write, flush
}

// stream is the state of a text that comes piece by piece.
//
// Invariant: held are the last bytes that were read and not given on; spans lie in
// them, in order, and do not overlap.
type stream struct {
	finder *automaton
	to     func(piece []byte)
	state  int32
	held   []byte
	spans  []span
}

// span is a part of what is held that is to be hidden.
type span struct {
	from, to int
	marked   bool // the mark was given on, for the part of it that was held before
}

// use looks for other secrets from now on, also in what is held: more of them may
// have become known.
func (s *stream) use(finder *automaton) {
	if finder == s.finder {
		return
	}
	rest := s.held
	if len(s.spans) > 0 && s.spans[0].marked {
		rest = rest[s.spans[0].to:]
	}
	*s = stream{finder: finder, to: s.to}
	s.write(rest)
}

func (s *stream) write(piece []byte) {
	if s.finder == nil {
		s.to(piece)
		return
	}
	read := len(s.held)
	all := piece
	if read > 0 {
		all = slices.Concat(s.held, piece)
	}
	for i := read; i < len(all); i++ {
		s.state = s.finder.step(s.state, all[i])
		if n := int(s.finder.states[s.state].found); n > 0 {
			s.hide(i+1-n, i+1)
		}
	}
	s.give(all, len(all)-int(s.finder.states[s.state].depth))
}

// hide makes a span of a secret that was found, together with those that it
// overlaps.
func (s *stream) hide(from, to int) {
	next := span{from: from, to: to}
	for len(s.spans) > 0 && s.spans[len(s.spans)-1].to > next.from {
		last := s.spans[len(s.spans)-1]
		next.from, next.marked = min(next.from, last.from), next.marked || last.marked
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, next)
}

// give gives all on up to an end, and holds the rest. The mark of a secret with
// which the rest begins is given on already.
func (s *stream) give(all []byte, end int) {
	if len(s.spans) == 0 && end == len(all) {
		s.held = nil
		if end > 0 {
			s.to(all)
		}
		return
	}
	var out []byte
	done := 0
	var kept []span
	for _, sp := range s.spans {
		if sp.from > end {
			kept = append(kept, span{from: sp.from - end, to: sp.to - end})
			continue
		}
		out = append(out, all[done:sp.from]...)
		if !sp.marked {
			out = append(out, Mark...)
		}
		done = min(sp.to, end)
		if sp.to > end {
			kept = append(kept, span{from: 0, to: sp.to - end, marked: true})
		}
	}
	out = append(out, all[done:end]...)
	s.spans = kept
	s.held = slices.Clone(all[end:])
	if len(out) > 0 {
		s.to(out)
	}
}

// end gives on what is held: no more comes.
func (s *stream) end() {
	if s.finder != nil {
		s.give(s.held, len(s.held))
		s.state = 0
	}
}
