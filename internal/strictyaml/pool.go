package strictyaml

// Pool is memory that the documents of one file use one after the other. The zero Pool is
// ready to use.
type Pool struct {
	keys      [][]string // lists of known keys that are free
	documents slab[Document]
	nodes     slab[node]
	maps      slab[Map]
	lines     []line
}

// Reuse declares that the documents that were read with the pool are no longer used. Values
// that were taken out of them stay valid.
func (p *Pool) Reuse() {
	p.documents.reuse(func(d *Document) { *d = Document{} })
	p.nodes.reuse(func(n *node) { *n = node{Content: n.Content[:0]} })
	p.maps.reuse(func(m *Map) { *m = Map{entries: m.entries[:0]} })
	p.lines = p.lines[:0]
}

// slab is memory for values that never move.
type slab[T any] struct {
	pieces [][]T
	piece  int // the one that the next value is taken from
	taken  int // of that piece
}

// next returns an unused value.
func (s *slab[T]) next() *T {
	if s.piece < len(s.pieces) && s.taken == len(s.pieces[s.piece]) {
		s.piece, s.taken = s.piece+1, 0
	}
	if s.piece == len(s.pieces) {
		s.pieces = append(s.pieces, make([]T, 1<<min(s.piece, 8)))
	}
	s.taken++
	return &s.pieces[s.piece][s.taken-1]
}

// reuse frees all values and clears them.
func (s *slab[T]) reuse(wipe func(*T)) {
	for i := range min(s.piece+1, len(s.pieces)) {
		piece := s.pieces[i]
		if i == s.piece {
			piece = piece[:s.taken]
		}
		for j := range piece {
			wipe(&piece[j])
		}
	}
	s.piece, s.taken = 0, 0
}
