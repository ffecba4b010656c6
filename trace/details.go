package trace

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// detail adds what is stored about an attempt: its model, its conversation, and a span for each response of the
// model and each call of a tool in its transcript.
func (b *Builder) detail(a *attempt, key attemptKey, ev *engine.TaskEnded, used engine.Usage) {
	s := &a.span
	d := b.o.Details(key.address, key.number)
	executor, _ := s.Get("hocket.executor").(string)
	provider := providerOf(a.provider, executor, d.Model)
	s.set("gen_ai.provider.name", provider)
	s.set("gen_ai.response.model", d.Model)
	s.set("gen_ai.conversation.id", d.Session)
	if b.o.Texts {
		s.set("gen_ai.input.messages", messages("user", d.Prompt))
		if ev != nil {
			s.set("gen_ai.output.messages", messages("assistant", ev.Output))
		}
	}
	t := &transcript{b: b, key: key, of: s, first: len(b.ended), provider: provider, model: d.Model, before: s.Start, used: map[SpanID]engine.Usage{}, calls: map[string]*Span{}}
	for line := range bytes.Lines(d.Transcript) {
		if e, at, err := agent.ParseEntryAt(line); err == nil && !at.IsZero() { // older versions did not store when something happened
			t.entry(e, at)
		}
	}
	t.end()
	for i := range b.ended[t.first:] {
		if c := &b.ended[t.first+i]; c.Operation == Chat {
			if t.chats > 1 { // only the transcript may say what each of several has used
				used = t.used[c.ID]
			}
			c.setUsage(used)
		}
	}
}

// transcript makes the spans of an attempt.
//
// What a model says, and which tools it calls, come together, when its response has arrived. The response began when
// the attempt did, or when the last result of a tool was there.
type transcript struct {
	b               *Builder
	key             attemptKey
	of              *Span
	first           int // of its spans, among those that have ended
	provider, model string
	before          time.Time               // when the model was asked
	chat            *Span                   // the response that is being read
	used            map[SpanID]engine.Usage // by responses
	calls           map[string]*Span
	chats, tools    int
}

func (t *transcript) entry(e agent.Entry, at time.Time) {
	if at.Before(t.of.Start) || at.After(t.of.End) { // of an attempt that was lost, or by another clock
		at = t.before
	}
	switch e := e.(type) {
	case agent.AssistantText:
		t.says(at, e.TokensIn, e.TokensOut).text(t.b, "gen_ai.output.messages", messages("assistant", e.Text))
	case agent.ToolCall:
		t.says(at, e.TokensIn, e.TokensOut)
		t.call(e, at)
	case agent.ToolResult:
		t.before, t.chat = at, t.closeChat()
		t.result(e, at)
	case agent.FileChange, agent.Truncated:
	}
}

// says extends the response of the model to a time, and adds what it has used.
func (t *transcript) says(at time.Time, in, out int64) *Span {
	if t.chat == nil {
		t.chats++
		t.chat = t.b.span(Chat, t.model, t.id("chat", t.chats), t.of.ID, t.before)
		t.chat.set("gen_ai.provider.name", t.provider)
		t.chat.set("gen_ai.response.model", t.model)
	}
	t.chat.End = at
	t.used[t.chat.ID] = t.used[t.chat.ID].Plus(engine.Usage{TokensIn: in, TokensOut: out})
	return t.chat
}

func (t *transcript) closeChat() *Span {
	if t.chat != nil {
		t.b.ended = append(t.b.ended, *t.chat)
	}
	return nil
}

func (t *transcript) id(kind string, n int) SpanID {
	return spanID(kind, t.b.o.Run, t.key.address, strconv.Itoa(t.key.number), strconv.Itoa(n))
}

func (t *transcript) call(e agent.ToolCall, at time.Time) {
	t.tools++
	s := t.b.span(ExecuteTool, e.Tool, t.id("tool", t.tools), t.of.ID, at)
	s.set("gen_ai.tool.name", e.Tool)
	s.set("gen_ai.tool.call.id", e.ID)
	if t.b.o.Texts {
		s.set("gen_ai.tool.call.arguments", workflow.FormatJSON(e.Arguments))
	}
	id := e.ID
	if id == "" || t.calls[id] != nil {
		id = "\x00" + e.Tool + strconv.Itoa(t.tools)
	}
	t.calls[id] = s
}

// result ends the call of a tool: that with its id or, if the agent gives none, the first one of the tool.
func (t *transcript) result(e agent.ToolResult, at time.Time) {
	id := e.ID
	if id == "" {
		for n := 1; n <= t.tools && id == ""; n++ {
			if s := t.calls["\x00"+e.Tool+strconv.Itoa(n)]; s != nil {
				id = "\x00" + e.Tool + strconv.Itoa(n)
			}
		}
	}
	s := t.calls[id]
	if s == nil {
		return
	}
	delete(t.calls, id)
	s.End = at
	if e.Failed {
		s.Error = "tool_error"
		s.set("error.type", s.Error)
	}
	s.text(t.b, "gen_ai.tool.call.result", e.Text)
	t.b.ended = append(t.b.ended, *s)
}

// end ends what the attempt left. A call without a result ended with it.
func (t *transcript) end() {
	t.closeChat()
	for n := range t.tools {
		for id, s := range t.calls {
			if s.ID == t.id("tool", n+1) {
				s.End = t.of.End
				t.b.ended = append(t.b.ended, *s)
				delete(t.calls, id)
			}
		}
	}
}

// text sets an attribute with a text, if these are wanted. A response with several texts has the last one.
func (s *Span) text(b *Builder, key, value string) {
	if !b.o.Texts {
		return
	}
	for i := range s.Attributes {
		if s.Attributes[i].Key == key {
			s.Attributes[i].Value = cut(value)
			return
		}
	}
	s.set(key, cut(value))
}

// maxText is the size of the longest text in a span.
const maxText = 64 << 10

func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "")
}

// messages returns a text in the form of the conventions, as JSON.
func messages(role, text string) string {
	if text == "" {
		return ""
	}
	return workflow.FormatJSON([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": cut(text)}}}})
}

// providers are the names of the conventions, by the beginnings of names of models and executors.
var providers = []struct{ prefix, name string }{
	{"anthropic", "anthropic"}, {"claude", "anthropic"},
	{"openai", "openai"}, {"gpt", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"codex", "openai"},
	{"google", "gcp.gemini"}, {"gemini", "gcp.gemini"},
	{"deepseek", "deepseek"}, {"mistral", "mistral_ai"}, {"grok", "x_ai"},
}

// providerOf returns the provider of a model: that of the conventions if it is one of those, otherwise the one that the project
// names; "" if it is unknown.
func providerOf(named, executor, model string) string {
	all := []string{model, executor}
	if named != "" {
		all = []string{named}
	}
	for _, text := range all {
		for _, p := range providers {
			if strings.HasPrefix(strings.ToLower(text), p.prefix) {
				return p.name
			}
		}
	}
	return named
}
