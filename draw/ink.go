package draw

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ink is text of a picture that is being written. A large picture has a hundred thousand numbers,
// so it does not use package fmt.
type ink []byte

// layer is a part of a picture that is above or below others.
type layer struct {
	ink
	compact bool // as short as possible: the style sheet of the page has what is left out
	slots   []slot
}

// slot is where a page adds something about the state of a run.
type slot struct {
	at     int // bytes before it
	kind   slotKind
	place  string   // of a node; for slotCount, its usual text
	folded []string // the places that a node stands for
	edge   *Edge    // not a node
	edges  []Edge   // that a label is for; it is no node either
}

// slotKind is what is in a slot.
type slotKind int

const (
	slotClasses slotKind = iota // of a node or an edge
	slotCount                   // the text of a node that stands for several
	slotLink                    // where a node leads
)

func (l *layer) slot(s slot) {
	s.at = len(l.ink)
	l.slots = append(l.slots, s)
}

// end ends an element that is on a line of its own.
func (l *layer) end(markup string) {
	if l.put(markup); !l.compact {
		l.put("\n")
	}
}

// put adds markup.
func (i *ink) put(markup string) *ink {
	*i = append(*i, markup...)
	return i
}

// num adds a coordinate with at most one decimal.
func (i *ink) num(v float64) *ink {
	tenths := int64(math.Round(v * 10))
	if tenths < 0 {
		*i = append(*i, '-')
		tenths = -tenths
	}
	*i = strconv.AppendInt(*i, tenths/10, 10)
	if tenths %= 10; tenths != 0 {
		*i = append(*i, '.', byte('0'+tenths))
	}
	return i
}

// attr adds an attribute with a coordinate.
func (i *ink) attr(name string, v float64) *ink {
	return i.put(" ").put(name).put(`="`).num(v).put(`"`)
}

// text adds text. It drops characters that are not allowed in XML.
func (i *ink) text(s string) *ink {
	if !strings.ContainsFunc(s, special) {
		return i.put(s)
	}
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case xmlEscapes[r] != "":
			i.put(xmlEscapes[r])
		case r >= ' ' && r != 0xFFFE && r != 0xFFFF:
			*i = utf8.AppendRune(*i, r)
		}
	}
	return i
}

// special reports whether a character may need to be replaced.
func special(r rune) bool { return r < ' ' || r >= 0xFFFD || xmlEscapes[r] != "" }

var xmlEscapes = map[rune]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\'': "&#39;"}

// sameNum reports whether two coordinates are written in the same way.
func sameNum(a, b float64) bool { return math.Round(a*10) == math.Round(b*10) }
