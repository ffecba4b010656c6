package clitest_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/clitest"
)

func TestMain(m *testing.M) { os.Exit(clitest.Main(m)) }

const claudeDone = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}
{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"message_start","message":{"id":"m1"}}}
{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"forty-"}}}
{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"two"}}}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"text","text":"forty-two"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"forty-two","structured_output":{"n":42},"session_id":"s-1","total_cost_usd":0.005,"modelUsage":{"claude-x":{"inputTokens":900,"cacheReadInputTokens":100,"outputTokens":50}}}
`

const claudeWrites = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-x"}
{"type":"stream_event","parent_tool_use_id":null,"event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"I write."}}}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"text","text":"I write."}]}}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","content":[{"type":"tool_use","id":"c1","name":"Write","input":{"file_path":"/etc/a.txt"}}]}}
{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"File created"}]},"tool_use_result":{"type":"create","filePath":"/etc/a.txt","structuredPatch":[]}}
{"type":"assistant","parent_tool_use_id":"c9","message":{"id":"m8","content":[{"type":"tool_use","id":"c8","name":"Bash","input":{}}]}}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m2","content":[{"type":"tool_use","id":"c2","name":"Edit","input":{"file_path":"/etc/b.txt"}}]}}
{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c2","is_error":true,"content":[{"type":"text","text":"not read"},{"type":"text","text":"read it first"}]}]},"tool_use_result":"Error: not read"}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m3","content":[{"type":"tool_use","id":"c3","name":"Edit","input":{"file_path":"/etc/b.txt"}}]}}
{"type":"user","parent_tool_use_id":null,"message":{"content":[{"type":"tool_result","tool_use_id":"c3","content":""}]},"tool_use_result":{"filePath":"/etc/b.txt","structuredPatch":[{"oldStart":1}]}}
{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m4","content":[{"type":"text","text":"done"}]}}
{"type":"result","is_error":false,"result":"done","session_id":"s-1","total_cost_usd":0.005,"modelUsage":{"claude-small":{"inputTokens":900,"outputTokens":5},"claude-x-2026":{"inputTokens":900,"outputTokens":50}}}
`

func TestClaude(t *testing.T) {
	used := agent.Usage{CostUSD: 0.005, TokensIn: 1000, TokensOut: 50}
	resets := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	clitest.Prove(t, cli.BuiltinManifest("claude"),
		clitest.Sample{Name: "answer", Stdout: claudeDone, Output: "forty-two", Usage: used, Resumes: true},
		clitest.Sample{Name: "transcript", Stdout: claudeWrites, Output: "done", Model: "claude-x-2026", Transcript: []agent.Entry{
			agent.AssistantText{Text: "I write."},
			agent.ToolCall{ID: "c1", Tool: "Write", Arguments: map[string]any{"file_path": "/etc/a.txt"}},
			agent.ToolResult{ID: "c1", Tool: "Write", Text: "File created"}, agent.FileChange{Path: "/etc/a.txt", Change: agent.Created},
			agent.ToolCall{ID: "c2", Tool: "Edit", Arguments: map[string]any{"file_path": "/etc/b.txt"}},
			agent.ToolResult{ID: "c2", Tool: "Edit", Text: "not read\nread it first", Failed: true},
			agent.ToolCall{ID: "c3", Tool: "Edit", Arguments: map[string]any{"file_path": "/etc/b.txt"}},
			agent.ToolResult{ID: "c3", Tool: "Edit"}, agent.FileChange{Path: "/etc/b.txt", Change: agent.Modified},
			agent.AssistantText{Text: "done"},
		}},
		clitest.Sample{Name: "structured", Stdout: claudeDone, Output: `{"n":42}`, Schema: map[string]any{"type": "object"}},
		clitest.Sample{Name: "refused request with the subtype success", Exit: 1, Fails: agent.Failed, Says: "API Error: 400 bad thing",
			Stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"API Error: 400 bad thing","total_cost_usd":0,"modelUsage":{}}`},
		clitest.Sample{Name: "key refused", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "not logged in, or its key was rejected; start claude once and log in, or set ANTHROPIC_API_KEY: Invalid API key",
			Stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key · Fix external API key"}`},
		clitest.Sample{Name: "model", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "does not know this model",
			Stdout: `{"type":"result","is_error":true,"api_error_status":404,"result":"There's an issue with the selected model (x). It may not exist."}`},
		clitest.Sample{Name: "turns", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "Reached maximum number of turns (1)",
			Stdout: `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached maximum number of turns (1)"]}`},
		clitest.Sample{Name: "interrupted with exit status 0", Fails: agent.Failed, Says: "claude failed",
			Stdout: `{"type":"result","subtype":"error_during_execution","is_error":true}`},
		clitest.Sample{Name: "quota", Exit: 1, Fails: agent.Quota, Until: resets, Says: "used up",
			Stdout: `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":` + unix(resets) + `}}` + "\n" +
				`{"type":"result","is_error":true,"api_error_status":429,"result":"You've hit your limit"}`},
		clitest.Sample{Name: "old quota", Exit: 1, Fails: agent.Quota, Until: resets, Says: "used up",
			Stdout: `{"type":"result","is_error":true,"result":"Claude AI usage limit reached|` + unix(resets) + `"}`},
		clitest.Sample{Name: "no such conversation", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "no longer has the conversation",
			Stderr: "No conversation found with session ID: 1-2-3\n"},
	)
}

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
