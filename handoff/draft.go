package handoff

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	texttemplate "text/template"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

//go:embed draft.md
var draftText string

var draftTemplate = sync.OnceValue(func() *texttemplate.Template {
	return texttemplate.Must(texttemplate.New("draft").Parse(draftText))
})

// DraftOptions say what a handoff is about, and who writes it.
type DraftOptions struct {
	Topic   string
	Agent   string            // the author; "": the project's default
	Replies *hocket.Replies   // for the steps draft and correct; nil: an agent writes it
	Began   func(*hocket.Run) // called for each run; may be nil
}

// Draft has an agent write a handoff, in a separate run. The answer is read leniently and repaired.
// If it is invalid, the agent gets one chance to correct it. The result is a Markdown file that is
// valid in the project; it is not sent. The diagnostics are warnings.
func Draft(ctx context.Context, p *hocket.Project, o DraftOptions) ([]byte, workflow.Diagnostics, error) {
	answer, err := o.ask(ctx, p, "draft", nil, "")
	if err != nil {
		return nil, nil, err
	}
	text, found, err := o.finish(p, answer)
	if err != nil || !found.Errors() {
		return text, found, err
	}
	if answer, err = o.ask(ctx, p, "correct", found, answer); err != nil {
		return nil, nil, err
	}
	if text, found, err = o.finish(p, answer); err == nil && found.Errors() {
		err = &hocket.InvalidError{Diagnostics: found}
	}
	return text, found, err
}

// ask has the agent write a request, or correct its last answer.
func (o *DraftOptions) ask(ctx context.Context, p *hocket.Project, step string, found workflow.Diagnostics, answer string) (string, error) {
	templates, err := Templates(p)
	if err != nil {
		return "", err
	}
	var agents []*agent.Definition
	for _, d := range p.Agents().Definitions() {
		if p.Agents().Missing(d) == nil {
			agents = append(agents, d)
		}
	}
	var problems []string
	for _, d := range found {
		problems = append(problems, strings.TrimRight(fmt.Sprintf("line %d: %s; %s", d.Line, d.Summary, d.Detail), "; "))
	}
	var prompt strings.Builder
	if err := draftTemplate().Execute(&prompt, map[string]any{"Topic": o.Topic, "Agents": agents, "Templates": templates, "Problems": problems, "Answer": answer}); err != nil {
		return "", err
	}
	loaded, inputs, err := p.LoadTask(hocket.Task{Name: step, Prompt: prompt.String(), Agent: o.Agent})
	if err != nil {
		return "", err
	}
	run, err := p.Record(ctx, loaded, inputs, hocket.WithReplies(o.Replies), hocket.WithClaim(),
		hocket.WithLabels(map[string]string{hocket.HelperLabel: "draft"}))
	if err != nil {
		return "", err
	}
	if o.Began != nil {
		o.Began(run)
	}
	res, err := run.Drive(ctx, hocket.Front{})
	if err != nil {
		return "", err
	}
	text, ok := res.Output.(string)
	if res.Status != engine.Success || !ok {
		return "", &undraftedError{run.ID(), strings.TrimRight(fmt.Sprintf("the run is %s: %s", res.Status, res.Error), ": ")}
	}
	return text, nil
}

// undraftedError reports that no handoff was written.
type undraftedError struct{ run, why string }

func (e *undraftedError) Error() string { return "no handoff was written: " + e.why }

// Hint returns advice for the user.
func (e *undraftedError) Hint() string { return "`hocket show " + e.run + "` shows the details" }

// finish checks what the agent wrote, and formats it.
func (o *DraftOptions) finish(p *hocket.Project, answer string) ([]byte, workflow.Diagnostics, error) {
	h, err := Check(p, "", []byte(answer), true)
	if err != nil {
		return nil, nil, err
	}
	if h.Blocks == 0 {
		h.Found = append(withoutBlock(h.Found), workflow.Errorf(workflow.Pos{Line: 1, Column: 1}, protocol.CodeBlock, "write one in a block of XML", "there is no <agent_request> in the answer"))
	}
	if h.Found.Errors() {
		return nil, h.Found, nil
	}
	// The text around the request is about the agent's answer, not about the task.
	text, err := protocol.Format("# "+strings.Join(strings.Fields(o.Topic), " "), h.Requests, schemas(p))
	if err != nil {
		return nil, nil, errors.Join(err, &hocket.InvalidError{Diagnostics: h.Found})
	}
	return text, h.Found, nil
}
