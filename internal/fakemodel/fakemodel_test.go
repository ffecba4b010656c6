package fakemodel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// said is how a client interpreted an answer.
type said struct {
	text    string
	call    string // name and arguments
	stop    string
	in, out int64
}

// asks holds the clients: the official ones, where they exist.
var asks = map[string]func(t *testing.T, url, prompt string, stream bool) (said, error){
	"anthropic": askAnthropic,
	"chat":      askChat,
	"responses": askResponses,
	"gemini":    askGemini,
}

var shell = map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []string{"command"}}

func askAnthropic(t *testing.T, url, prompt string, stream bool) (said, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(url), anthropicoption.WithAPIKey("dummy"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{Model: "claude-x", MaxTokens: 100,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "Bash",
			InputSchema: anthropic.ToolInputSchemaParam{Properties: shell["properties"], Required: []string{"command"}}}}}}
	message := &anthropic.Message{}
	var err error
	if stream {
		events := client.Messages.NewStreaming(t.Context(), params)
		for events.Next() {
			if err := message.Accumulate(events.Current()); err != nil {
				return said{}, err
			}
		}
		err = events.Err()
	} else {
		message, err = client.Messages.New(t.Context(), params)
	}
	if err != nil {
		return said{}, err
	}
	s := said{stop: string(message.StopReason), in: message.Usage.InputTokens, out: message.Usage.OutputTokens}
	for _, block := range message.Content {
		s.text += block.Text
		if block.Type == "tool_use" {
			s.call += block.Name + string(block.Input)
		}
	}
	return s, nil
}

func openAI(url string) openai.Client {
	return openai.NewClient(openaioption.WithBaseURL(url+"/v1/"), openaioption.WithAPIKey("dummy"), openaioption.WithMaxRetries(0))
}

func askChat(t *testing.T, url, prompt string, stream bool) (said, error) {
	params := openai.ChatCompletionNewParams{Model: "gpt-x", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "bash", Parameters: shell})}}
	client := openAI(url)
	completion := &openai.ChatCompletion{}
	if stream {
		var all openai.ChatCompletionAccumulator
		events := client.Chat.Completions.NewStreaming(t.Context(), params)
		for events.Next() {
			all.AddChunk(events.Current())
		}
		if events.Err() != nil {
			return said{}, events.Err()
		}
		completion = &all.ChatCompletion
	} else {
		var err error
		if completion, err = client.Chat.Completions.New(t.Context(), params); err != nil {
			return said{}, err
		}
	}
	choice := completion.Choices[0]
	s := said{text: choice.Message.Content, stop: choice.FinishReason, in: completion.Usage.PromptTokens, out: completion.Usage.CompletionTokens}
	for _, c := range choice.Message.ToolCalls {
		s.call += c.Function.Name + c.Function.Arguments
	}
	return s, nil
}

func askResponses(t *testing.T, url, prompt string, stream bool) (said, error) {
	params := responses.ResponseNewParams{Model: "gpt-x", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(prompt)},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("shell", shell, false)}}
	client := openAI(url)
	response := &responses.Response{}
	if stream {
		events := client.Responses.NewStreaming(t.Context(), params)
		for events.Next() {
			switch e := events.Current(); e.Type {
			case "response.completed", "response.incomplete":
				response = &e.Response
			case "response.failed":
				return said{}, errors.New(e.Response.Error.Message)
			}
		}
		if events.Err() != nil {
			return said{}, events.Err()
		}
		if response.Status == "" {
			return said{}, io.ErrUnexpectedEOF
		}
	} else {
		var err error
		if response, err = client.Responses.New(t.Context(), params); err != nil {
			return said{}, err
		}
	}
	s := said{text: response.OutputText(), stop: string(response.Status), in: response.Usage.InputTokens, out: response.Usage.OutputTokens}
	for _, item := range response.Output {
		if item.Type == "function_call" {
			s.call += item.Name + item.Arguments.OfString
		}
	}
	return s, nil
}

