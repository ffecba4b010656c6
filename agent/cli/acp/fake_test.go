//go:build unix

package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeVariable makes this test binary an agent that speaks ACP. Its value says how the
// agent misbehaves.
const fakeVariable = "HOCKET_TEST_ACP_AGENT"

func TestMain(m *testing.M) {
	if odd := os.Getenv(fakeVariable); odd != "" {
		(&fake{odd: odd, out: bufio.NewWriter(os.Stdout)}).serve()
		return
	}
	os.Exit(m.Run())
}

// fake is an agent that does what each line of its prompt says.
type fake struct {
	odd     string
	out     *bufio.Writer
	turn    json.RawMessage // id of the prompt that is not yet answered
	answers chan map[string]any
	said    []string
}

type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params map[string]any  `json:"params"`
	Result map[string]any  `json:"result"`
}

func (f *fake) serve() {
	switch f.odd {
	case "dumb":
		fmt.Fprintln(os.Stderr, "Usage: fake [options]")
		os.Exit(2)
	case "garbage":
		fmt.Print("Welcome!\n{}\n[1]\n{\"half\": \nnull\n")
	}
	f.answers = make(chan map[string]any)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m fakeMessage
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		f.take(&m)
	}
	if f.odd == "stays" {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
}

func (f *fake) take(m *fakeMessage) {
	switch m.Method {
	case "initialize":
		version := 1
		if f.odd == "newer" {
			version = 2
		}
		can := map[string]any{"loadSession": f.odd != "forgets"}
		if f.odd == "resumes" {
			can["sessionCapabilities"] = map[string]any{"resume": map[string]any{}, "systemPrompt": map[string]any{}}
		}
		f.reply(m.ID, map[string]any{"protocolVersion": version, "agentCapabilities": can})
	case "session/new":
		if f.odd == "login" {
			f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32000, "message": "Authentication required"}})
			return
		}
		f.note("session/new", m.Params)
		f.reply(m.ID, map[string]any{"sessionId": "s1"})
	case "session/load":
		if m.Params["sessionId"] != "s1" {
			f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32602, "message": "Session not found"}})
			return
		}
		f.load(m)
	case "session/resume":
		f.note("session/resume", m.Params)
		f.reply(m.ID, map[string]any{})
	case "session/set_mode", "session/set_model":
		if f.odd == "picky" {
			f.send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32602, "message": "Invalid params"}})
			return
		}
		f.note(m.Method, m.Params)
		f.reply(m.ID, map[string]any{})
	case "session/prompt":
		f.turn = m.ID
		blocks, _ := m.Params["prompt"].([]any)
		block, _ := blocks[0].(map[string]any)
		text, _ := block["text"].(string)
		go f.do(text)
	case "session/cancel":
		if f.odd != "deaf" {
			f.stop("cancelled")
		}
	case "":
		f.answers <- m.Result
	}
}

// load repeats the conversation before its answer or, if it misbehaves that way, after
// it.
func (f *fake) load(m *fakeMessage) {
	past := func() {
		f.update("user_message_chunk", text("old question"))
		f.update("agent_message_chunk", text("old answer"))
	}
	if f.odd != "late" {
		past()
		f.reply(m.ID, map[string]any{})
		return
	}
	f.reply(m.ID, map[string]any{})
	past()
	f.update("available_commands_update", map[string]any{"availableCommands": []any{}})
}

func (f *fake) note(method string, params map[string]any) {
	data, err := json.Marshal(params)
	if err != nil {
		os.Exit(1)
	}
	f.said = append(f.said, method+" "+string(data))
}

// do carries out a prompt, line by line.
func (f *fake) do(prompt string) {
	for line := range strings.SplitSeq(prompt, "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "say":
			f.update("agent_message_chunk", text(rest))
		case "echo": // prints what it heard before
			f.update("agent_message_chunk", text(strings.Join(f.said, "\n")))
		case "repeat":
			for range 3000 {
				f.update("agent_message_chunk", text(rest))
			}
		case "run":
			f.tool(rest)
		case "edit":
			f.edit(rest)
		case "ask":
			f.ask(rest)
		case "spend":
			f.update("usage_update", map[string]any{"used": 1, "size": 2, "cost": map[string]any{"amount": json.Number(rest), "currency": "USD"}})
		case "child": // starts a child that leaves the process group
			cmd := exec.Command("sleep", "3600")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Start(); err != nil {
				os.Exit(1)
			}
			f.update("agent_message_chunk", text(fmt.Sprint(cmd.Process.Pid)))
		case "hang":
			return
		case "fail":
			f.send(map[string]any{"id": f.turn, "error": map[string]any{"code": -32603, "message": "Internal error", "data": map[string]any{"details": rest}}})
			return
		case "die":
			fmt.Fprintln(os.Stderr, rest)
			os.Exit(7)
		case "stop":
			f.stop(rest)
			return
		}
	}
	f.stop("end_turn")
}

