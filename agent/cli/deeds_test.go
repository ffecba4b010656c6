package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
)

// Checks what the output of the CLIs reports about tools and files. The real CLIs are
// held to the same in agent/cli/real.
func TestTranscripts(t *testing.T) {
	for _, c := range []struct {
		cli, stream, model string
		want               []agent.Entry
	}{
		{
			cli: "codex", stream: `{"type":"item.completed","item":{"id":"i0","type":"file_change","changes":[{"path":"a","kind":"add"},{"path":"b","kind":"update"},{"path":"c","kind":"delete"}],"status":"completed"}}
{"type":"item.completed","item":{"id":"i1","type":"file_change","changes":[{"path":"d","kind":"add"}],"status":"failed"}}
{"type":"item.started","item":{"id":"i2","type":"command_execution","command":"false","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i2","type":"command_execution","command":"false","aggregated_output":"","exit_code":1,"status":"failed"}}
{"type":"item.started","item":{"id":"i3","type":"mcp_tool_call","tool":"add","arguments":{"a":2}}}
{"type":"item.completed","item":{"id":"i3","type":"mcp_tool_call","tool":"add","result":{"content":[{"type":"text","text":"42"}]},"status":"completed"}}
{"type":"item.completed","item":{"id":"i4","type":"agent_message","text":"done"}}`,
			want: []agent.Entry{
				agent.ToolCall{ID: "i0", Tool: "file_change", Arguments: []any{map[string]any{"path": "a", "kind": "add"}, map[string]any{"path": "b", "kind": "update"}, map[string]any{"path": "c", "kind": "delete"}}},
				agent.ToolResult{ID: "i0", Tool: "file_change", Text: "completed"},
				agent.FileChange{Path: "a", Change: agent.Created}, agent.FileChange{Path: "b", Change: agent.Modified}, agent.FileChange{Path: "c", Change: agent.Deleted},
				agent.ToolCall{ID: "i1", Tool: "file_change", Arguments: []any{map[string]any{"path": "d", "kind": "add"}}},
				agent.ToolResult{ID: "i1", Tool: "file_change", Text: "failed", Failed: true},
				agent.ToolCall{ID: "i2", Tool: "command_execution", Arguments: "false"},
				agent.ToolResult{ID: "i2", Tool: "command_execution", Failed: true},
				agent.ToolCall{ID: "i3", Tool: "add", Arguments: map[string]any{"a": json.Number("2")}},
				agent.ToolResult{ID: "i3", Tool: "add", Text: "42"},
				agent.AssistantText{Text: "done"},
			},
		},
		{
			cli: "gemini", model: "gemini-big", stream: `{"type":"init","session_id":"s","model":"auto"}
{"type":"tool_use","tool_name":"write_file","tool_id":"w1","parameters":{"file_path":"a"}}
{"type":"tool_result","tool_id":"w1","status":"success"}
{"type":"tool_use","tool_name":"replace","tool_id":"w2","parameters":{"file_path":"b"}}
{"type":"tool_result","tool_id":"w2","status":"error","error":{"message":"no such file"}}
{"type":"message","role":"assistant","content":"do","delta":true}
{"type":"message","role":"assistant","content":"ne","delta":true}
{"type":"result","status":"success","stats":{"models":{"gemini-big":{"input":5,"output_tokens":9},"gemini-small":{"input":7,"output_tokens":3}}}}`,
			want: []agent.Entry{
				agent.ToolCall{ID: "w1", Tool: "write_file", Arguments: map[string]any{"file_path": "a"}},
				agent.ToolResult{ID: "w1", Tool: "write_file"}, agent.FileChange{Path: "a", Change: agent.Written},
				agent.ToolCall{ID: "w2", Tool: "replace", Arguments: map[string]any{"file_path": "b"}},
				agent.ToolResult{ID: "w2", Tool: "replace", Text: "no such file", Failed: true},
				agent.AssistantText{Text: "done"},
			},
		},
		{
			cli: "opencode", stream: `{"type":"tool_use","part":{"tool":"write","callID":"c1","state":{"status":"completed","input":{"filePath":"a"},"output":"Wrote it.","metadata":{"exists":false}}}}
{"type":"tool_use","part":{"tool":"edit","callID":"c2","state":{"status":"error","input":{"filePath":"b"},"error":"rejected"}}}
{"type":"tool_use","part":{"tool":"apply_patch","callID":"c3","state":{"status":"completed","input":{"patchText":"p"},"output":"ok","metadata":{"files":[{"filePath":"d","type":"update"},{"filePath":"e","type":"delete"}]}}}}
{"type":"text","part":{"text":"done"}}
{"type":"step_finish","part":{"reason":"stop"}}`,
			want: []agent.Entry{
				agent.ToolCall{ID: "c1", Tool: "write", Arguments: map[string]any{"filePath": "a"}},
				agent.ToolResult{ID: "c1", Tool: "write", Text: "Wrote it."}, agent.FileChange{Path: "a", Change: agent.Created},
				agent.ToolCall{ID: "c2", Tool: "edit", Arguments: map[string]any{"filePath": "b"}},
				agent.ToolResult{ID: "c2", Tool: "edit", Text: "rejected", Failed: true},
				agent.ToolCall{ID: "c3", Tool: "apply_patch", Arguments: map[string]any{"patchText": "p"}},
				agent.ToolResult{ID: "c3", Tool: "apply_patch", Text: "ok"},
				agent.FileChange{Path: "d", Change: agent.Written}, agent.FileChange{Path: "e", Change: agent.Deleted},
				agent.AssistantText{Text: "done"},
			},
		},
		{
			cli: "qwen", model: "qwen-x", stream: `{"type":"system","subtype":"init","session_id":"s","model":"qwen-x"}
{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"tool_use","id":"c1","name":"write_file","input":{"file_path":"a"}}]}}
{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":false,"content":"created"}]}}
{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"text","text":"done"}]}}
{"type":"result","is_error":false,"result":"done"}`,
			want: []agent.Entry{
				agent.ToolCall{ID: "c1", Tool: "write_file", Arguments: map[string]any{"file_path": "a"}},
				agent.ToolResult{ID: "c1", Tool: "write_file", Text: "created"}, agent.FileChange{Path: "a", Change: agent.Written},
				agent.AssistantText{Text: "done"},
			},
		},
		{
			cli: "copilot", model: "m1", stream: `{"type":"assistant.message","data":{"messageId":"1","model":"m1","content":"I do."}}
{"type":"tool.execution_start","data":{"toolCallId":"c1","toolName":"create","arguments":{"path":"a"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"fileEdits":[{"path":"a","kind":"create"},{"path":"b","kind":"edit"}],"result":{"content":"Created"}}}
{"type":"tool.execution_start","data":{"toolCallId":"c2","toolName":"bash","arguments":{"command":"x"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"c2","success":false,"error":{"message":"denied"}}}`,
			want: []agent.Entry{
				agent.AssistantText{Text: "I do."},
				agent.ToolCall{ID: "c1", Tool: "create", Arguments: map[string]any{"path": "a"}},
				agent.ToolResult{ID: "c1", Tool: "create", Text: "Created"},
				agent.FileChange{Path: "a", Change: agent.Created}, agent.FileChange{Path: "b", Change: agent.Written},
				agent.ToolCall{ID: "c2", Tool: "bash", Arguments: map[string]any{"command": "x"}},
				agent.ToolResult{ID: "c2", Tool: "bash", Text: "denied", Failed: true},
			},
		},
		{
			cli: "goose", model: "gpt-x", stream: `{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"toolRequest","id":"c1","toolCall":{"value":{"name":"write","arguments":{"path":"a"}}}}],"metadata":{"inference":{"requestedModel":"gpt-x"}}}}
{"type":"message","message":{"id":"2","role":"user","content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"Created a"}],"isError":false}}}]}}
{"type":"message","message":{"id":"3","role":"assistant","content":[{"type":"toolRequest","id":"c2","toolCall":{"value":{"name":"edit","arguments":{"path":"b"}}}}]}}
{"type":"message","message":{"id":"4","role":"user","content":[{"type":"toolResponse","id":"c2","toolResult":{"status":"error","error":"no such file"}}]}}
{"type":"message","message":{"id":"5","role":"assistant","content":[{"type":"text","text":"do"}]}}
{"type":"message","message":{"id":"5","role":"assistant","content":[{"type":"text","text":"ne"}]}}
{"type":"complete"}`,
			want: []agent.Entry{
				agent.ToolCall{ID: "c1", Tool: "write", Arguments: map[string]any{"path": "a"}},
				agent.ToolResult{ID: "c1", Tool: "write", Text: "Created a"}, agent.FileChange{Path: "a", Change: agent.Written},
				agent.ToolCall{ID: "c2", Tool: "edit", Arguments: map[string]any{"path": "b"}},
				agent.ToolResult{ID: "c2", Tool: "edit", Text: "no such file", Failed: true},
				agent.AssistantText{Text: "done"},
			},
		},
	} {
		var got []agent.Entry
		model := ""
		r := newReading(BuiltinManifest(c.cli), func([]byte) {})
		r.task = &agent.Task{KeepEntry: func(e agent.Entry) { got = append(got, e) }, NoteModel: func(name string) { model = name }}
		if err := r.take([]byte(c.stream)); err != nil {
			t.Fatal(err)
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.endModel()
		if diff := cmp.Diff(c.want, got); diff != "" || model != c.model {
			t.Errorf("%s: model %q, entries (-want +got):\n%s", c.cli, model, diff)
		}
	}
}
