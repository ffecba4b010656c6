package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// pinned is what a run keeps of the agents that it was started with, so that an
// edited agent file does not touch a run under way.
type pinned struct {
	Default     string        `json:"default,omitempty"`
	Definitions []*Definition `json:"definitions"`
	Reserved    []string      `json:"reserved,omitempty"`
}

// Encode is the set without its executors, as JSON, the same for equal sets.
func (s *Set) Encode() []byte {
	p := pinned{Default: s.fallback, Definitions: []*Definition{}, Reserved: s.reserved}
	for _, d := range s.agents {
		if !d.Builtin {
			p.Definitions = append(p.Definitions, d)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("agent: definitions that cannot be encoded: %v", err)) // plain data, always can
	}
	return data
}

// DecodeSet reads what Encode wrote, and gives it executors. Nothing is chosen anew:
// another machine may have others.
func DecodeSet(data []byte, executors map[string]Executor) (*Set, error) {
	var p pinned
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("agent: stored agents: %w", err)
	}
	return newSet(executors, p.Definitions, p.Default, p.Reserved), nil
}
