package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
)

// outcome is how a run of a CLI ended, by its output and by its process. It is a success
// only if both are: a CLI may print nothing, or report a failure, and still exit with 0.
type outcome struct {
	m       *Manifest
	r       *reading
	err     error // of the process, or why it was ended
	stderr  *process.Tail
	program string
	started bool
}

func (o *outcome) result(ctx context.Context, l *launch) (agent.Result, error) {
	failed := o.failure(ctx, l)
	used := o.used(failed)
	if _, bound := o.r.budget.CostUSD.Amount(); bound && used.CostUnknown {
		o.r.log.Line(fmt.Sprintf("the cost is unknown, so the budget of %s was not enforced", o.r.budget))
	}
	res := agent.Result{Usage: used}
	if id := o.session(l); id != "" {
		res.Conversation = &agent.Conversation{Native: id, Spent: o.r.before.Plus(used)}
	}
	if failed != nil {
		return res, failed
	}
	res.Output = o.r.output(l.task.Output.Schema != nil)
	return res, nil
}

// session returns the id of the conversation, if the CLI can continue it.
func (o *outcome) session(l *launch) string {
	if !o.m.Resumes() || !o.r.said && !o.r.success {
		return ""
	}
	if o.r.session != "" {
		return o.r.session
	}
	if resumed, ok := l.values["resume"].(string); ok {
		return resumed
	}
	if made, ok := l.values["session"].(string); ok && o.m.uses["session"] {
		return made
	}
	return ""
}

// used returns the usage of the run. A CLI that failed before it printed anything, for a
// reason that prevents it from asking a model, has used nothing.
func (o *outcome) used(failed error) agent.Usage {
	if !o.r.spent.told() {
		var e *agent.Error
		refused := errors.As(failed, &e) && e.Permanent && !o.r.said && o.r.failure != Limit
		if !o.started || refused {
			return agent.Usage{}
		}
	}
	return o.r.spent.usage(o.r.prices, o.r.before)
}

// failure explains to the author of the workflow why the run failed; nil if it did not.
func (o *outcome) failure(ctx context.Context, l *launch) error {
	name := o.m.Name
	var exit *exec.ExitError
	var complained *complaint
	switch {
	case errors.As(o.err, &complained):
		return o.m.failure(complained.means, complained.words, o.r.status, o.r.until, o.r.now())
	case errors.Is(o.err, errTooMuch):
		return agent.Permanentf("the answer of %s exceeds %d KiB; raise max_output_kb or ask for a shorter answer", name, o.r.limit>>10)
	case errors.Is(o.err, errLongLine):
		return agent.Permanentf("%s printed a line longer than %d MiB; ask for less output", name, maxLine>>20)
	case errors.Is(o.err, errBudget):
		return agent.Permanentf("%s exceeded the budget of the agent: %s", name, o.r.budget)
	case errors.Is(o.err, errStop):
		return o.said(Failure)
	case ctx.Err() != nil:
		return agent.Interrupted(ctx)
	case o.err == nil && o.r.failure == "" && o.r.success:
		return nil
	case o.err == nil:
		return o.unfinished()
	case errors.As(o.err, &exit):
		return o.exited(exit)
	case errors.Is(o.err, exec.ErrNotFound), errors.Is(o.err, fs.ErrNotExist):
		return agent.Permanentf("%q does not exist; is it installed?", o.program)
	case errors.Is(o.err, fs.ErrPermission):
		return agent.Permanentf("%q is not executable", o.program)
	case errors.Is(o.err, syscall.E2BIG):
		return agent.Permanentf("the prompt is too long: %s takes it as an argument, and the system limits the length of arguments", name)
	default:
		return agent.Errorf("%s: %v", name, o.err)
	}
}

// unfinished returns the error for a CLI that exited with 0.
func (o *outcome) unfinished() error {
	if o.r.failure != "" {
		return o.said(o.r.failure)
	}
	text := o.m.Name + " exited before it reported its result"
	if last := o.lastWords(); last != "" {
		text += ": " + last
	}
	return o.m.failure(Failure, text, 0, o.r.until, o.r.now())
}

// exited returns the error for a CLI with a nonzero exit status.
func (o *outcome) exited(exit *exec.ExitError) error {
	means := o.r.failure
	if means == "" || means == Failure {
		if known := o.m.exits[exit.ExitCode()]; known != "" {
			means = known
		}
	}
	if means == "" {
		means = Failure
	}
	if o.r.failure == "" && exit.ExitCode() < 0 {
		return agent.Errorf("%s was terminated by another process (%s)%s", o.m.Name, exit.ProcessState, o.colon(o.lastWords()))
	}
	if o.r.reason == "" {
		return o.m.failure(means, fmt.Sprintf("%s%s", exit.ProcessState, o.colon(o.lastWords())), o.r.status, o.r.until, o.r.now())
	}
	return o.said(means)
}

func (o *outcome) colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// said returns the failure that the CLI itself reported.
func (o *outcome) said(means Meaning) error {
	if o.r.failure != "" && o.r.failure != Failure {
		means = o.r.failure
	}
	reason := o.r.reason
	if reason == "" {
		reason = o.lastWords()
	}
	return o.m.failure(means, reason, o.r.status, o.r.until, o.r.now())
}

// lastWords returns the end of what the CLI printed outside its regular output.
func (o *outcome) lastWords() string {
	if last := o.stderr.Last(); last != "" {
		return last
	}
	if last := o.r.stray.Last(); last != "" {
		return last
	}
	return o.r.reason
}

// statusMeans maps HTTP statuses of model APIs to meanings.
func statusMeans(status int) Meaning {
	switch status {
	case 401, 403:
		return Login
	case 404:
		return Model
	case 429:
		return Quota
	default:
		return Failure
	}
}

// failure returns the error for a failure. If its meaning is not known yet, it is derived
// from the message and the HTTP status.
func (m *Manifest) failure(means Meaning, words string, status int, until time.Time, now time.Time) *agent.Error {
	for _, rule := range m.errors {
		match := rule.matches.FindStringSubmatch(words)
		if match == nil || means != Failure && means != rule.means {
			continue
		}
		means = rule.means
		if i := rule.matches.SubexpIndex("reset"); i >= 0 && until.IsZero() && match[i] != "" {
			until = parseReset(match[i], now)
		}
		break
	}
	if means == Failure {
		means = statusMeans(status)
	}
	return m.inWords(means, oneOf(words, "no reason given"), until)
}

func oneOf(words, otherwise string) string {
	if words = strings.TrimSpace(words); words == "" {
		return otherwise
	}
	return words
}

func (m *Manifest) inWords(means Meaning, words string, until time.Time) *agent.Error {
	switch means {
	case Quota:
		return &agent.Error{Kind: agent.Quota, Message: fmt.Sprintf("the quota of %s is used up: %s", m.Name, words), Until: until}
	case Login:
		hint := "" // before the message, which may be long
		if m.Login != "" {
			hint = "; " + m.Login
		}
		return agent.Permanentf("%s is not logged in, or its key was rejected%s: %s", m.Name, hint, words)
	case Model:
		return agent.Permanentf("%s does not know this model: %s", m.Name, words)
	case Limit:
		return agent.Permanentf("%s stopped at a limit: %s", m.Name, words)
	case Session:
		return agent.Permanentf("%s no longer has the conversation: %s", m.Name, words)
	case Success, Failure:
	}
	return agent.Errorf("%s failed: %s", m.Name, words)
}
