package strictyaml

// Rename makes one key an alias of another, for readers of files in which either may be used. Using
// both is an error.
func (m *Map) Rename(from, to string) {
	e := m.find(from)
	if e == nil {
		return
	}
	if m.find(to) != nil {
		e.used = true
		m.key(e).Errorf(codeDuplicateKey, "remove one of them", "%q and %q mean the same", from, to)
		return
	}
	e.name = to
}

// Cut removes a key from the map: it is known, but later lookups do not find it.
func (m *Map) Cut(key string) Node {
	n := m.Get(key)
	if e := m.find(key); e != nil {
		e.name = ""
	}
	return n
}

// Names returns the keys as written, in order.
func (m *Map) Names() []string {
	names := make([]string, len(m.entries))
	for i := range m.entries {
		names[i] = m.entries[i].key.Value
	}
	return names
}
