package hocket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workspace"
)

// The answers to the question whether a change may land. Any other text rejects it, with that text as the reason.
const (
	landIt   = "land"
	rejectIt = "reject"
)

// maxLandDiff is how much of a diff is shown before it lands.
const maxLandDiff = 1 << 20

// land brings what a run has made into the project, after a person has approved exactly that. If the project
// changes in the meantime, so that something else would land, the question comes again.
func (c *attemptAt) land(ctx context.Context) driver.Outcome {
	if a := c.task.Answer; a != nil && a.Value != landIt && !isUnclear(a.Value) { // whatever the project is like now: only a landing has to fit
		return driver.Outcome{Fault: rejection(a)}
	}
	l, err := c.landing(ctx)
	if err != nil {
		return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: err.Error(), Permanent: true}}
	}
	if a := c.task.Answer; a != nil && a.Value == landIt {
		l.Approval = a.Digest
		landed, found, err := c.store.Finish(ctx, l) // a process that landed it was killed
		switch {
		case err != nil:
			return c.unlanded(ctx, err)
		case found:
			return driver.Outcome{Output: c.landedText(l, landed), Workspace: c.task.Workspace}
		}
	}
	if c.task.Answer == nil { // what was landed before, by an earlier plan of the run, was another landing
		if err := c.store.Forget(ctx, l); err != nil {
			return c.unlanded(ctx, err)
		}
	}
	plan, err := c.store.Plan(ctx, l, maxLandDiff)
	if err != nil {
		return c.unlanded(ctx, err)
	}
	if len(plan.Diff.Files) == 0 {
		return driver.Outcome{Output: "nothing to land", Workspace: c.task.Workspace}
	}
	if may, out := c.mayLand(c.landQuestion(l, plan)); !may {
		return out
	}
	l.Digest = plan.Digest
	landed, err := c.store.Land(ctx, l)
	var changed *workspace.ChangedError
	switch {
	case errors.As(err, &changed): // since it was planned
		return c.asksAgain(c.landQuestion(l, changed.Plan), changedNote)
	case err != nil:
		return c.unlanded(ctx, err)
	}
	return driver.Outcome{Output: c.landedText(l, landed), Workspace: c.task.Workspace}
}

// changeLine is what a question says before the hash of the change, at its end.
const changeLine = "\nchange "

// What a question says first that comes again.
const (
	changedNote = "The project has changed since this was asked."
	unclearNote = "Nothing has landed: only the answer land lands the change."
)

// mayLand reports whether a person has agreed to exactly this question, or returns the outcome that asks it, again if another one was
// answered or the answer is unclear.
func (c *attemptAt) mayLand(q engine.Asked) (bool, driver.Outcome) {
	if c.task.Answer == nil {
		_, out := c.asks(q)
		return false, out
	}
	for _, note := range []string{"", changedNote, unclearNote, changedNote + " " + unclearNote} {
		answer, _ := c.asks(withNote(q, note))
		if answer == nil {
			continue
		}
		if isUnclear(answer.Value) {
			if strings.HasPrefix(note, changedNote) { // mayAnswer must still see it
				return false, c.asksAgain(q, changedNote+" "+unclearNote)
			}
			return false, c.asksAgain(q, unclearNote)
		}
		return answer.Value == landIt, driver.Outcome{}
	}
	return false, c.asksAgain(q, changedNote)
}

// asksAgain returns the outcome that asks a question, with what it says first, whatever the answer to another one was.
func (c *attemptAt) asksAgain(q engine.Asked, note string) driver.Outcome {
	task := *c.task
	task.Answer = nil
	unanswered := *c
	unanswered.task = &task
	_, out := unanswered.asks(withNote(q, note))
	return out
}

func withNote(q engine.Asked, note string) engine.Asked {
	q.Text = strings.TrimSpace(note + " " + q.Text)
	return q
}

