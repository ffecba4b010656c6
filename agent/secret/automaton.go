package secret

// automaton finds all of many texts at once, byte by byte (Aho and Corasick). Its cost does
// not depend on their number. It is immutable.
//
// Most of its input has nothing to do with a secret, so the first state has a table for all
// bytes. The others, of which there are many, have a list of their children, usually one.
type automaton struct {
	start  [256]int32
	states []state
}

// state represents a prefix of a text: what was read last.
type state struct {
	char    byte  // that leads here
	child   int32 // the first; zero: none
	sibling int32 // the next child of the same parent; zero: none
	back    int32 // the state of its longest suffix that is a prefix of a text
	depth   int32 // its length
	found   int32 // the length of the longest text that ends here
}

func newAutomaton(texts []string) *automaton {
	a := &automaton{states: make([]state, 1)}
	for _, t := range texts {
		a.insert(t)
	}
	a.connect()
	for s := a.states[0].child; s != 0; s = a.states[s].sibling {
		a.start[a.states[s].char] = s
	}
	return a
}

func (a *automaton) insert(text string) {
	at := int32(0)
	for i := range len(text) {
		next := a.childOf(at, text[i])
		if next == 0 {
			next = int32(len(a.states))
			a.states = append(a.states, state{char: text[i], sibling: a.states[at].child, depth: int32(i + 1)})
			a.states[at].child = next
		}
		at = next
	}
	a.states[at].found = int32(len(text))
}

func (a *automaton) childOf(at int32, c byte) int32 {
	for s := a.states[at].child; s != 0; s = a.states[s].sibling {
		if a.states[s].char == c {
			return s
		}
	}
	return 0
}

// connect computes the fallback of each state, from short ones to long ones.
func (a *automaton) connect() {
	queue := []int32{0}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for s := a.states[parent].child; s != 0; s = a.states[s].sibling {
			queue = append(queue, s)
			if parent == 0 {
				continue
			}
			back, c := a.states[parent].back, a.states[s].char
			for back != 0 && a.childOf(back, c) == 0 {
				back = a.states[back].back
			}
			back = a.childOf(back, c)
			a.states[s].back = back
			a.states[s].found = max(a.states[s].found, a.states[back].found)
		}
	}
}

// step returns the state after one more byte.
func (a *automaton) step(at int32, c byte) int32 {
	if at == 0 {
		return a.start[c] // short enough to be inlined
	}
	return a.walk(at, c)
}

func (a *automaton) walk(at int32, c byte) int32 {
	for at != 0 {
		if next := a.childOf(at, c); next != 0 {
			return next
		}
		at = a.states[at].back
	}
	return a.start[c]
}

// any reports whether a text contains one of those to find.
func (a *automaton) any(text string) bool {
	at := int32(0)
	for i := range len(text) {
		if at = a.step(at, text[i]); a.states[at].found > 0 {
			return true
		}
	}
	return false
}
