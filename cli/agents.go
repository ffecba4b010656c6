package cli

import (
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/agent/shell"
)

// executors are all that can do the work of a task, by the names under which
// agents ask for them. This is the one place that lists them.
func executors() map[string]agent.Executor {
	return map[string]agent.Executor{
		"file":  file.New(),
		"http":  http.New(http.Options{}),
		"shell": shell.New(shell.Options{}),
	}
}
