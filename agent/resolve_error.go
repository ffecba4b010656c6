package agent

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Why is the reason why a name did not resolve to an agent.
type Why string

// The reasons.
const (
	Unknown    Why = "unknown"     // no agent has the name
	Ambiguous  Why = "ambiguous"   // several have
	NoExecutor Why = "no executor" // there is a definition, but its executor is missing
)

// ResolveError reports why a name did not resolve to an agent, and what to do.
type ResolveError struct {
	Why  Why
	Name string // "": no agent was named, and there is no default
	// Candidates are the agents that an Ambiguous name may refer to, or all agents if the
	// name is Unknown. If no agent was named, they are the agents that could do the task
	// from its prompt.
	Candidates []string
	Definition *Definition // for NoExecutor
	Executors  []string    // for NoExecutor: the available ones
	Reserved   bool        // for NoExecutor: the executor belongs to another program
	Usable     []string    // for NoExecutor, if the definition does not name one: those that could do the work
	Missing    string      // for NoExecutor: what the executor needs and this machine lacks; "": the executor does not exist
}

func (e *ResolveError) Error() string { return "agent: " + e.Summary() + "; " + e.Advice() }

// Summary says what is wrong.
func (e *ResolveError) Summary() string {
	switch e.Why {
	case Unknown:
		if e.Name == "" {
			return "no agent is named, and the project has no default agent"
		}
		return fmt.Sprintf("unknown agent %q", e.Name)
	case Ambiguous:
		return fmt.Sprintf("agent %q is ambiguous: %d agents match", e.Name, len(e.Candidates))
	case NoExecutor:
		return fmt.Sprintf("cannot run agent %q", e.Definition.Name)
	}
	return string(e.Why)
}

// Advice says what to do about the error.
func (e *ResolveError) Advice() string {
	switch e.Why {
	case Unknown:
		if near := workflow.DidYouMean(e.Name, e.Candidates); near != "" {
			return near
		}
		if len(e.Candidates) == 0 {
			return noPrompted
		}
		return "available: " + strings.Join(e.Candidates, ", ")
	case Ambiguous:
		return "name one of them: " + strings.Join(e.Candidates, ", ")
	case NoExecutor:
		return e.executorAdvice()
	}
	return ""
}

// StepAdvice returns what to do about a step of that agent.
func (e *ResolveError) StepAdvice() string {
	if e.Why != NoExecutor {
		return e.Advice()
	}
	return e.Advice() + ReplyAdvice
}

// ReplyAdvice is the end of what StepAdvice returns that only a person in a terminal can follow.
const ReplyAdvice = "; or give the step a reply with --replies"

// noPrompted is the advice if no executor can do a task from its prompt.
const noPrompted = "no executor on this machine works from a prompt; run `hocket doctor` to see what to install or set"

// executorAdvice lists the executors that exist, so it stays correct when new ones are
// added.
func (e *ResolveError) executorAdvice() string {
	d := e.Definition
	where := "its definition"
	if d.Pos.File != "" {
		where = d.Pos.File
	}
	switch {
	case e.Missing != "":
		return e.Missing
	case e.Reserved:
		return fmt.Sprintf("%q is an executor of the program that started the run: resume it there", d.Agent)
	case d.Agent == "" && len(e.Usable) > 0:
		return fmt.Sprintf("set agent in %s, or the default agent in config.yml, to %s", where, oneOf(e.Usable))
	}
	if d.Agent == "" && d.Prompt != "" {
		return "it does not name an executor, and " + noPrompted
	}
	advice := fmt.Sprintf("set agent in %s to %s", where, oneOf(e.Executors))
	if d.Agent == "" {
		return "it does not name an executor; " + advice
	}
	if near := workflow.Nearest(d.Agent, e.Executors); near != "" {
		return fmt.Sprintf("did you mean agent: %s? Otherwise ", near) + advice
	}
	return fmt.Sprintf("there is no executor %q; %s", d.Agent, advice)
}

func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
