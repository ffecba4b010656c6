// Package twoway encodes and decodes a graph of objects. An object is described once for both
// directions, so that they cannot disagree: to code a value means to encode or to decode it. An
// object that is referred to several times is encoded with the first reference.
//
// Input is trusted: decoding anything that was not encoded here panics. Encoding does not modify
// the objects, so they may be read concurrently.
package twoway

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Codec encodes to Out, or decodes what was encoded.
type Codec struct {
	Writes bool
	Out    []byte

	in    string
	at    int
	texts map[string]int // texts encoded so far, with their numbers
	known []string       // texts decoded so far, by number
}

// Writer returns a codec that encodes.
func Writer() *Codec { return &Codec{Writes: true, texts: map[string]int{}} }

// Reader returns a codec that decodes.
func Reader(from string) *Codec { return &Codec{in: from} }

// Done reports whether all input was decoded.
func (c *Codec) Done() bool { return c.at == len(c.in) }

// Table numbers the objects that are referred to.
type Table[T any] struct {
	numbers map[*T]int
	list    []*T
}

// Refer codes a reference. fill codes the contents of a new object.
func Refer[T any](c *Codec, t *Table[T], p **T, fill func(*T)) {
	if !c.Writes {
		switch n := c.uint(0); n {
		case 0:
			*p = nil
		case 1:
			*p = new(T)
			t.list = append(t.list, *p)
			fill(*p)
		default:
			*p = t.list[n-2]
		}
		return
	}
	n, known := t.numbers[*p]
	switch {
	case *p == nil:
		c.uint(0)
	case known:
		c.uint(uint64(n) + 2)
	default:
		if t.numbers == nil {
			t.numbers = map[*T]int{}
		}
		t.numbers[*p] = len(t.numbers)
		c.uint(1)
		fill(*p)
	}
}

// uint encodes a number and returns it, or decodes one.
func (c *Codec) uint(n uint64) uint64 {
	if c.Writes {
		c.Out = binary.AppendUvarint(c.Out, n)
		return n
	}
	n = 0
	for shift := 0; ; shift += 7 {
		b := c.in[c.at]
		c.at++
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n
		}
	}
}

// Number codes an integer of any type.
func Number[N ~int | ~int8 | ~int32 | ~int64](c *Codec, p *N) {
	v := int64(*p)
	u := c.uint(uint64(v<<1) ^ uint64(v>>63))
	if !c.Writes {
		*p = N(int64(u>>1) ^ -int64(u&1))
	}
}

// Bools codes up to 64 booleans.
func (c *Codec) Bools(ps ...*bool) {
	var u uint64
	for i, p := range ps {
		if c.Writes && *p {
			u |= 1 << i
		}
	}
	if u = c.uint(u); c.Writes {
		return
	}
	for i, p := range ps {
		*p = u&(1<<i) != 0
	}
}

// Text codes a string. A string that was coded before is coded as a number.
func Text[S ~string](c *Codec, p *S) {
	if c.Writes {
		s := string(*p)
		if n, known := c.texts[s]; known {
			c.uint(uint64(n) + 1)
			return
		}
		c.texts[s] = len(c.texts)
		c.uint(0)
		c.uint(uint64(len(s)))
		c.Out = append(c.Out, s...)
		return
	}
	if n := c.uint(0); n > 0 {
		*p = S(c.known[n-1])
		return
	}
	n := int(c.uint(0))
	s := c.in[c.at : c.at+n]
	c.at += n
	c.known = append(c.known, s)
	*p = S(s)
}

// JSON codes anything that encoding/json supports.
func JSON[T any](c *Codec, p *T) {
	var s string
	if c.Writes {
		s = workflow.FormatJSON(*p)
	}
	if Text(c, &s); !c.Writes {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(p); err != nil {
			panic(err)
		}
	}
}

// Value codes a value of a workflow: text unchanged, everything else as JSON.
func (c *Codec) Value(p *any) {
	s, isText := (*p).(string)
	isNil := *p == nil
	c.Bools(&isText, &isNil)
	switch {
	case isNil:
		if !c.Writes {
			*p = nil
		}
	case !isText:
		JSON(c, p)
	default:
		if Text(c, &s); !c.Writes {
			*p = s
		}
	}
}

// List codes a list. An empty one is decoded as nil.
func List[T any](c *Codec, p *[]T, each func(*T)) {
	n := int(c.uint(uint64(len(*p))))
	if !c.Writes && n > 0 {
		*p = make([]T, n)
	}
	for i := range *p {
		each(&(*p)[i])
	}
}

// Map codes a map in the order of its keys.
func Map[V any](c *Codec, p *map[string]V, each func(*V)) {
	keys := slices.Sorted(maps.Keys(*p))
	n := int(c.uint(uint64(len(keys))))
	if !c.Writes {
		*p, keys = make(map[string]V, n), make([]string, n)
	}
	for _, key := range keys {
		v := (*p)[key]
		Text(c, &key)
		if each(&v); !c.Writes {
			(*p)[key] = v
		}
	}
}
