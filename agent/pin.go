package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// pinned is what a run stores about its agents when it starts, so that editing an agent
// file does not affect the run.
type pinned struct {
	Default     string        `json:"default,omitempty"`
	Definitions []*Definition `json:"definitions"`
	Reserved    []string      `json:"reserved,omitempty"`
}

// Encode returns the set without its executors as JSON. Equal sets have equal encodings.
func (s *Set) Encode() []byte {
	p := pinned{Default: s.fallback, Definitions: []*Definition{}, Reserved: s.reserved}
	for _, d := range s.agents {
		if !d.Builtin {
			p.Definitions = append(p.Definitions, d)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("agent: cannot encode definitions: %v", err)) // plain data can always be encoded
	}
	return data
}

// DecodeSet decodes the output of Encode and adds executors. Agents that were chosen stay
// the same, even if this machine has others.
func DecodeSet(data []byte, executors map[string]Executor) (*Set, error) {
	var p pinned
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("agent: stored agents: %w", err)
	}
	return newSet(executors, p.Definitions, p.Default, p.Reserved), nil
}
