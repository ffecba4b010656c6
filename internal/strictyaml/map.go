package strictyaml

import (
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/workflow"
)

// Map is a map whose keys a reader asks for one by one. What was not asked for
// when Done is called is unknown.
type Map struct {
	node    Node
	entries []Entry
	index   map[string]bool // names of a large map
	known   []string
}

// Entry is one key of a map with its value.
type Entry struct {
	Name  string // the key as it is written
	Key   Node
	Value Node
	used  bool
}

// Map is the value, which must be a map. Nothing, written as null, is an empty
// map. The result is never nil.
func (n Node) Map() *Map {
	m := &Map{node: n}
	switch {
	case n.y == nil || n.IsNull():
	case !n.IsMap():
		n.WrongType("a map")
	case n.plainTag():
		m.entries = make([]Entry, 0, len(n.y.Content)/2)
		m.collect()
	}
	return m
}

// collect takes the map's own keys, and then what is merged into it, which
// never replaces a key of its own.
func (m *Map) collect() {
	var merges []Node
	for i := 0; i+1 < len(m.node.y.Content); i += 2 {
		key, value := m.node.y.Content[i], m.node.y.Content[i+1]
		if key.Tag == "!!merge" && key.Style == 0 {
			merges = append(merges, Node{doc: m.node.doc, y: resolved(value), key: key})
			continue
		}
		if e, ok := m.entry(key, value); ok && !m.add(e) {
			e.Key.Errorf(codeDuplicateKey, "remove one of them", "the key %q stands here twice", e.Name)
		}
	}
	for _, from := range merges {
		m.merge(from)
	}
}

// add takes an entry unless its name is there already. Names are compared in a
// small map and hashed in a large one.
func (m *Map) add(e Entry) bool {
	if m.index == nil && len(m.entries) > 16 {
		m.index = make(map[string]bool, len(m.node.y.Content)/2)
		for i := range m.entries {
			m.index[m.entries[i].Name] = true
		}
	}
	if m.index != nil {
		if m.index[e.Name] {
			return false
		}
		m.index[e.Name] = true
	} else if slices.ContainsFunc(m.entries, func(other Entry) bool { return other.Name == e.Name }) {
		return false
	}
	m.entries = append(m.entries, e)
	return true
}

func (m *Map) entry(key, value *yaml.Node) (Entry, bool) {
	k := Node{doc: m.node.doc, y: resolved(key)}
	if !k.IsScalar() {
		detail := "write the key as plain text"
		if m.node.isBraces() {
			detail = `put it in quotes: "{{…}}"`
		}
		k.Errorf(codeKey, detail, "a key must be text, not %s", k.kind())
		return Entry{}, false
	}
	return Entry{Name: k.y.Value, Key: k, Value: Node{doc: m.node.doc, y: resolved(value), key: k.y}}, true
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

// Node is the map itself.
func (m *Map) Node() Node { return m.node }

// Entries are all keys with their values, in order. All of them count as known.
func (m *Map) Entries() []Entry {
	for i := range m.entries {
		m.entries[i].used = true
	}
	return m.entries
}

// Get is the value under a key, which is a known key from then on. It does not
// exist if the key is missing.
func (m *Map) Get(key string) Node {
	if m.known == nil {
		m.known = m.node.doc.knownKeys()
	}
	m.known = append(m.known, key)
	return m.take(key)
}

// Peek is the value under a key, for a second look: it makes no key known.
func (m *Map) Peek(key string) Node {
	for i := range m.entries {
		if m.entries[i].Name == key {
			return m.entries[i].Value
		}
	}
	return Node{}
}

func (m *Map) take(key string) Node {
	for i := range m.entries {
		if e := &m.entries[i]; e.Name == key {
			e.used = true
			return e.Value
		}
	}
	return Node{}
}

// String, Name, Bool, Duration, Float, Value, Map and List are what the Node
// under the key gives; nothing if the key is missing.
func (m *Map) String(key string) string          { return m.Get(key).Text() }
func (m *Map) Name(key string) string            { return m.Get(key).Name() }
func (m *Map) Bool(key string) bool              { return m.Get(key).Bool() }
func (m *Map) Duration(key string) time.Duration { return m.Get(key).Duration() }
func (m *Map) Float(key string) float64          { return m.Get(key).Float() }
func (m *Map) Value(key string) any              { return m.Get(key).Value() }
func (m *Map) Map(key string) *Map               { return m.Get(key).Map() }
func (m *Map) List(key string) []Node            { return m.Get(key).List() }

// Int is a whole number, at least the given one; zero if the key is missing.
func (m *Map) Int(key string, least int) int { return int(m.Get(key).Int(int64(least))) }

// Word is one of the words; "" if the key is missing.
func (m *Map) Word(key string, words ...string) string { return m.Get(key).Word(words...) }

// Strings is text or a list of texts.
func (m *Map) Strings(key string) []string {
	var texts []string
	for _, n := range m.Get(key).OneOrMany() {
		texts = append(texts, n.Text())
	}
	return texts
}

// Refuse reports a key that people may expect and that does not exist, with
// words of its own.
func (m *Map) Refuse(key, code, detail, summary string) {
	if n := m.take(key); n.Exists() {
		n.Key().Errorf(code, detail, "%s", summary)
	}
}

// Done reports every key that was not asked for, and gives how many they are.
// It is the last call.
func (m *Map) Done() (unknown int) {
	for _, e := range m.entries {
		if e.used {
			continue
		}
		unknown++
		detail := workflow.DidYouMean(e.Name, m.known)
		if detail == "" {
			detail = "the keys here are " + strings.Join(m.known, ", ")
		}
		e.Key.Errorf(codeUnknownKey, detail, "unknown key %q", e.Name)
	}
	if d := m.node.doc; d != nil {
		d.spareKeys = append(d.spareKeys, m.known[:0])
	}
	m.known = nil
	return unknown
}
