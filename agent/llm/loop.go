package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

// maxRepairs is how often a model is asked in the same attempt to correct an unusable
// answer.
const maxRepairs = 2

// errTooMuch ends an answer that exceeds the output limit.
var errTooMuch = errors.New("llm: the answer is too long")

// conversation is one attempt at a task. It is owned by the goroutine of Run.
type conversation struct {
	exec     *Executor
	task     *agent.Task
	log      *agent.Lines
	set      settings
	at       place
	model    string
	patience time.Duration
	api      provider
	tools    *toolbox
	extract  *extract.Extractor
	schema   map[string]any // see request
	messages []message
	ledger   ledger
	noted    string // the model that was noted
	turn     int
	repairs  int
}

// prepare sets up everything before the first request.
func (c *conversation) prepare() error {
	var err error
	if c.extract, err = extract.New(c.task.Output); err != nil {
		return agent.Permanentf("output: %v", err)
	}
	c.schema = formatOf(c.task.Output)
	c.messages = []message{{told: c.task.Prompt}}
	return c.openLedger()
}

// formatOf returns the schema for the whole answer; nil if there is none, or if it applies
// to only a part of the answer.
func formatOf(o workflow.Output) map[string]any {
	if o.Mode != workflow.Full && o.Mode != workflow.JSON {
		return nil
	}
	schema, _ := o.Schema.(map[string]any)
	if schema["type"] != "object" {
		return nil // the providers accept nothing else at the top level
	}
	return schema
}

// hold lets the model answer and call tools until it is done or a limit is reached.
func (c *conversation) hold(ctx context.Context) (string, error) {
	for c.turn = 1; c.turn <= c.turns(); c.turn++ {
		a, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		if len(a.calls) > maxCalls {
			return "", &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the model called more than %d tools in one answer", maxCalls)}
		}
		c.messages = append(c.messages, message{answered: &a})
		if len(a.calls) > 0 {
			results, err := c.tools.run(ctx, c, &a)
			if err != nil {
				return "", err
			}
			c.messages = append(c.messages, message{results: results})
			continue
		}
		wrong := c.unusable(&a)
		if wrong == nil {
			return a.text, nil
		}
		if c.repairs++; c.repairs > maxRepairs {
			return "", &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the answer is still invalid after %d corrections: %v", maxRepairs, wrong)}
		}
		c.log.Line("asking again, because the answer is invalid: " + shorten(wrong.Error()))
		c.messages = append(c.messages, message{told: fmt.Sprintf("Your answer is invalid: %v\nReply with the complete, corrected answer and nothing else.", wrong)})
	}
	return "", c.endless()
}

// endless returns the error for a model that does not finish.
func (c *conversation) endless() error {
	names := []string{}
	for _, m := range c.messages {
		if m.answered != nil && len(m.answered.calls) > 0 {
			names = append(names, m.answered.calls[0].name)
		}
	}
	if len(names) == 0 {
		return agent.Errorf("no usable answer after %d turns", c.turns())
	}
	return agent.Errorf("the model is still calling tools after %d turns, most recently %s; raise max_turns, or say in the prompt when to stop", c.turns(), names[len(names)-1])
}

// unusable returns why the output cannot be used; nil if it can. An answer that may be
// partial is not checked.
func (c *conversation) unusable(a *answer) error {
	switch a.stop {
	case cutOff:
		return nil
	case garbled:
		return fmt.Errorf("it contains an invalid tool call: %s", a.why)
	case finished, refused, contextFull, stopped:
	}
	if strings.TrimSpace(a.text) == "" {
		return errors.New("it is empty")
	}
	_, err := c.extract.Value(a.text)
	return err
}

// ask gets one complete answer, with as many tries as are worthwhile.
func (c *conversation) ask(ctx context.Context) (answer, error) {
	limit, err := c.ledger.room(c)
	if err != nil {
		return answer{}, err
	}
	if c.set.MaxTokens == 0 && limit >= longestOf(c.at.API) {
		limit, c.ledger.tight = 0, false
	}
	for try := 1; ; try++ {
		a, err := c.once(ctx, limit)
		c.ledger.add(a, err)
		switch {
		case err == nil:
			return a, c.finished(&a)
		case ctx.Err() != nil:
			return a, ctx.Err()
		}
		if known := (*agent.Error)(nil); errors.As(err, &known) {
			return a, err
		}
		if a.begun() {
			return a, c.brokenOff(err, a.text)
		}
		if c.ledger.tight && overlong(err) { // so the model's limit enforces the budget too
			limit, c.ledger.tight = 0, false
			continue
		}
		if c.withoutFormat(err) {
			continue
		}
		pause, again := pauseBefore(err, try, c.turn)
		if !again || try == maxTries {
			return a, c.explain(ctx, err, try)
		}
		c.log.Line(fmt.Sprintf("no answer from %s (%s), retrying in %s", c.at.name, shorten(plainError(err)), pause.Round(time.Second/10)))
		if err := c.exec.rest(ctx, pause); err != nil {
			return a, err
		}
	}
}

