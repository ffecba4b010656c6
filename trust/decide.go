package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// Decision is what was found out about a project.
type Decision struct {
	// Trusted: a person has approved all powers. Until then steps see no secrets in
	// their environment, and CLI agents take no settings from the project.
	Trusted bool
	// Missing are the powers that no person has approved.
	Missing Powers
	// Changed are those of them that were approved with another content of their files.
	Changed Powers
	// Given is the digest that the caller was given, and that is another one.
	Given string
}

// Untrusted is nil where a run may start: trusted, or without any power that needs it. The
// settings that a project has for CLI agents do not keep a run from starting: it goes on
// without them.
func (d Decision) Untrusted(root string, powers Powers) *UntrustedError {
	if d.Trusted || len(d.Missing.Without(Settings)) == 0 {
		return nil
	}
	return d.Error(root, powers)
}

// Error says that a project is not trusted.
func (d Decision) Error(root string, powers Powers) *UntrustedError {
	return &UntrustedError{Powers: powers, Missing: d.Missing, Changed: d.Changed, Digest: powers.Digest(), Root: root, Given: d.Given}
}

// Left says in one line what a run goes on without; "" nothing.
func (d Decision) Left() string {
	if d.Trusted || len(d.Missing) == 0 || len(d.Missing.Without(Settings)) > 0 {
		return ""
	}
	text := d.Missing[0].What
	if n := len(d.Missing) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return "the project is not trusted, so CLI agents start without its own settings (" + text + "); `hocket trust` shows and allows them"
}

// Decide says whether powers of a project are approved: by the digest that the caller
// was given, or by an approval in the store. Granted are kinds that the user allows in
// every project.
func (s *Store) Decide(root string, powers Powers, given string, granted ...Kind) (Decision, error) {
	if given != "" && given == powers.Digest() {
		return Decision{Trusted: true}, nil
	}
	if given != "" && len(powers) > 0 { // whoever gives a digest wants exactly that
		return Decision{Missing: powers, Given: given}, nil
	}
	approved, found, err := s.Find(root, powers)
	if err != nil {
		return Decision{}, err
	}
	missing := powers.Minus(approved.Powers).Without(granted...)
	return Decision{Trusted: found && len(missing) == 0, Missing: missing, Changed: missing.Diff(approved.Powers).Changed, Given: given}, nil
}

// UntrustedError says that a project wants to do what no person has approved.
type UntrustedError struct {
	Powers  Powers // all of the project
	Missing Powers // of these, what is not approved
	Changed Powers // of these, what was approved with another content of its files
	Digest  string // of Powers
	Root    string
	Given   string // another digest that was given to approve it; "" none
	// Approve are the arguments with which hocket asks for approval of all Powers; nil:
	// only the command that was refused asks for them.
	Approve []string
}

func (e *UntrustedError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "the project %s is not trusted", e.Root)
	if e.Given != "" {
		fmt.Fprintf(&text, ": the digest %s was given, and that of what it can do is %s", visible(e.Given), e.Digest)
	}
	if len(e.Missing) > 0 {
		text.WriteString(", and its files can do this:\n" + strings.TrimRight(e.list(), "\n"))
	}
	return text.String() + "; " + e.Hint()
}

// Hint says what to do.
func (e *UntrustedError) Hint() string {
	return e.HintWith(strings.Join(append([]string{"hocket"}, e.Approve...), " "))
}

// HintWith is Hint with the command line that has the arguments in Approve.
func (e *UntrustedError) HintWith(command string) string {
	approve := "run this in a terminal and answer"
	if e.Approve != nil {
		approve = "run `" + command + "`"
	}
	return "if you trust it, " + approve + "; where nobody can be asked, set HOCKET_TRUST=" + e.Digest
}

// list is what is not approved, a line each.
func (e *UntrustedError) list() string {
	var b strings.Builder
	for _, p := range e.Missing {
		b.WriteString("  " + p.line())
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

// Question asks about a project that no person has approved yet, or not in all.
func (e *UntrustedError) Question() engine.Question {
	text := "Do you trust " + e.Root + "?"
	switch {
	case len(e.Missing) > len(e.Changed) && len(e.Powers) > len(e.Missing)-len(e.Changed):
		text = "The project " + e.Root + " can do more than you approved. Do you trust it?"
	case len(e.Changed) > 0:
		text = "The project " + e.Root + " has changed since you approved it. Do you trust it?"
	}
	detail := "Its files can do this:\n" + e.list() + "Its steps and CLI agents will see your whole environment.\n"
	if len(e.Missing) == 0 {
		detail = "Its files can do nothing that needs approval by itself.\nIts steps and CLI agents will see your whole environment.\n"
	}
	return engine.Question{
		ID: e.Root, Kind: engine.TrustQuestion, Text: text, Detail: detail, Required: true,
		Options: []workflow.Option{{Value: Yes}, {Value: No}}, Digest: e.Digest,
	}
}
