package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
)

const (
	maxResult = 256 << 10 // bytes of a result that a model sees
	maxShown  = 300       // characters of arguments in the log
	maxAtOnce = 16        // calls of one answer that run in parallel
	maxCalls  = 256       // calls per answer: their results are kept until the end
)

// toolbox holds the tools of a task.
type toolbox struct {
	tools []agent.Tool
	byTag map[string]*tool
}

type tool struct {
	agent.Tool
	check func() *extract.Extractor // of the arguments; nil: its schema is invalid
}

func newToolbox(tools []agent.Tool) (*toolbox, error) {
	b := &toolbox{tools: tools, byTag: make(map[string]*tool, len(tools))}
	for _, t := range tools {
		if b.byTag[t.Name] != nil {
			return nil, agent.Permanentf("two tools of the agent are named %q; rename one", t.Name)
		}
		b.byTag[t.Name] = &tool{Tool: t, check: sync.OnceValue(func() *extract.Extractor {
			x, err := extract.New(workflow.Output{Mode: workflow.JSON, Schema: t.Input})
			if err != nil {
				return nil // the tool itself decides what its arguments mean
			}
			return x
		})}
	}
	return b, nil
}

// run makes the calls of one answer in parallel. The results are in the order of the calls.
// The error is one of the attempt: errors in a call are passed to the model.
func (b *toolbox) run(ctx context.Context, c *conversation, a *answer) ([]result, error) {
	calls := a.calls
	results := make([]result, len(calls))
	for i, k := range calls {
		entry := agent.ToolCall{ID: k.id, Tool: k.name, Arguments: recorded(k.args)}
		if i == 0 && !a.recorded {
			entry.TokensIn, entry.TokensOut = a.tokens.In(), a.tokens.Output
		}
		c.task.Record(entry)
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for i, k := range calls {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			text, err := b.one(ctx, c, k)
			results[i] = result{call: k, text: text, failed: err != nil}
			if err != nil {
				results[i].text = err.Error()
				c.log.Line("tool " + k.name + " failed: " + shorten(err.Error()))
			}
			if c.task.Hide != nil {
				results[i].text = c.task.Hide(results[i].text)
			}
			c.task.Record(agent.ToolResult{ID: k.id, Tool: k.name, Text: results[i].text, Failed: results[i].failed})
			results[i].text = cmp.Or(cutText(results[i].text), nothing)
		})
	}
	wg.Wait()
	return results, ctx.Err()
}

// recorded returns what a model wrote as arguments, for the transcript: secrets are found
// in decoded values, not in escaped JSON.
func recorded(args string) any {
	if v, err := workflow.ParseJSON([]byte(args)); err == nil {
		return v
	}
	return args
}

// one makes one call.
func (b *toolbox) one(ctx context.Context, c *conversation, k call) (string, error) {
	c.log.Line("tool " + k.name + " " + shown(k.args))
	t := b.byTag[k.name]
	if t == nil {
		return "", fmt.Errorf("unknown tool %q%s", k.name, b.choice())
	}
	args, err := t.arguments(k.args)
	if err != nil {
		return "", err
	}
	if t.Approval {
		if err := c.task.Approve(ctx, fmt.Sprintf("May the agent %s use the tool %s?", c.task.Agent.Name, t.Name), t.Name+" "+workflow.FormatJSON(args)); err != nil {
			return "", err
		}
	}
	return t.Call(ctx, args, c.task, c.log.Piece)
}

// choice lists the tools.
func (b *toolbox) choice() string {
	names := make([]string, len(b.tools))
	for i, t := range b.tools {
		names[i] = t.Name
	}
	if len(names) == 0 {
		return "; there are no tools"
	}
	return "; the tools are " + strings.Join(names, ", ")
}

// arguments parses what a model wrote as arguments. Empty text means no arguments.
func (t *tool) arguments(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	v, err := workflow.ParseJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %w; send one JSON object", err)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments are not a JSON object")
	}
	check := t.check()
	if check == nil {
		return args, nil
	}
	if _, err := check.Value(workflow.FormatJSON(args)); err != nil {
		_, findings, several := strings.Cut(err.Error(), "\n")
		if !several {
			findings = err.Error()
		}
		return nil, fmt.Errorf("invalid arguments for the tool %s:\n%s", t.Name, findings)
	}
	return args, nil
}

// shown formats arguments for one line of the log.
func shown(args string) string {
	args = strings.Join(strings.Fields(strings.ToValidUTF8(args, "\uFFFD")), " ")
	if runes := []rune(args); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return args
}

// cutText limits what a model sees of a result.
func cutText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxResult {
		return text
	}
	return fmt.Sprintf("%s\n(cut off here: %d more bytes)", strings.ToValidUTF8(text[:maxResult], ""), len(text)-maxResult)
}