// isUnclear reports whether an answer agrees, but is not the one that lands the change, or is no reason either: nothing, or a number. Whoever
// gives it does not mean to reject the change.
func isUnclear(answer string) bool {
	answer = strings.ToLower(strings.Trim(answer, " \t\n.,!"))
	answer = strings.TrimSuffix(answer, " please")
	switch answer {
	case "y", "yes", "yep", "ok", "okay", "sure", "fine", "good", "lgtm", "looks good", "go", "go ahead", "do it", "accept", "accepted", "agree", "agreed",
		"approve", "approved", "confirm", "confirmed", "land it", "merge", "merge it", "ship", "ship it":
		return true
	}
	return strings.Trim(answer, "+0123456789") == ""
}

// landScripted makes the attempt with a reply or a recording. It can reject the change, but lands nothing: only people approve. A
// recording is what the landing came to, but a reply is an answer.
func (c *attemptAt) landScripted(ctx context.Context) driver.Outcome {
	out := c.work(ctx, c.task.Workspace)
	if out.Fault == nil && c.reply != nil && !scripted.IsForAll(c.reply) {
		out.Fault = rejectionIn(out.Output)
	}
	if out.Fault == nil {
		out.Workspace = c.task.Workspace
	}
	return out
}

// rejectionIn returns the fault of a landing whose reply is not that it has landed, nor that a person agrees.
func rejectionIn(reply string) *engine.Fault {
	if said, ok := workflow.Chosen(landOptions(), reply); ok {
		reply = said
	}
	switch reply = strings.TrimSpace(reply); {
	case reply == "", reply == landIt, isUnclear(reply), landedWords().MatchString(reply):
		return nil
	}
	return rejection(&engine.Answer{Value: reply})
}

// landedWords match what a landing says when it succeeds, and short forms of that.
var landedWords = lazy.Regexp(`(?i)^(done|landed|nothing to land|(landed|changed) \d+ files?( on .*|, but .*)?)\.?$`)

// rejection returns the fault of a landing that a person does not want, which says why.
func rejection(a *engine.Answer) *engine.Fault {
	why := []string{"a person rejected the change"}
	for _, text := range []string{a.Value, a.Comment} {
		if text != "" && text != rejectIt {
			why = append(why, text)
		}
	}
	return &engine.Fault{Kind: engine.FaultError, Message: strings.Join(why, ": "), Permanent: true}
}

// landing reads what the step asks for.
func (c *attemptAt) landing(ctx context.Context) (workspace.Landing, error) {
	text := func(key string) string { return workflow.FormatText(cmp.Or(c.task.Settings[key], any(""))) }
	base, err := c.store.Base(ctx, c.run)
	if err != nil {
		return workspace.Landing{}, err
	}
	if base == "" {
		return workspace.Landing{}, fmt.Errorf("what the project was when run %s began is not on this machine: land where its steps have worked", c.run)
	}
	l := workspace.Landing{
		ID: c.run + "/" + c.task.Address, Run: c.run, How: howOf(c.task.Settings), Base: base, Commit: c.task.Workspace,
		Message: cmp.Or(text("message"), fmt.Sprintf("%s: changes of run %s", c.task.Workflow, c.run)), Include: c.of.p.Config().Workspace.Include,
		Ended: func(e workspace.Ended) { c.at.Log([]byte(e.String() + "\n")) },
	}
	if l.How == workspace.AsBranch {
		if l.Branch = text("branch"); l.Branch == "" { // an earlier landing of the run may have made one
			l.Branch, err = c.store.FreeBranch(ctx, branchOf(c.run))
		}
	}
	return l, err
}

// branchOf returns the name of the branch on which a run lands if no other one is set.
func branchOf(run string) string { return "hocket/" + run }

func howOf(settings map[string]any) workspace.How {
	return workspace.How(cmp.Or(workflow.FormatText(cmp.Or(settings["as"], any(""))), string(workspace.AsBranch)))
}

