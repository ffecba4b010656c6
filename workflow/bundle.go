package workflow

// Bundle is a workflow with all the workflows that it calls, directly or indirectly, by the names
// used in the calls. A run stores its bundle when it starts.
type Bundle struct {
	Root   *Workflow
	Called map[string]*Workflow
}
