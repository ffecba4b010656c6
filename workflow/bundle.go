package workflow

// Bundle is a workflow with all the workflows that it calls, directly or not,
// under the names by which they are called. It is what a run pins.
type Bundle struct {
	Root   *Workflow
	Called map[string]*Workflow
}
