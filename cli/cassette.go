package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/trial"
)

func (a *app) cassetteVerb() *cobra.Command {
	var name string
	var force bool
	cmd := &cobra.Command{
		Use:   "cassette RUN [FLAGS]",
		Short: "Make a test of a run",
		Long: `Write a cassette with what agents and people did in a run, and a test that plays it: then
"hocket test" repeats the run without them. The test expects the same status, output and
error. All changes in workspaces are in it; those of other steps as far as agents reported
them. For all of them, record the test with "hocket test --record".

Nothing is written if the cassette would contain a secret, your home directory or your user
name.`,
		Example: `  hocket cassette review-3k7q
  hocket cassette review-3k7q --name token-leak && hocket test token-leak`,
		Args:              argsBetween(1, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error { return a.cassette(cmd.Context(), r, name, force) })
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the `NAME` of the cassette and of the test (default: that of the workflow)")
	cmd.Flags().BoolVar(&force, "force", false, "replace files with these names")
	return cmd
}

func (a *app) cassette(ctx context.Context, r *hocket.Run, name string, force bool) error {
	p := r.Project()
	if name != plainName(name) {
		return usagef("use letters, digits, dashes and underscores, such as "+cmp.Or(plainName(name), "my-test"), "invalid --name %q", name)
	}
	tape, made, notes, err := trial.Copy(ctx, p, r, trial.Options{Host: a.hostOptions()})
	var other *trial.CopyError
	if errors.As(err, &other) && len(other.Outcome.Problems) == 0 {
		return &diagnosticsError{other.Outcome.Invalid}
	}
	if err != nil {
		return err
	}
	if name == "" {
		name = cmp.Or(plainName(made.File.Name), "run")
	}
	tests := filepath.Join(p.Root(), filepath.FromSlash(trial.Dir))
	made.File.Path, made.Cassette = filepath.Join(tests, name+".yml"), filepath.Join(tests, "cassettes", name+".yml")
	for _, file := range []string{made.File.Path, made.Cassette} {
		if _, err := os.Lstat(file); !force && !errors.Is(err, fs.ErrNotExist) {
			return usagef("choose another name with --name, or replace it with --force", "%s exists", nearPath(file))
		}
	}
	if err := trial.WriteCopy(p, tape, made); err != nil {
		return err
	}
	for _, note := range notes {
		a.note(a.errStyle.Paint(view.BoldYellow, "warning") + ": " + view.Line(note) + "\n")
	}
	if a.json {
		return a.printJSON(map[string]any{"test": made.File.Path, "cassette": made.Cassette, "interactions": len(tape.Interactions)})
	}
	return a.print(fmt.Sprintf("recorded %s in %s\nwrote the test %s; run it with `hocket test %s`\n", view.Count(len(tape.Interactions), "interaction"), nearPath(made.Cassette), nearPath(made.File.Path), name))
}

// plainName returns a name that nobody has to quote, as near as possible to a text.
func plainName(text string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, text)
	return strings.Trim(name, "-.")
}
