package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark replaces a secret.
const Mark = "***"

// Masker masks secrets. The zero value knows none. It is safe for concurrent use.
type Masker struct {
	finder atomic.Pointer[automaton] // nil: there is nothing to mask
	load   func()                    // loads the secrets before the first use; may be nil

	mu    sync.Mutex
	known []string
}

// Add makes values secret from now on. Values that are too short are ignored.
func (m *Masker) Add(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.known)
	for _, v := range values {
		v = strings.TrimSpace(v) // the surrounding space may be missing in output
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

// Mask masks the secrets in a text.
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

// Stream masks secrets in text that arrives in pieces, even if one is spread over several
// pieces. Everything is passed on at once except the last bytes, if a secret begins with
// them: these wait for the next piece, or for flush. Both functions are safe for concurrent
// use.
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

// stream is the state of a text that arrives in pieces.
//
// Invariant: held are the last bytes that were read and not passed on; spans are in them,
// in order, and do not overlap.
type stream struct {
	finder *automaton
	to     func(piece []byte)
	state  int32
	held   []byte
	spans  []span
}

// span is a part of what is held that must be masked.
type span struct {
	from, to int
	marked   bool // the mark was already written, for the part that was held before
}

// use searches for other secrets from now on, also in what is held: more of them may have
// become known.
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

// hide turns a secret that was found into a span, merged with those that it overlaps.
func (s *stream) hide(from, to int) {
	next := span{from: from, to: to}
	for len(s.spans) > 0 && s.spans[len(s.spans)-1].to > next.from {
		last := s.spans[len(s.spans)-1]
		next.from, next.marked = min(next.from, last.from), next.marked || last.marked
		s.spans = s.spans[:len(s.spans)-1]
	}
	s.spans = append(s.spans, next)
}

// give passes on everything up to an end, and holds the rest. If the rest begins inside a
// secret, its mark has already been written.
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

// end passes on what is held: no more follows.
func (s *stream) end() {
	if s.finder != nil {
		s.give(s.held, len(s.held))
		s.state = 0
	}
}
