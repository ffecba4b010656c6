package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/schema"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) handoffVerb() *cobra.Command {
	return withVerbs(&cobra.Command{
		Use:   "handoff COMMAND",
		Short: "Write, check and send handoffs between agents",
		Long: `Write, check and send handoffs. A handoff is a Markdown file with an <agent_request>
in an XML block, or the XML itself: a task that an agent or a person hands to
another agent. Each request becomes a session, which you can follow and cancel.`,
		Example: `  # Write a handoff from a template, check it and send it
  hocket handoff new review --set subject="the last commit" --set intent="Release 2.0" -o review.md
  hocket handoff check review.md
  hocket handoff send review.md

  # Follow it
  hocket handoff list
  hocket handoff wait 20260101-120000-review-the-last-commit
  hocket handoff result 20260101-120000-review-the-last-commit`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}, a.handoffNewVerb(), a.handoffDraftVerb(), a.handoffCheckVerb(), a.handoffGetVerb(), a.handoffSchemaVerb(), a.handoffSendVerb(), a.handoffCreateVerb(),
		a.handoffListVerb(), a.handoffStatusVerb(), a.handoffWaitVerb(), a.handoffResultVerb(), a.handoffCancelVerb(), a.handoffStatsVerb(), a.handoffArchiveVerb(), a.handoffAttachVerb(), a.handoffDriveVerb(), a.handoffWorkVerb())
}

func (a *app) handoffCheckVerb() *cobra.Command {
	var f sendFlags
	var form string
	cmd := &cobra.Command{
		Use:   "check FILE... [FLAGS]",
		Short: "Check handoffs against the schema and the project",
		Long: `Check handoffs against the schema of their version, and whether "hocket handoff send"
would accept them: their agents can run, and their sessions do not exist yet.
A file without a block is read as a task in prose, with a warning. The exit code is 2 if
there are errors. With --json, print the requests; --json=seed uses the format of the
first draft of the protocol.`,
		Example: `  hocket handoff check prompt.md
  hocket handoff check prompt.md --json

  # Repair mistakes, such as those in the answer of a model
  hocket handoff check --lenient answer.txt`,
		Args: argsBetween(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if form != "" && form != plainJSON && form != seedJSON {
				return usagef("write --json or --json=seed", "unknown JSON format %q", form)
			}
			a.json = form != ""
			return a.checkHandoffs(cmd.Context(), args, &f, form)
		},
	}
	f.add(cmd)
	a.agentFlag(cmd, &f)
	cmd.Flags().Var((*jsonForm)(&form), "json", "print the requests as JSON; --json=seed uses the format of the first draft of the protocol")
	cmd.Flags().Lookup("json").NoOptDefVal = plainJSON
	return cmd
}

// The values of --json; without one it is plainJSON.
const (
	plainJSON = "true"
	seedJSON  = "seed"
)

// jsonForm is the value of --json. The help shows it as a boolean flag.
type jsonForm string

func (f *jsonForm) String() string { return string(*f) }
func (f *jsonForm) Type() string   { return "bool" }

func (f *jsonForm) Set(form string) error {
	*f = jsonForm(form)
	return nil
}

func (a *app) checkHandoffs(ctx context.Context, files []string, f *sendFlags, form string) error {
	var found workflow.Diagnostics
	requests, around := []*protocol.Request{}, map[string]string{}
	blocks := 0
	var untrusted *hocket.UntrustedError
	for _, file := range files {
		h, more, err := a.readHandoffs(ctx, file, f)
		if err != nil {
			return err
		}
		untrusted = cmp.Or(untrusted, more)
		found, requests, blocks = append(found, h.Found...), append(requests, h.Requests...), blocks+h.Blocks
		around[file] = h.Context
	}
	if found.Errors() && !a.json {
		a.note(protocol.Refusal(found).Title + "\n")
	}
	err := a.printHandoffs(requests, around, found, blocks, form)
	if err == nil && untrusted != nil && !found.Errors() {
		a.note("note: before you can send it, you have to approve what the project can do: run `" + a.self("trust") + "`\n")
	}
	if err != nil || !found.Errors() {
		return err
	}
	if advice := protocol.Refusal(found).Advice; advice != "" && !a.json {
		a.note(advice + "\n")
	}
	return exitError(exitUsage)
}

func (a *app) printHandoffs(requests []*protocol.Request, around map[string]string, found workflow.Diagnostics, blocks int, form string) error {
	switch {
	case form == seedJSON:
		a.note(a.showDiagnostics(found, a.errStyle))
		if found.Errors() {
			return nil // this format has no place for diagnostics
		}
		var b strings.Builder
		for _, q := range requests {
			b.Write(q.SeedJSON())
		}
		return a.print(b.String())
	case a.json:
		p, err := a.openProject()
		if err != nil {
			return err
		}
		constraints := make([][]handoff.Constraint, len(requests))
		for i, q := range requests {
			constraints[i] = append([]handoff.Constraint{}, handoff.Constraints(p, q)...)
		}
		return a.printJSON(map[string]any{"requests": requests, "context": around, "constraints": constraints, "diagnostics": jsonDiagnostics(found)})
	}
	if !found.Errors() {
		p, err := a.openProject()
		if err != nil {
			return err
		}
		if err := a.print(a.constraintText(p, requests)); err != nil {
			return err
		}
	}
	return a.print(a.verdict(found, view.Count(blocks, "request")))
}

