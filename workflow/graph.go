package workflow

import "time"

// Graph is an acyclic graph. Nodes and Edges are in declaration order, which also breaks ties.
// Its entries are the nodes without in-edges.
//
// Node ids are unique in a workflow, across all bodies in it, with one exception: an [Each] that
// repeats a single node has a body of one node with its own id.
type Graph struct {
	Nodes []Node
	Edges []Edge
}

// Node is one node of a graph.
type Node struct {
	ID    string
	Title string `json:",omitempty"` // for people; not part of the digest
	Step  Step
	Join  Join   `json:",omitzero"`
	Group string `json:",omitempty"` // parallel group that collects this node's result
	// Output applies to tasks, humans, calls, combines and Each (where it acts
	// on the list of the items' outputs).
	Output  Output            `json:",omitzero"`
	Retry   Retry             `json:",omitzero"`  // tasks and questions of choices only
	Timeout time.Duration     `json:",omitempty"` // of an attempt, an answer or a call; zero means the agent's own, or 24h for a person
	OnError OnError           `json:",omitempty"`
	Once    bool              `json:",omitempty"` // effect: once; a lost attempt is not repeated without asking
	Labels  map[string]string `json:",omitzero"`  // for metrics; copied to the events
	// Workspace is where a task works, or the tasks of a call, a loop or an Each do.
	Workspace Workspace `json:",omitempty"`
	Pos       Pos       `json:",omitzero"`
}

// Workspace is where a task works.
type Workspace string

// The workspaces. The zero value means that of the call, loop or Each around the node; outside of
// them, the project.
const (
	WorkspaceAround  Workspace = ""
	WorkspaceProject Workspace = "project" // the folder that the user works in, too
	WorkspaceOwn     Workspace = "own"     // a copy that begins with what the steps before it have made
)

// Join says how many live in-edges a node needs.
type Join struct {
	Need int  // zero means all that are not dead
	Keep bool // let the others continue to run
}

// Edge leads from one node to another. In the body of a [Loop], To may also be [Again] or a node
// of a graph around the loop (an exit); it may be [End] anywhere. An edge into a loop names the
// loop; an edge out of a loop names the node of the body that it leaves: a Loop has no out-edges
// of its own.
type Edge struct {
	From, To string
	On       On     `json:",omitempty"`
	Label    string `json:",omitempty"` // for OnLabel
	When     Expr   `json:",omitzero"`  // for OnWhen
	Pos      Pos    `json:",omitzero"`
}

// Targets of edges that are not nodes.
const (
	End   = "@end"   // the path ends here
	Again = "@again" // the innermost loop's body runs again
)

// On is the condition under which an edge is taken.
type On string

// The kinds of edges. Edges of one node with the same label, or the same condition, are taken
// together.
const (
	OnSuccess On = ""        // the node succeeded
	OnLabel   On = "label"   // its decision equals Label
	OnWhen    On = "when"    // the first condition that holds
	OnElse    On = "else"    // no label and no condition of the node matched
	OnFailure On = "error"   // it finally failed
	OnTimeout On = "timeout" // a person did not answer in time
)

// Node returns the node with an id in this graph, but not in the bodies in it.
func (g *Graph) Node(id string) *Node {
	for i := range g.Nodes {
		if g.Nodes[i].ID == id {
			return &g.Nodes[i]
		}
	}
	return nil
}

// Body returns the graph inside a composite step, or nil for other steps.
func (n *Node) Body() *Graph {
	switch s := n.Step.(type) {
	case *Loop:
		return &s.Body
	case *Each:
		return &s.Body
	case *Task, *Human, *Call, *Choice, *Combine:
		return nil
	}
	return nil
}

// Task returns the task of an agent at the node: that of a task, or the question of a choice. It
// returns nil if there is none.
func (n *Node) Task() *Task {
	switch s := n.Step.(type) {
	case *Task:
		return s
	case *Choice:
		return s.Ask
	case *Human, *Call, *Combine, *Loop, *Each:
	}
	return nil
}

// Walk calls visit for every node in declaration order, a composite before what
// is in it.
func (g *Graph) Walk(visit func(g *Graph, n *Node)) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		visit(g, n)
		if body := n.Body(); body != nil {
			body.Walk(visit)
		}
	}
}
