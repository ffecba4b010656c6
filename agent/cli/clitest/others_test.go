package clitest_test

import (
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/clitest"
)

// Shortened output of these CLIs.

func TestCodex(t *testing.T) {
	const begin = `{"type":"thread.started","thread_id":"t-1"}
{"type":"item.completed","item":{"type":"error","message":"Model metadata not found."}}
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 1/5 (stream disconnected)"}
{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"agent_message","text":"looking"}}
`
	clitest.Prove(t, cli.BuiltinManifest("codex"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUnknown: true, TokensIn: 1000, TokensOut: 50}, Stdout: begin +
			`{"type":"item.completed","item":{"type":"agent_message","text":"forty-two"}}
{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":100,"output_tokens":50}}
`},
		clitest.Sample{Name: "failure", Exit: 1, Fails: agent.Failed, Says: "codex failed: high demand", Stdout: begin + `{"type":"turn.failed","error":{"message":"high demand"}}`},
		clitest.Sample{Name: "key refused", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "log in with: codex login",
			Stdout: `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: bad key"}}`},
		clitest.Sample{Name: "model", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "does not know this model",
			Stdout: `{"type":"turn.failed","error":{"message":"The requested model 'x' does not exist."}}`},
		clitest.Sample{Name: "quota", Exit: 1, Fails: agent.Quota, Says: "429", Stdout: begin + `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`},
		clitest.Sample{Name: "waits for the quota", Fails: agent.Quota, Says: "429", Stdout: `{"type":"error","message":"Reconnecting... 1/5 (last status: 429 Too Many Requests)"}` + "\n"},
		clitest.Sample{Name: "no such conversation", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "no longer has the conversation", Stderr: "Error: no rollout found for thread id 1\n"},
	)
}

func TestGemini(t *testing.T) {
	clitest.Prove(t, cli.BuiltinManifest("gemini"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUnknown: true, TokensIn: 1000, TokensOut: 50}, Stdout: `{"type":"init","session_id":"g-1","model":"gemini-x"}
{"type":"message","role":"user","content":"Do it."}
{"type":"message","role":"assistant","content":"let me look","delta":true}
{"type":"tool_use","tool_name":"run_shell_command","parameters":{"command":"ls"}}
{"type":"tool_result","status":"success","output":"x"}
{"type":"message","role":"assistant","content":"forty-","delta":true}
{"type":"message","role":"assistant","content":"two","delta":true}
{"type":"result","status":"success","stats":{"models":{"gemini-x":{"input_tokens":1000,"cached":100,"input":900,"output_tokens":50}}}}
`},
		clitest.Sample{Name: "failure", Exit: 144, Fails: agent.Failed, Says: "bad thing", Stdout: `{"type":"result","status":"error","error":{"message":"[API Error: bad thing]"},"stats":{}}`},
		clitest.Sample{Name: "key refused", Exit: 145, Fails: agent.Failed, Permanent: true, Says: "set GEMINI_API_KEY", Stdout: `{"type":"result","status":"error","error":{"message":"no"}}`},
		clitest.Sample{Name: "not logged in", Exit: 41, Fails: agent.Failed, Permanent: true, Says: "Invalid auth method", Stderr: "Invalid auth method selected.\n"},
		clitest.Sample{Name: "turns", Exit: 53, Fails: agent.Failed, Permanent: true, Says: "stopped at a limit", Stderr: "Reached max session turns\n"},
		clitest.Sample{Name: "quota", Exit: 173, Fails: agent.Quota, Says: "used up", Stdout: `{"type":"result","status":"error","error":{"message":"no"}}`},
		clitest.Sample{Name: "ended by a signal, with status 0", Fails: agent.Failed, Says: "exited before it reported", Stdout: `{"type":"init","session_id":"g-1"}`},
	)
}

func TestOpencode(t *testing.T) {
	const step = `{"type":"step_start","sessionID":"ses_1","part":{}}
{"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","state":{"status":"error","input":{"command":"ls"},"error":"rejected"}}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":1000,"output":50,"cache":{"read":0,"write":0}},"cost":0.5}}
`
	clitest.Prove(t, cli.BuiltinManifest("opencode"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUSD: 0.75, TokensIn: 1500, TokensOut: 70}, Stdout: step +
			`{"type":"text","sessionID":"ses_1","part":{"text":"forty-two"}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":400,"output":20,"cache":{"read":100,"write":0}},"cost":0.25}}
`},
		clitest.Sample{Name: "refused, with status 0 and no text", Fails: agent.Failed, Says: "exited before it reported", Stdout: step},
		clitest.Sample{Name: "failure", Exit: 1, Fails: agent.Failed, Says: "bad thing", Stdout: `{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"bad thing","statusCode":400}}}`},
		clitest.Sample{Name: "key refused", Exit: 1, Fails: agent.Failed, Permanent: true, Says: "opencode auth login", Stdout: `{"type":"error","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}`},
		clitest.Sample{Name: "quota", Exit: 1, Fails: agent.Quota, Says: "used up", Stdout: `{"type":"error","error":{"name":"APIError","data":{"message":"no","statusCode":429}}}`},
		clitest.Sample{Name: "waits for the quota", Fails: agent.Quota, Says: "used up: AI_APICallError: rate limited",
			Stderr: `level=ERROR message="stream error" modelID=m small=false agent=build error.error="AI_APICallError: rate limited"` + "\n"},
		clitest.Sample{Name: "answer cut off", Fails: agent.Failed, Says: "length", Stdout: `{"type":"text","part":{"text":"half"}}` + "\n" + `{"type":"step_finish","part":{"reason":"length"}}`},
	)
}

