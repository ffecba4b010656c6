package mcp

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/workflow"
)

// rename is an old name of an argument.
type rename struct{ old, now string }

// aliases are the tools that had another name in an earlier design, with the old names of their arguments.
// If several old arguments mean the same, the first that is given counts. A call by an old name passes the
// same checks as one by the new name.
var aliases = map[string][]rename{
	"hocket_task":            {{"agent_name", "agent"}, {"agent_cli", "agent"}, {"session_id", "session"}},
	"hocket_workflow":        nil,
	"hocket_agents_list":     nil,
	"hocket_workflow_create": nil,
	"hocket_agent_create":    nil,
	"hocket_tool":            {{"params", "inputs"}},
	"hocket_tool_create":     nil,
	"hocket_memory_search":   nil,
	"hocket_memory_add":      {{"content", "text"}},
}

const oldPrefix = "glee_"

func oldName(tool string) string { return oldPrefix + strings.TrimPrefix(tool, "hocket_") }

// oldParams returns the parameters of a tool under their old names.
func oldParams(params []workflow.Param, old []rename) []workflow.Param {
	var all []workflow.Param
	for _, p := range params {
		names := []string{}
		for _, r := range old {
			if r.now == p.Name {
				names = append(names, r.old)
			}
		}
		if len(names) == 0 {
			names = append(names, p.Name)
		}
		for _, p.Name = range names {
			all = append(all, p)
		}
	}
	return all
}

// unlisted leaves the old names out of the list of tools, unless they are wanted: every client sends the
// whole list to its model.
func (s *server) unlisted(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*sdk.ListToolsResult); ok && err == nil && !s.o.Aliases {
			list.Tools = slices.DeleteFunc(list.Tools, func(t *sdk.Tool) bool { return strings.HasPrefix(t.Name, oldPrefix) })
		}
		return res, err
	}
}