// messageHeading is above the message of the commit, in the detail of a question. The page knows it.
const messageHeading = "Message of the commit:"

func (c *attemptAt) landQuestion(l workspace.Landing, plan workspace.Plan) engine.Asked {
	where := "as changes to the files, without a commit"
	switch l.How {
	case workspace.AsBranch:
		where = "as the new branch " + l.Branch
	case workspace.AsCommit:
		where = "as a commit on " + strings.TrimPrefix(plan.Ref, "refs/heads/")
	case workspace.AsPatch:
	}
	detail := plan.Diff.Patch + unshown(plan.Diff, fmt.Sprintf(" (`hocket diff %s` shows all that the steps have changed)", l.Run)) + aboutBytes(plan.Diff.Patch)
	if plan.Message != "" { // indented, so that no line of it looks like another part
		detail += "\n" + messageHeading + "\n"
		for line := range strings.SplitSeq(plan.Message, "\n") {
			detail += strings.TrimRight("    "+line, " ") + "\n"
		}
	}
	return engine.Asked{
		Text:    fmt.Sprintf("Land this change%s %s? %s", c.there(), where, changed(plan.Diff)),
		Detail:  detail + changeLine + plan.Digest,
		Options: landOptions(),
		Custom:  true,
	}
}

func landOptions() []workflow.Option {
	return []workflow.Option{
		{Value: landIt, Description: "exactly this change"},
		{Value: rejectIt, Description: "nothing lands, and the step fails; what you write instead is the reason"},
	}
}

// aboutBytes explains the escapes that a question shows for bytes that are not UTF-8: a file may contain the same text.
func aboutBytes(diff string) string {
	if utf8.ValidString(diff) {
		return ""
	}
	return "… bytes that are not UTF-8 are shown as \\x and two digits\n"
}

func (c *attemptAt) landedText(l workspace.Landing, landed workspace.Landed) string {
	files := fmt.Sprintf("%d %s", landed.Files, plural(landed.Files, "file"))
	text := "changed " + files
	if l.How != workspace.AsPatch {
		text = fmt.Sprintf("landed %s on %s as %.12s", files, strings.TrimPrefix(landed.Ref, "refs/heads/"), landed.Commit)
	}
	return text + c.there() + differing(landed)
}

// differing names the files that are not as they landed.
func differing(landed workspace.Landed) string {
	if len(landed.Differ) == 0 {
		return ""
	}
	names := make([]string, len(landed.Differ))
	for i, name := range landed.Differ {
		names[i] = workspace.Shown(name)
	}
	return ", but these were changed again while it landed, so look whether they have their part of it: " + workspace.Listed(names, len(names))
}

// unlanded returns the outcome of a landing that failed. A conflict has its own kind, so that a workflow can tell. But a person
// who has approved the change is asked again: only people can remove what is in its way.
func (c *attemptAt) unlanded(ctx context.Context, err error) driver.Outcome {
	fault := driver.FaultOf(ctx, err)
	if fault.Kind == engine.FaultCancelled {
		return driver.Outcome{Fault: fault}
	}
	if errors.As(err, new(*workspace.BranchError)) {
		fault.Permanent = true
	}
	var conflict *workspace.LandConflictError
	if errors.As(err, &conflict) {
		fault.Kind, fault.Permanent = engine.FaultConflict, true
		if conflict.WithCheckout() {
			fault.Message += c.mergeByHand(conflict)
		}
	}
	if c.task.Answer != nil { // or the landing was rejected
		return c.asksAgain(engine.Asked{
			Text: fmt.Sprintf("Nothing has landed: %s. Try again?", fault.Message),
			Options: []workflow.Option{
				{Value: landIt, Description: "when nothing is in the way: the change is shown once more before it lands"},
				landOptions()[1],
			},
			Custom: true,
		}, "")
	}
	return driver.Outcome{Fault: fault}
}

