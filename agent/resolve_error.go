package agent

import (
	"fmt"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// Why is the reason why a name did not become an agent.
type Why string

// The reasons.
const (
	Unknown    Why = "unknown"     // no agent has the name
	Ambiguous  Why = "ambiguous"   // several have
	NoExecutor Why = "no executor" // there is a definition, but nothing that could carry it out
)

// ResolveError says why a name did not become an agent, and what to do.
type ResolveError struct {
	Why  Why
	Name string // "": no agent was named, and there is none for that case
	// Candidates are the agents that the name may mean when it is Ambiguous, and all
	// agents there are when it is Unknown; where none was named, those that could do
	// a task from its prompt here.
	Candidates []string
	Definition *Definition // for NoExecutor
	Executors  []string    // for NoExecutor: those that there are
	Reserved   bool        // for NoExecutor: the executor is one of another program
	Usable     []string    // for NoExecutor, where the definition names none: those that could do it
	Missing    string      // for NoExecutor: what the executor needs and this machine lacks; "": there is no such executor
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

// Advice says what to do about it.
func (e *ResolveError) Advice() string {
	switch e.Why {
	case Unknown:
		if near := workflow.DidYouMean(e.Name, e.Candidates); near != "" {
			return near
		}
		if len(e.Candidates) == 0 {
			return noPrompted
		}
		return "there are: " + strings.Join(e.Candidates, ", ")
	case Ambiguous:
		return "name one of them: " + strings.Join(e.Candidates, ", ")
	case NoExecutor:
		return e.executorAdvice()
	}
	return ""
}

// noPrompted is the advice where no executor could do a task from its prompt.
const noPrompted = "no executor here works from a prompt; run `hocket doctor` to see what to install or set"

// executorAdvice knows only which executors there are, so it stays true when
// there are more.
func (e *ResolveError) executorAdvice() string {
	d := e.Definition
	where := "its definition"
	if d.Pos.File != "" {
		where = d.Pos.File
	}
	switch {
	case e.Missing != "":
		return e.Missing + "; or give the step a reply with --replies"
	case e.Reserved:
		return fmt.Sprintf("%q is an executor of the program that started the run: resume it there, or give the step a reply with --replies", d.Agent)
	case d.Agent == "" && len(e.Usable) > 0:
		return fmt.Sprintf("set agent in %s, or the default agent in config.yml, to %s", where, oneOf(e.Usable))
	}
	if d.Agent == "" && d.Prompt != "" {
		return "it does not name an executor, and " + noPrompted + "; or give the step a reply with --replies"
	}
	advice := fmt.Sprintf("give the step a reply with --replies, or set agent in %s to %s", where, oneOf(e.Executors))
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
