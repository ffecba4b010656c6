package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// alias is an old name of a tool, with the old names of its arguments. If several old arguments mean
// the same, the first that is given counts.
type alias struct {
	name string
	args []rename
}

type rename struct{ old, now string }

// aliases are the names that the tools had in an earlier design. A call by such a name is the same
// as one by the new name: it passes the same checks. They are not listed unless asked for, because
// every client sends the whole list to its model.
var aliases = map[string]alias{
	"glee_task":            {"hocket_task", []rename{{"agent_name", "agent"}, {"agent_cli", "agent"}, {"session_id", "session"}}},
	"glee_workflow":        {"hocket_workflow", nil},
	"glee_agents_list":     {"hocket_agents_list", nil},
	"glee_workflow_create": {"hocket_workflow_create", nil},
	"glee_agent_create":    {"hocket_agent_create", nil},
	"glee_tool":            {"hocket_tool", []rename{{"params", "inputs"}}},
	"glee_tool_create":     {"hocket_tool_create", nil},
	"glee_memory_search":   {"hocket_memory_search", nil},
	"glee_memory_add":      {"hocket_memory_add", []rename{{"content", "text"}}},
}

// renamed turns a call by an old name into one by the new name.
func (s *server) renamed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		r, ok := req.(*sdk.CallToolRequest)
		if !ok {
			return next(ctx, method, req)
		}
		if a, ok := aliases[r.Params.Name]; ok {
			params := *r.Params
			params.Name, params.Arguments = a.name, a.arguments(r.Params.Arguments)
			return next(ctx, method, &sdk.CallToolRequest{Session: r.Session, Params: &params, Extra: r.Extra})
		}
		return next(ctx, method, req)
	}
}

// arguments renames arguments. A value of null means that an argument is not given.
func (a alias) arguments(data json.RawMessage) json.RawMessage {
	var args map[string]json.RawMessage
	if json.Unmarshal(data, &args) != nil {
		return data // the tool reports what is wrong
	}
	maps.DeleteFunc(args, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	for _, r := range a.args {
		if v, ok := args[r.old]; ok {
			if _, given := args[r.now]; !given {
				args[r.now] = v
			}
			delete(args, r.old)
		}
	}
	renamed, err := json.Marshal(args)
	if err != nil {
		return data
	}
	return renamed
}

// listed adds the old names to the list of tools, if that is wanted.
func (s *server) listed(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListToolsResult)
		if err != nil || !ok || !s.o.Aliases || list.NextCursor != "" {
			return res, err
		}
		for _, t := range slices.Clone(list.Tools) {
			old := "glee_" + strings.TrimPrefix(t.Name, "hocket_")
			if a, ok := aliases[old]; ok && a.name == t.Name {
				same := *t
				same.Name, same.InputSchema = old, a.schema(t.InputSchema)
				list.Tools = append(list.Tools, &same)
			}
		}
		return list, nil
	}
}

// schema renames the arguments in a schema.
func (a alias) schema(now any) any {
	data, err := json.Marshal(now)
	var old map[string]any
	if err != nil || json.Unmarshal(data, &old) != nil {
		return now
	}
	properties, _ := old["properties"].(map[string]any)
	for _, r := range a.args {
		properties[r.old] = properties[r.now]
	}
	for _, r := range a.args {
		delete(properties, r.now)
	}
	if required, ok := old["required"].([]any); ok {
		for _, r := range a.args {
			if i := slices.Index(required, any(r.now)); i >= 0 {
				required[i] = r.old
			}
		}
	}
	return old
}
