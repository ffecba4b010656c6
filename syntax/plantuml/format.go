package plantuml
import "github.com/hocket-dev/hocket/workflow"
func Format(w *workflow.Workflow) ([]byte, error) { return nil, nil }