// mergeByHand says how a person brings a change into a checkout that it does not fit.
func (c *attemptAt) mergeByHand(conflict *workspace.LandConflictError) string {
	if conflict.Mergeable {
		return fmt.Sprintf("; to merge it by hand%s, commit or stash your own work and run `hocket diff %s | git apply -3`", c.there(), c.run)
	}
	return fmt.Sprintf("; to apply what fits%s, and have the rest in files *.rej, run `hocket diff %s | git apply --reject`", c.there(), c.run)
}

// The executors of Hocket's own that work on workspaces. What they do happens around attempts, because it needs the
// workspaces; they exist so that workflows can name them.
func workspaceExecutors() map[string]agent.Executor {
	enum := func(words ...any) any { return map[string]any{"enum": words} }
	text := map[string]any{"type": "string"}
	object := func(properties map[string]any) *agent.Schema {
		return agent.NewSchema(map[string]any{"type": "object", "additionalProperties": false, "properties": properties})
	}
	return map[string]agent.Executor{
		workflow.MergeAgent: workspaceExecutor{agent.Traits{About: "Merges the workspaces of steps, or has a person do it", Settings: object(map[string]any{"by": enum("human")}), Stays: true}},
		workflow.LandAgent: workspaceExecutor{agent.Traits{
			About: "Brings a workspace into the project, after a person has approved it", Stays: true,
			Settings: object(map[string]any{"as": enum("branch", "commit", "patch"), "branch": text, "message": text}),
			Does:     func(map[string]any) []agent.Power { return []agent.Power{agent.MayWrite} },
		}},
	}
}

type workspaceExecutor struct{ traits agent.Traits }

func (e workspaceExecutor) Traits() agent.Traits { return e.traits }

func (e workspaceExecutor) Run(_ context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	return agent.Result{}, agent.Permanentf("the agent %s works only in a workflow, on workspaces: use merge or land in a step", task.Agent.Name)
}

// UnseenChangeError reports that an answer would land a change, or continue with a conflict, that its author may not have seen.
type UnseenChangeError struct {
	Run, Question string
	Answer        string
	Change        string // the hash that the answer names; "": none
}

func (e *UnseenChangeError) Error() string {
	if e.Change != "" {
		return fmt.Sprintf("%s does not ask about the change %s", e.Question, e.Change)
	}
	return fmt.Sprintf("%s has asked again since its first question, about another change", e.Question)
}

// Hint returns what to do about it.
func (e *UnseenChangeError) Hint() string {
	return fmt.Sprintf("`hocket show %s` shows it; answer with the hash at its end: `hocket answer %s %s %s --change HASH`", e.Run, e.Run, e.Question, e.Answer)
}

// mayAnswer returns an error if an answer without the digest of a question would land another change than the one that was seen.
func mayAnswer(run string, q *Question, a Answer) error {
	switch {
	case q == nil:
		return nil
	case a.Change == "" && (len(q.Options) == 0 || a.Value != q.Options[0].Value || ChangeToName(*q) == ""):
		return nil
	case a.Change == "" || !strings.HasPrefix(changeOf(*q), a.Change):
		return &UnseenChangeError{run, q.ID, a.Value, a.Change}
	}
	return nil
}

// ChangeToName returns the hash that an answer to a question has to name ([Answer.Change]) so that it lands a change, or says that a conflict is
// resolved; "" if it need not name one. When a landing asks again, or a merge about the next conflict, somebody who has seen the first question
// may still be about to answer that.
func ChangeToName(q Question) string {
	if !strings.HasPrefix(q.Text, changedNote) && !strings.HasPrefix(q.Text, mergedNote) {
		return ""
	}
	return changeOf(q)
}

// changeOf returns the hash of the change that a question is about; "" if it is about none.
func changeOf(q Question) string {
	_, change, _ := cutLast(q.Detail, changeLine)
	return change
}

// cutLast is like [strings.Cut] at the last place.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
