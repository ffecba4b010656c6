package strictyaml

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Map is a map whose keys a reader asks for one by one. Keys that were not asked for when
// Done is called are unknown.
type Map struct {
	node    Node
	entries []entry
	index   map[string]bool // names of a large map
	known   []string
}

// Entry is one key of a map with its value.
type Entry struct {
	Name  string // the key as it is written
	Key   Node
	Value Node
}

// entry is an Entry before it is asked for.
type entry struct {
	name       string
	key, value *node
	doc        *Document
	used       bool
}

func (m *Map) value(e *entry) Node { return Node{doc: e.doc, y: e.value, key: e.key} }
func (m *Map) key(e *entry) Node   { return Node{doc: e.doc, y: e.key} }

// Map returns the value, which must be a map. Null is an empty map. The result is never
// nil.
func (n Node) Map() *Map {
	m := n.doc.newMap()
	m.node = n
	switch {
	case n.y == nil || n.IsNull():
	case !n.IsMap():
		n.WrongType("a map")
	case n.plainTag():
		m.entries = slices.Grow(m.entries, len(n.y.Content)/2)
		m.collect()
	}
	return m
}

func (d *Document) newMap() *Map {
	if d == nil {
		return &Map{}
	}
	return d.pool().maps.next()
}

// collect adds the map's own keys, and then merged ones, which never replace a key of its
// own.
func (m *Map) collect() {
	var merges []Node
	for i := 0; i+1 < len(m.node.y.Content); i += 2 {
		key, value := m.node.y.Content[i], m.node.y.Content[i+1]
		if key.Tag == "!!merge" && key.Style == 0 {
			merges = append(merges, Node{doc: m.node.doc, y: resolved(value), key: key})
			continue
		}
		if e, ok := m.entry(key, value); ok && !m.add(e) {
			m.key(&e).Errorf(codeDuplicateKey, "remove one of them", "duplicate key %q", e.name)
		}
	}
	for _, from := range merges {
		m.merge(from)
	}
}

// add adds an entry unless its name exists. Names are compared in a small map and hashed in
// a large one.
func (m *Map) add(e entry) bool {
	if m.index == nil && len(m.entries) > 16 {
		m.index = make(map[string]bool, 2*len(m.entries))
		for i := range m.entries {
			m.index[m.entries[i].name] = true
		}
	}
	if m.index != nil {
		if m.index[e.name] {
			return false
		}
		m.index[e.name] = true
	} else if m.find(e.name) != nil {
		return false
	}
	m.entries = append(m.entries, e)
	return true
}

// find returns the entry under a name, or nil.
func (m *Map) find(name string) *entry {
	for i := range m.entries {
		if e := &m.entries[i]; e.name == name {
			return e
		}
	}
	return nil
}

func (m *Map) entry(key, value *node) (entry, bool) {
	k := Node{doc: m.node.doc, y: resolved(key)}
	if !k.IsScalar() {
		detail := "write the key as plain text"
		if m.node.IsBraces() {
			detail = `put it in quotes: "{{…}}"`
		}
		k.Errorf(codeKey, detail, "a key must be text, not %s", k.kind())
		return entry{}, false
	}
	return entry{name: k.y.Value, key: k.y, value: resolved(value), doc: k.doc}, true
}

// merge adds the keys of one map or of a list of maps, the first of which wins.
func (m *Map) merge(from Node) {
	for _, part := range from.OneOrMany() {
		if !part.IsMap() {
			part.Errorf(codeType, "write << with an alias of a map", "only a map can be merged, not %s", part.kind())
			continue
		}
		for _, e := range part.Map().entries {
			m.add(e)
		}
	}
}

// Join adds the entries of another map, possibly from another piece of the file. A key that
// both have is an error.
func (m *Map) Join(other *Map) {
	for _, e := range other.entries {
		if !m.add(e) {
			m.key(&e).Errorf(codeDuplicateKey, "remove one of them", "duplicate key %q", e.name)
		}
	}
}

// Node returns the map itself.
func (m *Map) Node() Node { return m.node }