func (f *fake) stop(reason string) {
	if f.turn != nil {
		end := map[string]any{"stopReason": reason}
		if f.odd != "mute" { // a mute agent has not heard from a model
			end["usage"] = map[string]any{"inputTokens": 1000, "outputTokens": 50, "totalTokens": 1050}
		}
		f.reply(f.turn, end)
		f.turn = nil
	}
}

func (f *fake) tool(command string) {
	f.update("tool_call", map[string]any{"toolCallId": "t1", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": map[string]any{}})
	f.update("tool_call_update", map[string]any{"toolCallId": "t1", "title": command, "status": "completed", "rawInput": map[string]any{"command": command}})
}

// edit changes files in each of the ways in which agents report it, and fails once.
func (f *fake) edit(dir string) {
	diff := func(name string, old any) map[string]any {
		return map[string]any{"type": "diff", "path": dir + name, "oldText": old, "newText": "x"}
	}
	f.update("tool_call", map[string]any{"toolCallId": "e1", "name": "Write", "title": "Write a", "kind": "edit", "status": "in_progress", "rawInput": map[string]any{"file": "a"},
		"content": []any{diff("a", nil), diff("b", "old"), diff("c", "")}})
	f.update("tool_call_update", map[string]any{"toolCallId": "e1", "title": "Wrote a", "status": "completed", "rawOutput": "fine", "content": []any{text("shown")}})
	f.update("tool_call", map[string]any{"toolCallId": "e2", "title": "Remove", "kind": "delete", "locations": []any{map[string]any{"path": dir + "d"}}})
	f.update("tool_call_update", map[string]any{"toolCallId": "e2", "status": "completed", "rawOutput": map[string]any{"removed": 1}})
	f.update("tool_call", map[string]any{"toolCallId": "e3", "title": "Write e", "kind": "edit", "status": "in_progress", "content": []any{diff("e", nil)}})
	shown := map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": "disk full"}}
	f.update("tool_call_update", map[string]any{"toolCallId": "e3", "status": "failed", "content": []any{shown}})
	f.update("tool_call", map[string]any{"toolCallId": "e4", "title": "ls", "kind": "execute", "status": "in_progress"})
	for _, piece := range []string{"one\n", "two\n"} {
		f.update("tool_call_update", map[string]any{"toolCallId": "e4", "_meta": map[string]any{"terminal_output_delta": map[string]any{"data": piece}}})
	}
	f.update("tool_call_update", map[string]any{"toolCallId": "e4", "status": "completed"})
}

// ask asks to run a command, and prints the result.
func (f *fake) ask(command string) {
	f.send(map[string]any{"id": 99, "method": "session/request_permission", "params": map[string]any{
		"sessionId": "s1",
		"toolCall":  map[string]any{"toolCallId": "t2", "kind": "execute", "title": command, "rawInput": map[string]any{"command": command}},
		"options": []any{
			map[string]any{"optionId": "always-x", "name": "Always", "kind": "allow_always"}, map[string]any{"optionId": "no", "name": "No", "kind": "reject_once"},
			map[string]any{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
		},
	}})
	result := <-f.answers
	outcome, _ := result["outcome"].(map[string]any)
	if f.odd == "sulks" && outcome["optionId"] == "no" {
		return
	}
	f.update("agent_message_chunk", text(fmt.Sprintf("%s %v", outcome["outcome"], outcome["optionId"])))
}

func text(words string) map[string]any {
	return map[string]any{"content": map[string]any{"type": "text", "text": words}}
}

func (f *fake) update(kind string, more map[string]any) {
	more["sessionUpdate"] = kind
	f.send(map[string]any{"method": "session/update", "params": map[string]any{"sessionId": "s1", "update": more}})
}

func (f *fake) reply(id json.RawMessage, result any) {
	f.send(map[string]any{"id": id, "result": result})
}

func (f *fake) send(m map[string]any) {
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		os.Exit(1)
	}
	_, _ = f.out.Write(append(data, '\n'))
	_ = f.out.Flush()
}
