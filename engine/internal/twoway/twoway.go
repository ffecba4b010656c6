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
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Codec encodes to Out, or decodes what was encoded.
type Codec struct {
	Writes bool
	Out    []byte

	// own codes what p points to, if that has a form of its own, and reports whether it has.
	own func(p any) bool

	in      string
	at      int
	texts   map[string]int // texts encoded so far, with their numbers
	known   []string       // texts decoded so far, by number
	numbers map[any]int    // objects encoded so far, by pointer
	objects []any          // objects decoded so far, by number
}

// Writer returns a codec that encodes. own codes what has a form of its own: at least every struct.
func Writer(own func(p any) bool) *Codec {
	return &Codec{Writes: true, own: own, texts: map[string]int{}, numbers: map[any]int{}}
}

// Reader returns a codec that decodes.
func Reader(from string, own func(p any) bool) *Codec { return &Codec{in: from, own: own} }

// Done reports whether all input was decoded.
func (c *Codec) Done() bool { return c.at == len(c.in) }

// Code codes what each of ps points to. An empty list is decoded as nil, and a map in the order of
// its keys.
func (c *Codec) Code(ps ...any) {
	for _, p := range ps {
		switch p := p.(type) { // most are numbers and texts
		case *int:
			set(c, p, c.Int(*p))
		case *int32:
			set(c, p, int32(c.Int(int(*p))))
		case *string:
			set(c, p, c.Text(*p))
		case *bool:
			c.Bools(p)
		default:
			if !c.own(p) {
				c.code(reflect.ValueOf(p).Elem())
			}
		}
	}
}

// set assigns what was decoded.
func set[T any](c *Codec, p *T, v T) {
	if !c.Writes {
		*p = v
	}
}

func (c *Codec) code(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		if n := c.Int(int(v.Int())); !c.Writes {
			v.SetInt(int64(n))
		}
	case reflect.String:
		if s := c.Text(v.String()); !c.Writes {
			v.SetString(s)
		}
	case reflect.Slice:
		if n := int(c.uint(uint64(v.Len()))); !c.Writes && n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
		for i := range v.Len() {
			c.Code(v.Index(i).Addr().Interface())
		}
	case reflect.Map:
		c.entries(v)
	case reflect.Pointer:
		c.refer(v)
	default:
		panic(fmt.Sprintf("twoway: a %s has no form of its own", v.Type()))
	}
}

// entries codes a map with texts as keys.
func (c *Codec) entries(m reflect.Value) {
	var keys []string
	for _, key := range m.MapKeys() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	n := int(c.uint(uint64(len(keys))))
	if !c.Writes {
		m.Set(reflect.MakeMapWithSize(m.Type(), n))
		keys = make([]string, n)
	}
	for _, key := range keys {
		value := reflect.New(m.Type().Elem())
		if c.Writes {
			value.Elem().Set(m.MapIndex(reflect.ValueOf(key)))
		}
		key = c.Text(key)
		if c.Code(value.Interface()); !c.Writes {
			m.SetMapIndex(reflect.ValueOf(key), value.Elem())
		}
	}
}

// Refer codes the reference that p points to, even if it has a form of its own.
func (c *Codec) Refer(p any) { c.refer(reflect.ValueOf(p).Elem()) }

// refer codes a reference to an object and, with the first one, the object.
func (c *Codec) refer(p reflect.Value) {
	if !c.Writes {
		switch n := c.uint(0); n {
		case 0:
			p.SetZero()
		case 1:
			p.Set(reflect.New(p.Type().Elem()))
			c.objects = append(c.objects, p.Interface())
			c.object(p)
		default:
			p.Set(reflect.ValueOf(c.objects[n-2]))
		}
		return
	}
	if p.IsNil() {
		c.uint(0)
		return
	}
	if n, known := c.numbers[p.Interface()]; known {
		c.uint(uint64(n) + 2)
		return
	}
	c.numbers[p.Interface()] = len(c.numbers)
	c.uint(1)
	c.object(p)
}

func (c *Codec) object(p reflect.Value) {
	if !c.own(p.Interface()) {
		panic(fmt.Sprintf("twoway: a %s has no form of its own", p.Type().Elem()))
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

// Int encodes a number and returns it, or decodes one.
func (c *Codec) Int(n int) int {
	u := c.uint(uint64(n<<1) ^ uint64(n>>63))
	return int(u>>1) ^ -int(u&1)
}

// Text encodes a text and returns it, or decodes one. One that was coded before is coded as a number.
func (c *Codec) Text(s string) string {
	if c.Writes {
		if n, known := c.texts[s]; known {
			c.uint(uint64(n) + 1)
			return s
		}
		c.texts[s] = len(c.texts)
		c.uint(0)
		c.uint(uint64(len(s)))
		c.Out = append(c.Out, s...)
		return s
	}
	if n := c.uint(0); n > 0 {
		return c.known[n-1]
	}
	n := int(c.uint(0))
	s = c.in[c.at : c.at+n]
	c.at += n
	c.known = append(c.known, s)
	return s
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

// JSON codes what p points to, which may be anything that encoding/json supports.
func (c *Codec) JSON(p any) {
	var s string
	if c.Writes {
		s = workflow.FormatJSON(p)
	}
	if s = c.Text(s); !c.Writes {
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
		c.JSON(p)
	default:
		if s = c.Text(s); !c.Writes {
			*p = s
		}
	}
}