func askGemini(t *testing.T, url, prompt string, stream bool) (said, error) {
	body, err := json.Marshal(map[string]any{
		"contents": []any{map[string]any{"role": "user", "parts": []any{map[string]any{"text": prompt}}}},
		"tools":    []any{map[string]any{"functionDeclarations": []any{map[string]any{"name": "run_shell_command", "parametersJsonSchema": shell}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	method := ":generateContent"
	if stream {
		method = ":streamGenerateContent"
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1beta/models/gemini-x"+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return said{}, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return said{}, err
	}
	if response.StatusCode != http.StatusOK {
		return said{}, fmt.Errorf("%d %s", response.StatusCode, data)
	}
	if !stream {
		data = []byte("[" + string(data) + "]")
	}
	return readGemini(data)
}

func readGemini(data []byte) (s said, err error) {
	var chunks []struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text         string
					FunctionCall *struct {
						Name string
						Args json.RawMessage
					}
				}
			}
			FinishReason string
		}
		UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount int64 }
		Error         *struct{ Message string }
	}
	if err := json.Unmarshal(data, &chunks); err != nil {
		return s, err
	}
	for _, chunk := range chunks {
		if chunk.Error != nil {
			return s, errors.New(chunk.Error.Message)
		}
		for _, part := range chunk.Candidates[0].Content.Parts {
			s.text += part.Text
			if part.FunctionCall != nil {
				s.call += part.FunctionCall.Name + string(part.FunctionCall.Args)
			}
		}
		s.stop, s.in, s.out = chunk.Candidates[0].FinishReason, chunk.UsageMetadata.PromptTokenCount, chunk.UsageMetadata.CandidatesTokenCount
	}
	return s, nil
}

func eachAPI(t *testing.T, check func(t *testing.T, ask func(prompt string) (said, error))) {
	server := fakemodel.Start(t)
	for name, ask := range asks {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%v", name, stream), func(t *testing.T) {
				check(t, func(prompt string) (said, error) { return ask(t, server.URL, prompt, stream) })
			})
		}
	}
}

func TestAnswers(t *testing.T) {
	eachAPI(t, func(t *testing.T, ask func(string) (said, error)) {
		got, err := ask("Say it.\n" + fakemodel.Prompt(fakemodel.Step{Text: "one <two> & three", Think: "hm", Usage: &fakemodel.Usage{In: 7, Out: 3}}))
		if err != nil || got.text != "one <two> & three" && got.text != "hmone <two> & three" || got.in != 7 || got.out != 3 || got.call != "" {
			t.Errorf("%+v, %v", got, err)
		}
		got, err = ask(fakemodel.Prompt(fakemodel.Step{Tool: "$shell", Cmd: "touch x"}))
		if err != nil || !strings.HasSuffix(strings.ToLower(got.call), `{"command":"touch x"}`) {
			t.Errorf("a call: %+v, %v", got, err)
		}
		got, err = ask(fakemodel.Prompt(fakemodel.Step{JSON: map[string]any{"a": 1}}))
		if err != nil || got.text != `{"a":1}` {
			t.Errorf("JSON: %+v, %v", got, err)
		}
		got, err = ask(fakemodel.Prompt(fakemodel.Step{Text: "ab{i}", Repeat: 10, Pieces: 7, Delay: 1}))
		if err != nil || got.text != "ab0ab1ab2ab3ab4ab5ab6ab7ab8ab9" {
			t.Errorf("a long text: %d, %v", len(got.text), err)
		}
		got, err = ask(fakemodel.Prompt(fakemodel.Step{Text: "cut", MaxTokens: true}))
		if stop := strings.ToLower(got.stop); err != nil || stop != "max_tokens" && stop != "length" && stop != "incomplete" {
			t.Errorf("cut off: %+v, %v", got, err)
		}
	})
}

