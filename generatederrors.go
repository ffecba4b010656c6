package hocket

import (
	"cmp"
	"fmt"

	"github.com/hocket-dev/hocket/trust"
)

// UnapprovedError reports that a model wrote a definition, and that nobody has approved it as it
// is now.
type UnapprovedError struct {
	ID     string
	Kind   Kind
	Digest string
	State  DefinitionState
	Calls  string // the workflow of a model that it calls, if that is the reason
	Gone   bool   // it was removed when it was rejected, so that it cannot be approved
}

func (e *UnapprovedError) Error() string {
	why := cmp.Or(map[DefinitionState]string{Changed: "it has changed since it was approved", Rejected: "it was rejected"}[e.State], "nobody has approved it")
	if e.Calls != "" {
		why = "it calls " + e.Calls + ", which a model wrote, and " + why
	}
	return fmt.Sprintf("cannot use the %s %s: %s", e.Kind, e.ID, why)
}

// Hint returns what to do about it.
func (e *UnapprovedError) Hint() string {
	return e.HintWith("hocket approve " + e.ID)
}

// HintWith is Hint with the command that approves it.
func (e *UnapprovedError) HintWith(approve string) string {
	if e.Gone {
		return "it was removed, so nobody can approve it any more; its runs can only be cancelled"
	}
	return "review it with `" + approve + "`, in a terminal of your own"
}

// DecidedError reports that somebody else has decided about a definition in the meantime.
type DecidedError struct {
	ID string
	trust.Verdict
	Gone bool // its file no longer exists
}

func (e *DecidedError) Error() string {
	what := map[bool]string{false: "approved", true: "rejected"}[e.Rejected]
	return fmt.Sprintf("%s was already %s by %s at %s", e.ID, what, e.By, e.At.Local().Format("2006-01-02 15:04:05"))
}

// Hint returns what to do about it.
func (e *DecidedError) Hint() string {
	if e.Gone {
		return "its file no longer exists; `hocket approve` lists what there is"
	}
	return "nothing was changed; look at it again"
}

// ChangedError reports that a definition is not what was reviewed.
type ChangedError struct{ ID, Digest, Now string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s has changed: its digest is %s, not %s", e.ID, e.Now, e.Digest)
}

// Hint returns what to do about it.
func (e *ChangedError) Hint() string { return "nothing was approved; review it again" }

// NameTakenError reports that something in the project already has the name of a draft.
type NameTakenError struct {
	Name, What string
	promoted   bool // it was to become a file of the project
}

func (e *NameTakenError) Error() string {
	return fmt.Sprintf("the name %q is taken by %s", e.Name, e.What)
}

// Hint returns what to do about it.
func (e *NameTakenError) Hint() string {
	if e.promoted {
		return "rename or remove that, or reject the definition"
	}
	return "use another name"
}

// UnknownDefinitionError reports that there is no definition with a name.
type UnknownDefinitionError struct{ ID string }

func (e *UnknownDefinitionError) Error() string {
	return fmt.Sprintf("there is no definition %q that a model wrote", e.ID)
}

// Hint returns what to do about it.
func (e *UnknownDefinitionError) Hint() string { return "`hocket approve` lists them" }
