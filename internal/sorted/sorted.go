// Package sorted goes through maps in order.
package sorted

import (
	"cmp"
	"maps"
	"slices"
)

// Keys returns the keys of a map in order. It is one function, and not as much code again at each of more than a hundred places.
//
//go:noinline
func Keys[M ~map[K]V, K cmp.Ordered, V any](m M) []K { return slices.Sorted(maps.Keys(m)) }
