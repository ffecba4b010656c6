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

// maxRepairs is how often a model is told in the same attempt that its answer
// cannot be used.
const maxRepairs = 2

// errTooMuch ends an answer that is longer than an attempt may give.
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

// prepare sets up what must hold before the first word.
func (c *conversation) prepare() error {
	var err error
	if c.extract, err = extract.New(c.task.Output); err != nil {
		return agent.Permanentf("output: %v", err)
	}
	c.schema = formatOf(c.task.Output)
	c.messages = []message{{told: c.task.Prompt}}
	return c.openLedger()
}

// formatOf is the schema that the whole of an answer must satisfy; nil: there is
// none, or it is about a part of the answer only.
func formatOf(o workflow.Output) map[string]any {
	if o.Mode != workflow.Full && o.Mode != workflow.JSON {
		return nil
	}
	schema, _ := o.Schema.(map[string]any)
	if schema["type"] != "object" {
		return nil // the providers take nothing else at the top
	}
	return schema
}

// hold lets the model speak and act until it is done, or until a bound is reached.
func (c *conversation) hold(ctx context.Context) (string, error) {
	for c.turn = 1; c.turn <= c.turns(); c.turn++ {
		a, err := c.ask(ctx)
		if err != nil {
			return "", err
		}
		if len(a.calls) > maxCalls {
			return "", &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the model calls more than %d tools in one answer", maxCalls)}
		}
		c.messages = append(c.messages, message{answered: &a})
		if len(a.calls) > 0 {
			results, err := c.tools.run(ctx, c, a.calls)
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
			return "", &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the answer cannot be used, also after %d corrections: %v", maxRepairs, wrong)}
		}
		c.log.Line("the answer cannot be used, asking again: " + shorten(wrong.Error()))
		c.messages = append(c.messages, message{told: fmt.Sprintf("Your answer cannot be used: %v\nGive the whole answer again, corrected, and nothing else.", wrong)})
	}
	return "", c.endless()
}

// endless is the failure of a model that does not come to an end.
func (c *conversation) endless() error {
	names := []string{}
	for _, m := range c.messages {
		if m.answered != nil && len(m.answered.calls) > 0 {
			names = append(names, m.answered.calls[0].name)
		}
	}
	if len(names) == 0 {
		return agent.Errorf("there is no usable answer after %d turns", c.turns())
	}
	return agent.Errorf("the model is not done after %d turns and still calls tools, last %s; raise max_turns, or say in the prompt when it is done", c.turns(), names[len(names)-1])
}

// unusable says why the output is none; nil: it is one. An answer that may be
// partial is not looked at: it is taken as it is.
func (c *conversation) unusable(a *answer) error {
	switch a.stop {
	case cutOff:
		return nil
	case garbled:
		return fmt.Errorf("it calls a tool in a way that cannot be read: %s", a.why)
	case finished, refused, contextFull, stopped:
	}
	if strings.TrimSpace(a.text) == "" {
		return errors.New("it is empty")
	}
	_, err := c.extract.Value(a.text)
	return err
}

// ask gets one whole answer, over as many tries as it is worth.
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
		if c.ledger.tight && overlong(err) { // so the limit of the model keeps the budget too
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
		c.log.Line(fmt.Sprintf("%s does not answer (%s), next try in %s", c.at.name, shorten(plainError(err)), pause.Round(time.Second/10)))
		if err := c.exec.rest(ctx, pause); err != nil {
			return a, err
		}
	}
}

// longestOf is how many tokens one answer of an API has at most, where nobody says: a
// budget that leaves more bounds nothing.
func longestOf(api API) int64 {
	if api == Anthropic {
		return anthropicTokens
	}
	return 200_000 // no model gives more
}

// overlong says that a request asks for longer answers than the model gives.
func overlong(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.badRequest() && slices.ContainsFunc([]string{"max_tokens", "max_output_tokens", "max_completion_tokens", "maxOutputTokens"},
		func(word string) bool { return strings.Contains(r.message, word) })
}

// begun says whether anything of an answer came.
func (a *answer) begun() bool { return a.text != "" || len(a.calls) > 0 }

// withoutFormat gives up the provider's own means for structured answers, where it
// says that the request is wrong: many servers know only a part of JSON Schema, or
// none. The answer is checked in any case.
func (c *conversation) withoutFormat(err error) bool {
	var r *refusal
	if c.schema == nil || !errors.As(err, &r) || !r.wrong() {
		return false
	}
	c.log.Line("the provider does not take the schema (" + shorten(r.Error()) + "), the answer is checked here")
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
		c.task.Record(agent.AssistantText{Text: text.String()})
	}
	c.note(&a)
	switch cause := context.Cause(within); {
	case errors.Is(cause, errTooMuch):
		return a, agent.Permanentf("the answer is over %d KiB; raise max_output_kb, or ask for less", most>>10)
	case err != nil && errors.Is(cause, errEndless):
		return a, &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("the answer of %s did not end within %s, in turn %d after %d characters", c.at.name, c.exec.longest, c.turn, len([]rune(a.text)))}
	case err != nil && errors.Is(cause, errSilent):
		return a, &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("nothing came from %s for %s, in turn %d after %d characters; raise silence if it may think for longer", c.at.name, c.patience, c.turn, len([]rune(a.text)))}
	}
	return a, err
}

// note keeps the model that answers: a provider may have chosen another one than it was
// asked for, or know it by a more exact name.
func (c *conversation) note(a *answer) {
	model := cmp.Or(a.model, c.model)
	if c.task.NoteModel == nil || !a.begun() || model == c.noted {
		return
	}
	c.noted = model
	c.task.NoteModel(model)
}

// finished says what is wrong with an answer that came to its end.
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
			why = "it gives no reason"
		}
		return agent.Permanentf("the model refuses: %s", shorten(why))
	case contextFull:
		return agent.Permanentf("the conversation is too long for %s: it is full in turn %d; give the task less context or a model with a larger window", c.model, c.turn)
	case stopped:
		return agent.Errorf("%s stops the answer in turn %d: %s", c.at.name, c.turn, shorten(a.why))
	case finished, garbled:
	}
	return nil
}

// cutOff is the failure of an answer that reached the limit of its tokens.
func (c *conversation) cutOff(a *answer) error {
	if c.set.Partial && len(a.calls) == 0 && !c.ledger.tight {
		return nil
	}
	remedy := "raise max_tokens, ask for less, or take what there is with partial: true"
	if c.ledger.tight {
		remedy = "that is what its budget allows"
	}
	return agent.Errorf("the answer was cut off at the limit of its tokens (%d); %s. It ends with: %s", a.tokens.Output, remedy, tail(a.text))
}

// tail is the end of a text, for messages.
func tail(text string) string {
	const most = 200
	runes := []rune(text)
	if len(runes) > most {
		return "…" + string(runes[len(runes)-most:])
	}
	return text
}
