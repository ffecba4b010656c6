package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Decision is whether a project is trusted, and why not.
type Decision struct {
	// Trusted means that a person has approved all powers. Otherwise steps see no
	// secrets in their environment, and CLI agents use no settings of the project.
	Trusted bool
	// Missing are the powers that are not approved.
	Missing Powers
	// Changed are those of them that were approved with different file contents.
	Changed Powers
	// Given is the digest that the caller passed, if it does not match.
	Given string
}

// Untrusted returns nil if a run may start: the project is trusted, or has no powers.
// Settings for CLI agents alone do not prevent a start: the run does without them.
func (d Decision) Untrusted(root string, powers Powers) *UntrustedError {
	if d.Trusted || len(d.Missing.Without(Settings)) == 0 {
		return nil
	}
	return d.Error(root, powers)
}

// Error returns the error for a project that is not trusted.
func (d Decision) Error(root string, powers Powers) *UntrustedError {
	return &UntrustedError{Powers: powers, Missing: d.Missing, Changed: d.Changed, Digest: powers.Digest(), Root: root, Given: d.Given}
}

// Left describes in one line what a run has to do without, "" if nothing.
func (d Decision) Left() string {
	if d.Trusted || len(d.Missing) == 0 || len(d.Missing.Without(Settings)) > 0 {
		return ""
	}
	text := d.Missing[0].What
	if n := len(d.Missing) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "the project is not trusted, so CLI agents start without its own settings (" + text + "); run `hocket trust` to review and allow them"
}

// Decide decides whether powers of a project are approved: by the given digest, or by an
// approval in the store. granted are kinds that the user allows in every project.
func (s *Store) Decide(root string, powers Powers, given string, granted ...Kind) (Decision, error) {
	if given != "" && given == powers.Digest() {
		return Decision{Trusted: true}, nil
	}
	if given != "" && len(powers) > 0 { // a digest must match exactly
		return Decision{Missing: powers, Given: given}, nil
	}
	approved, found, err := s.Find(root, powers)
	if err != nil {
		return Decision{}, err
	}
	missing := powers.Minus(approved.Powers).Without(granted...)
	return Decision{Trusted: found && len(missing) == 0, Missing: missing, Changed: missing.Diff(approved.Powers).Changed, Given: given}, nil
}

// UntrustedError reports that a project has powers that no person has approved.
type UntrustedError struct {
	Powers  Powers // all of the project
	Missing Powers // of these, what is not approved
	Changed Powers // of these, what was approved with different file contents
	Digest  string // of Powers
	Root    string
	Given   string // a digest that does not match; "": none
	// Approve are the arguments with which hocket asks for approval of all Powers. If nil,
	// only the rejected command itself asks for them.
	Approve []string
}

func (e *UntrustedError) Error() string { return e.Reason() + "; " + e.Hint() }

// Reason is Error without the hint.
func (e *UntrustedError) Reason() string {
	var text strings.Builder
	fmt.Fprintf(&text, "the project %s is not trusted", e.Root)
	if e.Given != "" {
		fmt.Fprintf(&text, ": the given digest %s does not match its digest %s", visible(e.Given), e.Digest)
	}
	if len(e.Missing) > 0 {
		text.WriteString(", and its files can do this:\n" + strings.TrimRight(e.list(), "\n"))
	}
	return text.String()
}

// Hint returns what to do about it.
func (e *UntrustedError) Hint() string {
	return e.HintWith(strings.Join(append([]string{"hocket"}, e.Approve...), " "))
}

// HintWith is Hint with the command line that has the arguments in Approve.
func (e *UntrustedError) HintWith(command string) string {
	approve := "run this command in a terminal and answer the question"
	if e.Approve != nil {
		approve = "run `" + command + "`"
	}
	return "if you trust it, " + approve + "; without a terminal, set HOCKET_TRUST=" + e.Digest
}

// list lists what is not approved, one per line.
func (e *UntrustedError) list() string {
	var b strings.Builder
	for _, p := range e.Missing {
		b.WriteString("  " + p.Line())
		if slices.ContainsFunc(e.Changed, p.same) {
			b.WriteString("  changed since you approved it")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The answers to the question about a project.
const (
	Yes = "trust"
	No  = "stop"
)

// Question asks whether to trust a project that is not approved, or only in part.
func (e *UntrustedError) Question() engine.Question {
	text := "Do you trust " + e.Root + "?"
	switch {
	case len(e.Missing) > len(e.Changed) && len(e.Powers) > len(e.Missing)-len(e.Changed):
		text = "The project " + e.Root + " can do more than you approved. Do you trust it?"
	case len(e.Changed) > 0:
		text = "The project " + e.Root + " has changed since you approved it. Do you trust it?"
	}
	detail := "Its files can do this:\n" + e.list() + "Its steps and CLI agents will see all your environment variables.\n"
	if len(e.Missing) == 0 {
		detail = "Its files can do nothing else that needs approval.\nIts steps and CLI agents will see all your environment variables.\n"
	}
	return engine.Question{
		ID: e.Root, Kind: engine.TrustQuestion, Text: text, Detail: detail, Required: true,
		Options: []workflow.Option{{Value: Yes}, {Value: No}}, Digest: e.Digest,
	}
}