// Entries returns all keys with their values, in order. All of them count as known.
func (m *Map) Entries() []Entry { return slices.AppendSeq(make([]Entry, 0, m.Len()), m.All()) }

// All visits the Entries without a list of them.
func (m *Map) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for i := range m.entries {
			m.entries[i].used = true
		}
		for i := range m.entries {
			e := &m.entries[i]
			if !yield(Entry{Name: e.name, Key: m.key(e), Value: m.value(e)}) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (m *Map) Len() int { return len(m.entries) }

// Get returns the value under a key, which is then known. It does not exist if the key is
// missing.
func (m *Map) Get(key string) Node {
	if m.known == nil {
		m.known = m.node.doc.knownKeys()
	}
	m.known = append(m.known, key)
	return m.take(key)
}

// Peek returns the value under a key without making the key known.
func (m *Map) Peek(key string) Node {
	if e := m.find(key); e != nil {
		return m.value(e)
	}
	return Node{}
}

func (m *Map) take(key string) Node {
	if e := m.find(key); e != nil {
		e.used = true
		return m.value(e)
	}
	return Node{}
}

// String, Name, Bool, Duration, Float, Value, Map and List return what the Node under the
// key returns; nothing if the key is missing.
func (m *Map) String(key string) string          { return m.Get(key).Text() }
func (m *Map) Name(key string) string            { return m.Get(key).Name() }
func (m *Map) Bool(key string) bool              { return m.Get(key).Bool() }
func (m *Map) Duration(key string) time.Duration { return m.Get(key).Duration() }
func (m *Map) Float(key string) float64          { return m.Get(key).Float() }
func (m *Map) Value(key string) any              { return m.Get(key).Value() }
func (m *Map) Map(key string) *Map               { return m.Get(key).Map() }
func (m *Map) List(key string) []Node            { return m.Get(key).List() }

// Int returns an integer, at least the given one; zero if the key is missing.
func (m *Map) Int(key string, least int) int { return int(m.Get(key).Int(int64(least))) }

// Word returns one of the words; "" if the key is missing.
func (m *Map) Word(key string, words ...string) string { return m.Get(key).Word(words...) }

// Strings returns a string or a list of strings.
func (m *Map) Strings(key string) []string {
	var texts []string
	for _, n := range m.Get(key).OneOrMany() {
		texts = append(texts, n.Text())
	}
	return texts
}

// Refuse reports a key that people may expect and that does not exist, with a message of
// its own.
func (m *Map) Refuse(key, code, detail, summary string) {
	if n := m.take(key); n.Exists() {
		n.Key().Errorf(code, detail, "%s", summary)
	}
}

// Done reports every key that was not asked for, and returns their number. It is the last
// call.
func (m *Map) Done() (unknown int) {
	for i := range m.entries {
		if !m.entries[i].used {
			unknown++
		}
	}
	alien := unknown > 2 && 2*unknown > len(m.entries) // it is for another program
	for i := range m.entries {
		if e := &m.entries[i]; !e.used {
			m.unknown(e, alien)
		}
	}
	if d := m.node.doc; d != nil {
		d.pool().keys = append(d.pool().keys, m.known[:0])
	}
	m.known = nil
	return unknown
}

// distinct returns a list without duplicates, such as a key that was looked up twice.
func distinct(list []string) (once []string) {
	for _, word := range list {
		if !slices.Contains(once, word) {
			once = append(once, word)
		}
	}
	return once
}

// unknown reports a key. A key that was already suggested for another one is not suggested
// again.
func (m *Map) unknown(e *entry, alien bool) {
	key := m.key(e)
	d := workflow.Errorf(key.Pos(), codeUnknownKey, "the keys here are "+strings.Join(distinct(m.known), ", "), "unknown key %q", e.name)
	d = m.translated(d.Near(e.name, m.known), e.name)
	if word := d.Change.Text; alien || m.find(word) != nil {
		d.Change = workflow.Change{}
	} else if word != "" {
		e.name = word
	}
	key.doc.report(d)
}