func TestQwen(t *testing.T) {
	clitest.Prove(t, cli.BuiltinManifest("qwen"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUnknown: true, TokensIn: 1000, TokensOut: 50}, Stdout: `{"type":"system","subtype":"init","session_id":"q-1","model":"m"}
{"type":"assistant","parent_tool_use_id":null,"message":{"content":[{"type":"text","text":"forty-two"}]}}
{"type":"result","subtype":"success","session_id":"q-1","is_error":false,"result":"forty-two","usage":{"input_tokens":1000,"output_tokens":50,"cache_read_input_tokens":0}}
`},
		clitest.Sample{Name: "failure", Exit: 1, Fails: agent.Failed, Says: "400 bad thing", Stdout: `{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 400 bad thing]"}}`},
		clitest.Sample{Name: "turns", Exit: 53, Fails: agent.Failed, Permanent: true, Says: "stopped at a limit", Stderr: "turns\n"},
		clitest.Sample{Name: "quota", Exit: 1, Fails: agent.Quota, Says: "used up", Stdout: `{"type":"result","is_error":true,"error":{"message":"[API Error: 429 slow down]"}}`},
	)
}

func TestCopilot(t *testing.T) {
	clitest.Prove(t, cli.BuiltinManifest("copilot"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUnknown: true}, Stdout: `{"type":"session.tools_updated","data":{"model":"m"}}
{"type":"assistant.message","data":{"messageId":"1","content":"","toolRequests":[]}}
{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{"command":"ls"}}}
{"type":"assistant.message_delta","data":{"messageId":"2","deltaContent":"forty-"}}
{"type":"assistant.message_delta","data":{"messageId":"2","deltaContent":"two"}}
{"type":"assistant.message","data":{"messageId":"2","content":"forty-two"}}
{"type":"result","sessionId":"c-1","exitCode":0,"usage":{}}
`},
		clitest.Sample{Name: "failure", Exit: 1, Fails: agent.Failed, Says: "400 bad thing", Stdout: `{"type":"session.error","data":{"message":"400 bad thing","statusCode":400}}` + "\n" + `{"type":"result","exitCode":1}`},
		clitest.Sample{Name: "quota", Exit: 1, Fails: agent.Quota, Says: "used up", Stdout: `{"type":"session.error","data":{"message":"no","statusCode":429}}` + "\n" + `{"type":"result","exitCode":1}`},
	)
}

func TestGoose(t *testing.T) {
	clitest.Prove(t, cli.BuiltinManifest("goose"),
		clitest.Sample{Name: "answer", Output: "forty-two", Resumes: true, Usage: agent.Usage{CostUSD: 0.006, TokensIn: 2000, TokensOut: 100}, Stdout: `{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"toolRequest","toolCall":{"value":{"name":"shell","arguments":{"command":"ls"}}}}]}}
{"type":"message","message":{"id":"2","role":"user","content":[{"type":"toolResponse"}]}}
{"type":"message","message":{"id":"3","role":"assistant","content":[{"type":"text","text":"forty-"}]}}
{"type":"message","message":{"id":"3","role":"assistant","content":[{"type":"text","text":"two"}]}}
{"type":"complete","input_tokens":2000,"output_tokens":100,"cost_usd":0.006}
`},
		clitest.Sample{Name: "a failure that is completed, with status 0", Fails: agent.Failed, Says: "Bad request (400)", Stdout: `{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"text","text":"Ran into this error: Request failed: Bad request (400): bad thing."}]}}
{"type":"complete","input_tokens":0,"output_tokens":0}
`},
		clitest.Sample{Name: "quota", Fails: agent.Quota, Says: "used up", Stdout: `{"type":"message","message":{"id":"1","role":"assistant","content":[{"type":"text","text":"Ran into this error: Rate limit exceeded."}]}}
{"type":"complete","input_tokens":0,"output_tokens":0}
`},
	)
}

// Tests a CLI that prints its answer and nothing else.
func TestPlainText(t *testing.T) {
	m, found := cli.ReadManifest("plain.yml", []byte("program: plain\nargs: [-p]\nstdin: \"{prompt}\"\nreply: {format: text}\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	res := clitest.Sample{Name: "answer", Stdout: "forty-two\n", Output: "forty-two"}
	fails := clitest.Sample{Name: "failure", Stderr: "no", Exit: 1, Fails: agent.Failed, Says: "plain failed: exit status 1: no"}
	t.Run("samples", func(t *testing.T) { clitest.Prove(t, m, res, fails) })
}