func TestFailures(t *testing.T) {
	eachAPI(t, func(t *testing.T, ask func(string) (said, error)) {
		for name, step := range map[string]fakemodel.Step{
			"status":         {Status: 429, Message: "slow down", RetryAfter: 5},
			"status midway":  {Text: "so far", Status: 500, Message: "slow down"},
			"drop":           {Text: "so far so good", Drop: true},
			"drop at once":   {Drop: true},
			"wrong script":   {Tool: "$nothing"},
			"drop in a call": {Tool: "$shell", Cmd: "x", Drop: true},
		} {
			if got, err := ask(fakemodel.Prompt(step)); err == nil {
				t.Errorf("%s: %+v", name, got)
			} else if strings.HasPrefix(name, "status") && !strings.Contains(words(err), "slow down") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := ask(`FAKE{"stepps":[]}`); err == nil || !strings.Contains(words(err), "stepps") {
			t.Errorf("a script with a mistake: %v", err)
		}
	})
}

// words returns the message of an error; one of OpenAI's does not include it.
func words(err error) string {
	var api *openai.Error
	if errors.As(err, &api) {
		return api.Message
	}
	return err.Error()
}

// TestTurns counts what each API sends of the earlier turns.
func TestTurns(t *testing.T) {
	server := fakemodel.Start(t)
	script := strings.ReplaceAll(fakemodel.Prompt(fakemodel.Step{Text: "zero"}, fakemodel.Step{Text: "one"}, fakemodel.Step{Text: "two"}), `"`, `\"`)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages", `{"messages":[{"role":"user","content":"%[1]s"}]}`, "zero"},
		{"/v1/messages", `{"messages":[{"role":"user","content":[{"type":"text","text":"%[1]s"},{"type":"text","text":"and"}]},
			{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"fake1-0"}]},{"role":"user","content":[{"type":"tool_result"}]}]}`, "one"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"%[1]s"},{"role":"assistant","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`, "two"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"%[1]s"},{"role":"assistant","content":"a"},{"role":"user","content":"%[1]s"}]}`, "zero"},
		{"/v1/chat/completions", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"%[1]s"},{"role":"assistant","tool_calls":[{"id":"fake1-0"}]},{"role":"tool","content":"x"}]}`, "one"},
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"%[1]s"}]},{"type":"function_call","call_id":"fake1-0"},{"type":"function_call_output"},
			{"type":"function_call","call_id":"fake1-1"},{"type":"function_call_output"}]}`, "one"},
		{"/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"%[1]s"}]},{"type":"function_call","call_id":"fake1-0"},{"type":"function_call_output"},
			{"type":"message","role":"assistant","content":[]}]}`, "two"},
		{"/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"%[1]s"}]},{"role":"model","parts":[{"text":"a"},{"functionCall":{}}]},{"role":"user","parts":[{"functionResponse":{}}]}]}`, "one"},
	} {
		response, err := http.Post(server.URL+c.path, "application/json", strings.NewReader(fmt.Sprintf(c.body, script)))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || !strings.Contains(string(data), `"`+c.want+`"`) {
			t.Errorf("%s %s: not %q: %s, %v", c.path, c.body, c.want, data, err)
		}
	}
}

// TestReply tests answers without scripts, and what is recorded of a request.
func TestReply(t *testing.T) {
	server := fakemodel.Start(t)
	server.Reply(func(r *fakemodel.Request) fakemodel.Step { return fakemodel.Step{Text: "you said: " + r.Prompt} })
	got, err := askChat(t, server.URL, "hello", true)
	if err != nil || got.text != "you said: hello" {
		t.Errorf("%+v, %v", got, err)
	}
	requests := server.Requests()
	if len(requests) != 1 || requests[0].API != "chat" || requests[0].Model != "gpt-x" || requests[0].Key != "dummy" || len(requests[0].Tools) != 1 {
		t.Errorf("%+v", requests)
	}
	client := openAI(server.URL)
	if _, err := client.Models.List(t.Context()); err != nil {
		t.Error(err)
	}
	if len(server.All()) != 2 || len(server.Requests()) != 1 {
		t.Errorf("%d of %d requests were to the model", len(server.Requests()), len(server.All()))
	}
	refused := openai.NewClient(openaioption.WithBaseURL(server.URL+"/v1/"), openaioption.WithAPIKey(fakemodel.BadKey))
	_, err = refused.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "m"})
	var api *openai.Error
	if !errors.As(err, &api) || api.StatusCode != http.StatusUnauthorized {
		t.Errorf("the bad key: %v", err)
	}
}
