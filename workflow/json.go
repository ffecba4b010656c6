package workflow

import (
	"encoding/json"
	"fmt"
)

// A workflow is stored as JSON when a run pins it. The only part that
// encoding/json cannot do by itself is the step of a node: it is written with
// its kind beside it. Positions and texts that most nodes do not have are left out:
// to write and read them takes longer than to replay a run.

type nodeFields Node // Node without its methods, so that no recursion happens

type storedNode struct {
	Kind string
	Step json.RawMessage
	*nodeFields
}

// MarshalJSON stores a node with the kind of its step.
func (n *Node) MarshalJSON() ([]byte, error) {
	step, err := json.Marshal(n.Step)
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedNode{n.Kind(), step, (*nodeFields)(n)})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Node) UnmarshalJSON(data []byte) error {
	stored := storedNode{nodeFields: (*nodeFields)(n)}
	if err := unmarshal(data, &stored); err != nil {
		return err
	}
	step := newStep(stored.Kind)
	if step == nil {
		return fmt.Errorf("workflow: node %q has the unknown kind %q", n.ID, stored.Kind)
	}
	n.Step = step
	return unmarshal(stored.Step, step)
}

func newStep(kind string) Step {
	switch kind {
	case "task":
		return &Task{}
	case "human":
		return &Human{}
	case "call":
		return &Call{}
	case "choice":
		return &Choice{}
	case "combine":
		return &Combine{}
	case "loop":
		return &Loop{}
	case "each":
		return &Each{}
	}
	return nil
}

// Decode reads a workflow that json.Marshal wrote.
func Decode(data []byte) (*Workflow, error) {
	w := &Workflow{}
	if err := unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("workflow: stored definition: %w", err)
	}
	return w, nil
}