// longestOf returns the maximum length of an answer of an API in tokens: a budget above it
// limits nothing.
func longestOf(api API) int64 {
	if api == Anthropic {
		return anthropicTokens
	}
	return 200_000 // no model returns more
}

// overlong reports whether a request was rejected because it allows longer answers than the
// model supports.
func overlong(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.badRequest() && slices.ContainsFunc([]string{"max_tokens", "max_output_tokens", "max_completion_tokens", "maxOutputTokens"},
		func(word string) bool { return strings.Contains(r.message, word) })
}

// begun reports whether any part of an answer arrived.
func (a *answer) begun() bool { return a.text != "" || len(a.calls) > 0 }

// withoutFormat stops using the provider's structured answers if it rejects the request:
// many servers support only a part of JSON Schema, or none. The answer is checked in any
// case.
func (c *conversation) withoutFormat(err error) bool {
	var r *refusal
	if c.schema == nil || !errors.As(err, &r) || !r.wrong() {
		return false
	}
	c.log.Line("the provider does not support the schema (" + shorten(r.Error()) + "); Hocket checks the answer itself")
	c.schema = nil
	return true
}

// once makes one request.
func (c *conversation) once(ctx context.Context, limit int64) (answer, error) {
	bounded, end := context.WithTimeoutCause(ctx, c.exec.longest, errEndless)
	defer end()
	within, client, done := listen(c.ledger.watch(bounded), c.exec.transport, c.patience)
	defer done()
	within, stop := context.WithCancelCause(within)
	defer stop(nil)
	most := c.task.Agent.OutputLimit(c.set.MaxOutputKB, defaultOutputKB)
	var text strings.Builder
	a, err := c.api.answer(within, &request{
		client: client, model: c.model, system: c.task.Agent.Prompt, messages: c.messages, tools: c.tools.tools,
		schema: c.schema, maxTokens: limit, set: &c.set,
	}, func(piece string) {
		if text.Len()+len(piece) > most {
			stop(errTooMuch)
			return
		}
		text.WriteString(piece)
		c.log.Write(piece)
	})
	a.text = strings.ToValidUTF8(cmp.Or(a.final, text.String()), "\uFFFD")
	c.log.End()
	if text.Len() > 0 {
		c.task.Record(agent.AssistantText{Text: text.String(), TokensIn: a.tokens.In(), TokensOut: a.tokens.Output})
		a.recorded = true
	}
	c.note(&a)
	switch cause := context.Cause(within); {
	case errors.Is(cause, errTooMuch):
		return a, agent.Permanentf("the answer exceeds %d KiB; raise max_output_kb or ask for a shorter answer", most>>10)
	case err != nil && errors.Is(cause, errEndless):
		return a, &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("the answer of %s did not finish within %s, in turn %d after %d characters", c.at.name, workflow.FormatDuration(c.exec.longest), c.turn, len([]rune(a.text)))}
	case err != nil && errors.Is(cause, errSilent):
		return a, &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("%s sent nothing for %s, in turn %d after %d characters; raise silence if the model needs longer", c.at.name, workflow.FormatDuration(c.patience), c.turn, len([]rune(a.text)))}
	}
	return a, err
}

// note records the model that answers: a provider may use a different one than requested,
// or a more exact name.
func (c *conversation) note(a *answer) {
	model := cmp.Or(a.model, c.model)
	if c.task.NoteModel == nil || !a.begun() || model == c.noted {
		return
	}
	c.noted = model
	c.task.NoteModel(model)
}

// finished checks an answer that arrived completely.
func (c *conversation) finished(a *answer) error {
	switch a.stop {
	case cutOff:
		return c.cutOff(a)
	case refused:
		why := a.why
		if why == "" {
			why = a.text
		}
		if why == "" {
			why = "no reason given"
		}
		return agent.Permanentf("the model refused to answer: %s", shorten(why))
	case contextFull:
		return agent.Permanentf("the conversation is too long for %s: its context is full in turn %d; give the task less context or a model with a larger window", c.model, c.turn)
	case stopped:
		return agent.Errorf("%s stopped the answer in turn %d: %s", c.at.name, c.turn, shorten(a.why))
	case finished, garbled:
	}
	return nil
}

// cutOff returns the error for an answer that reached its token limit.
func (c *conversation) cutOff(a *answer) error {
	if c.set.Partial && len(a.calls) == 0 && !c.ledger.tight {
		return nil
	}
	remedy := "raise max_tokens, ask for a shorter answer, or accept incomplete answers with partial: true"
	if c.ledger.tight {
		remedy = "the budget allows no more"
	}
	return agent.Errorf("the answer was cut off at its token limit (%d); %s. It ends with: %s", a.tokens.Output, remedy, tail(a.text))
}

// tail returns the end of a text, for messages.
func tail(text string) string {
	const most = 200
	runes := []rune(text)
	if len(runes) > most {
		return "…" + string(runes[len(runes)-most:])
	}
	return text
}
