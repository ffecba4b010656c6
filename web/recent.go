package web

import (
	"slices"
	"sync"
)

// recent keeps the last values that were used, because to make one takes longer than everything else on a page, and the
// page is asked for again and again.
type recent[K comparable, V any] struct {
	most int // of them
	mu   sync.Mutex
	last []pair[K, V] // the newest last
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// of returns the value of a key, which is made if it is not kept. An error is not kept.
func (r *recent[K, V]) of(key K, value func() (V, error)) (V, error) {
	if v, ok := r.kept(key); ok {
		return v, nil
	}
	v, err := value() // meanwhile, others are read
	if err == nil {
		r.keep(key, v)
	}
	return v, err
}

func (r *recent[K, V]) kept(key K) (v V, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.last, func(p pair[K, V]) bool { return p.key == key })
	if i < 0 {
		return v, false
	}
	one := r.last[i]
	r.last = append(slices.Delete(r.last, i, i+1), one)
	return one.value, true
}

func (r *recent[K, V]) keep(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last = append(r.last, pair[K, V]{key, v}); len(r.last) > r.most {
		r.last = slices.Delete(r.last, 0, 1)
	}
}
