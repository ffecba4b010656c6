package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/planner"
)

// Stdio is where a command reads and writes. If a field is an *os.File, it may be a terminal.
type Stdio struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Agent names an agent, as [trust.Supervisor] does, that may act for a person here:
	// tests may run under one. "" allows none.
	Agent string
}

// With is what a custom program adds to the command line.
type With struct {
	// Agents are executors, by the names under which steps and definitions use
	// them.
	Agents map[string]agent.Executor
	// Drivers store and drive runs, by the names that a project's configuration uses
	// for its driver.
	Drivers map[string]hocket.OpenDriver
}

func (w *With) add(more With) {
	if w.Agents == nil {
		w.Agents, w.Drivers = map[string]agent.Executor{}, map[string]hocket.OpenDriver{}
	}
	maps.Copy(w.Agents, more.Agents)
	maps.Copy(w.Drivers, more.Drivers)
}

// Main runs one command line, without the program's name, and returns the exit code:
//
//	0    done: success or partial
//	1    the run failed (error, timeout or cancelled), or a system error occurred
//	2    invalid usage, or an invalid workflow
//	3    the run is waiting for a person or a budget
//	130  interrupted
func Main(args []string, std Stdio, with ...With) int {
	catchSIGPIPE()
	if std.In == os.Stdin { // otherwise the command is only part of a program
		hocket.MarkPrograms()
	}
	a := newApp(std)
	a.args = args
	defer a.close()
	for _, w := range with {
		a.with.add(w)
	}
	root := a.command()
	root.SetArgs(args)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	err := root.ExecuteContext(context.Background())
	a.json = a.json || slices.Contains(args, "--json") // an invalid flag before it stops the parser
	return a.exit(err)
}

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitWaits       = 3
	exitInterrupted = 130
)

// exitError ends the command with an exit code. The reason has already been printed.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake by the user: exit code 2.
type usageError struct {
	what string
	hint string // what to do about it
}

func (e *usageError) Error() string { return e.what }

// usagef returns a usageError with a hint.
//
//go:noinline
func usagef(hint, format string, args ...any) error {
	return &usageError{what: fmt.Sprintf(format, args...), hint: hint}
}

// exit reports an error and turns it into an exit code.
func (a *app) exit(err error) int {
	var code exitError
	var usage *usageError
	var invalid *diagnosticsError
	var refused *hocket.InvalidError
	var moved *hocket.MovedError
	var untrusted *hocket.UntrustedError
	var unapproved *hocket.UnapprovedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, syscall.EPIPE):
		return exitDone // the reader of the output has closed it, like head
	case errors.As(err, &invalid):
		a.reportDiagnostics(invalid.found)
		return exitUsage
	case errors.As(err, &refused):
		a.reportDiagnostics(refused.Diagnostics)
		return exitUsage
	case errors.As(err, &usage):
		a.report(usage.what, usage.hint)
		return exitUsage
	case errors.As(err, &moved):
		a.report(err.Error(), "move it back; or, if this project used to be there, run `"+a.self("adopt", moved.Dir)+"`")
		return exitUsage
	case errors.As(err, &untrusted):
		what, _ := explain(err)
		a.report(what, untrusted.HintWith(a.self(untrusted.Approve...)))
		return exitUsage
	case errors.As(err, &unapproved):
		what, _ := explain(err)
		a.report(what, unapproved.HintWith(a.self("approve", unapproved.ID)))
		return exitUsage
	case isUsage(err):
		a.report(explain(err))
		return exitUsage
	default:
		a.report(explain(err))
		return exitFailed
	}
}

// isUsage reports whether an error of the host is a mistake by the user.
func isUsage(err error) bool {
	if errors.As(err, new(*planner.Error)) { // it may wrap one of them, but a model has answered
		return false
	}
	for _, target := range []any{
		new(*hocket.NoDirectoryError), new(*hocket.NoHomeError), new(*hocket.SecretError), new(*hocket.UnknownServerError),
		new(*hocket.LoginError), new(*hocket.KeyError), new(*hocket.UntrustedError), new(*hocket.UnknownDriverError), new(*hocket.NoWorkersError),
		new(*hocket.MovedError), new(*hocket.AdoptError), new(*handoff.UnknownError), new(*handoff.NoTmuxError), new(*handoff.NotInTmuxError), new(*planner.NoModelError), new(*planner.NoReplyError), new(*planner.PromptError), new(*planner.SpentError),
		new(*hocket.UnapprovedError), new(*hocket.UnknownDefinitionError), new(*hocket.ChangedError), new(*hocket.DecidedError), new(*hocket.NameTakenError), new(*hocket.NestedError),
	} {
		if errors.As(err, target) {
			return true
		}
	}
	return false
}

// report prints an error: for people on standard error, for programs as an object on
// standard output.
func (a *app) report(what, hint string) {
	if a.json {
		fault := map[string]any{"error": what}
		if hint != "" {
			fault["hint"] = hint
		}
		_ = a.printJSON(fault) // the exit code still reports the failure
	}
	text := a.errStyle.Paint(paintError, "error") + ": " + view.Text(what)
	if hint != "" {
		text += "\n" + a.errStyle.Paint(paintHint, "  help") + ": " + strings.ReplaceAll(view.Text(hint), "\n", "\n        ")
	}
	a.note(text + "\n")
}

// noArgs and argsBetween check the number of arguments, and show the command's usage
// line if it is wrong. A negative most means no upper bound.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("usage: "+cmd.UseLine(), "unexpected argument %q", args[0])
	}
	return nil
}

func argsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return checkNumber(cmd, args, least, most) }
}

func checkNumber(cmd *cobra.Command, args []string, least, most int) error {
	switch {
	case len(args) < least:
		return usagef("usage: "+cmd.UseLine(), "%s", missingText(missing(cmd, len(args), least)))
	case most >= 0 && len(args) > most:
		return usagef("usage: "+cmd.UseLine(), "unexpected argument %q", args[most])
	}
	return nil
}

func missingText(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return "missing argument " + names[0]
	}
	return "missing arguments " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// missing returns the names of the missing arguments, from the command's usage line.
func missing(cmd *cobra.Command, given, least int) []string {
	var names []string
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(word, "[") && strings.ToUpper(word) == word {
			names = append(names, word)
		}
	}
	return names[min(given, len(names)):min(least, len(names))]
}

// explain splits an error into what is wrong and, if the error knows, what to do about
// it.
func explain(err error) (what, hint string) {
	what = err.Error()
	var hinted interface{ Hint() string }
	var advised interface{ Advice() string }
	switch {
	case errors.As(err, &hinted):
		hint = hinted.Hint()
	case errors.As(err, &advised):
		hint = advised.Advice()
	}
	return strings.TrimSuffix(what, "; "+hint), hint
}
