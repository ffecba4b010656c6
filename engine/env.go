package engine

// env is an immutable set of variables: those written on the live paths that lead to one place.
// It is a tree with 8 branches per level, so that a write copies only one short path, and a merge
// skips whatever both sides share.
type env struct {
	below [fan]*env
	leaf  [fan]*write
}

const (
	fanBits = 3
	fan     = 1 << fanBits
)

// write is one assignment. Of two writes, the one with the higher seq is the later.
type write struct {
	seq   int
	value any
}

// levels returns the depth of a tree for a number of variables.
func levels(vars int) int {
	n := 0
	for ; vars > fan; vars = (vars + fan - 1) / fan {
		n++
	}
	return n
}

func (e *env) get(level, i int) *write {
	for ; e != nil && level > 0; level-- {
		e = e.below[i>>(level*fanBits)&(fan-1)]
	}
	if e == nil {
		return nil
	}
	return e.leaf[i&(fan-1)]
}

func (e *env) set(level, i int, w *write) *env {
	fresh := &env{}
	if e != nil {
		*fresh = *e
	}
	if level == 0 {
		fresh.leaf[i&(fan-1)] = w
	} else {
		k := i >> (level * fanBits) & (fan - 1)
		fresh.below[k] = fresh.below[k].set(level-1, i, w)
	}
	return fresh
}

// merge returns an environment with the later write of a and b for each variable.
func merge(a, b *env) *env {
	if a == b || b == nil {
		return a
	}
	if a == nil {
		return b
	}
	out, same := *a, true
	for k := range fan {
		m := merge(a.below[k], b.below[k])
		same = same && m == a.below[k]
		out.below[k] = m
		if w := b.leaf[k]; w != nil && (a.leaf[k] == nil || w.seq > a.leaf[k].seq) {
			out.leaf[k], same = w, false
		}
	}
	if same {
		return a
	}
	return &out
}
