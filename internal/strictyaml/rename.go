package strictyaml

// Rename lets a key count as another, for readers of files in which either may
// be written. Whoever wrote both has said one thing twice.
func (m *Map) Rename(from, to string) {
	e := m.find(from)
	if e == nil {
		return
	}
	if m.find(to) != nil {
		e.used = true
		m.key(e).Errorf(codeDuplicateKey, "remove one of them", "%q and %q say the same", from, to)
		return
	}
	e.name = to
}

// Cut takes a key out of the map: it is known, and whoever asks for it after that
// does not find it.
func (m *Map) Cut(key string) Node {
	n := m.Get(key)
	if e := m.find(key); e != nil {
		e.name = ""
	}
	return n
}

// Names are the keys as they are written, in order.
func (m *Map) Names() []string {
	names := make([]string, len(m.entries))
	for i := range m.entries {
		names[i] = m.entries[i].key.Value
	}
	return names
}