// constraintText says for each constraint whether it is enforced, and how.
func (a *app) constraintText(p *hocket.Project, requests []*protocol.Request) string {
	var b strings.Builder
	for _, q := range requests {
		for _, c := range handoff.Constraints(p, q) {
			if c.EnforcedBy == "" {
				b.WriteString("advisory   " + a.outText(c.Text) + "\n")
			} else {
				b.WriteString("enforced   " + a.outText(c.Text) + ": " + c.EnforcedBy + "\n")
			}
		}
	}
	return b.String()
}

// readHandoffs reads and checks the requests in a file.
func (a *app) readHandoffs(ctx context.Context, name string, f *sendFlags) (*protocol.Handoffs, *hocket.UntrustedError, error) {
	replies, err := a.readReplies(f.replies)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.handoffs()
	if err != nil {
		return nil, nil, err
	}
	file, text, err := a.readFile(name, "handoff check")
	if err != nil {
		return nil, nil, err
	}
	return s.Check(ctx, handoff.Order{File: file, Text: text, Agent: f.agent, Spike: f.spike, Lenient: f.lenient, Replies: replies})
}

func (a *app) handoffGetVerb() *cobra.Command {
	var lenient bool
	cmd := &cobra.Command{
		Use:   "get FILE FIELD [FLAGS]",
		Short: "Print one field of a handoff",
		Long: `Print the text of a field, with one line for each occurrence. A field is a path of
element names; the name of an attribute begins with @. Name elements from other
namespaces by prefix, or by URI in braces. The exit code is 1 if there is no such field.`,
		Example: `  hocket handoff get prompt.md mode
  hocket handoff get prompt.md constraints/constraint
  hocket handoff get prompt.md deliverables/file/@path
  hocket handoff get prompt.md @target_agent
  hocket handoff get prompt.md qa:coverage_threshold`,
		Args: argsBetween(2, 2),
		RunE: func(_ *cobra.Command, args []string) error { return a.getField(args[0], args[1], lenient) },
	}
	cmd.Flags().BoolVar(&lenient, "lenient", false, "repair mistakes instead of reporting errors")
	return cmd
}

func (a *app) getField(file, field string, lenient bool) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	file, text, err := a.readFile(file, "handoff get")
	if err != nil {
		return err
	}
	h, err := handoff.Read(p, file, text, lenient)
	if err != nil {
		return err
	}
	if h.Found.Errors() {
		return &diagnosticsError{h.Found}
	}
	values := []string{}
	for _, q := range h.Requests {
		texts, err := q.Get(field)
		if err != nil {
			return usagef("`hocket help handoff get` has examples", "%v", err)
		}
		values = append(values, texts...)
	}
	if a.json {
		err = a.printJSON(values)
	} else if len(values) > 0 {
		err = a.print(a.outText(strings.Join(values, "\n") + "\n"))
	}
	if err == nil && len(values) == 0 {
		err = exitError(exitFailed)
	}
	return err
}

func (a *app) handoffSchemaVerb() *cobra.Command {
	var install bool
	cmd := &cobra.Command{
		Use:   "schema [NAME] [FLAGS]",
		Short: "Print or install the handoff schemas",
		Long: `Print a handoff schema: an XML Schema for requests or responses, to use with xmllint or an
editor, or the JSON Schema for state.json or result.json. Without a name, list them.
With --install, write them to .claude/schemas, where other tools look for them. Existing
files with other content belong to the project and are not changed.`,
		Example: `  hocket handoff schema
  hocket handoff schema agent-handoff-v1.0.xsd > handoff.xsd
  hocket handoff schema --install`,
		Args:      argsBetween(0, 1),
		ValidArgs: schema.Handoffs(),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case install:
				return a.installSchemas()
			case len(args) == 0 && a.json:
				return a.printJSON(schema.Handoffs())
			case len(args) == 0:
				return a.print(strings.Join(schema.Handoffs(), "\n") + "\n")
			}
			text, err := schema.Handoff(args[0])
			if err != nil {
				return usagef("`hocket handoff schema` lists them", "unknown schema %q", args[0])
			}
			return a.print(string(text))
		},
	}
	cmd.Flags().BoolVar(&install, "install", false, "write the schemas to .claude/schemas")
	return cmd
}

func (a *app) installSchemas() error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Root())
	if err != nil {
		return err
	}
	defer root.Close()
	const folder = ".claude/schemas"
	if err := root.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, name := range schema.Handoffs() {
		text, err := schema.Handoff(name)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, name)
		info, err := root.Stat(file)
		var there []byte
		if err == nil && info.Mode().IsRegular() && info.Size() == int64(len(text)) { // reading a pipe would block
			there, err = root.ReadFile(file)
		}
		switch {
		case err == nil && string(there) == string(text):
			err = a.print("unchanged " + file + "\n")
		case err == nil:
			err = a.print("kept      " + file + ", which differs\n")
		case errors.Is(err, fs.ErrNotExist):
			if err = root.WriteFile(file, text, 0o666); err == nil {
				err = a.print("wrote     " + file + "\n")
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
