package cli

import (
	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) digestVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "digest FILE...",
		Short: "Print the digest of a workflow",
		Long: `Print the digest of each workflow. Files that mean the same have the same digest,
whatever their notation, formatting and comments.`,
		Example: `  hocket digest review.yml
  hocket digest old.yml new.yml --json`,
		Args:              argsBetween(1, -1),
		ValidArgsFunction: a.completeWorkflow,
		RunE:              func(_ *cobra.Command, args []string) error { return a.digest(args) },
	}
}

// fileDigest is one workflow with --json.
type fileDigest struct {
	File   string `json:"file"`
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

func (a *app) digest(files []string) error {
	list := make([]fileDigest, len(files))
	for i, file := range files {
		l, err := a.load(file)
		if err != nil {
			return err
		}
		if l.Model() == nil || l.Diagnostics().Errors() {
			return &diagnosticsError{l.Diagnostics()}
		}
		list[i] = fileDigest{file, l.Model().Name, workflow.Digest(l.Model())}
	}
	if a.json {
		return a.printJSON(list)
	}
	for _, d := range list {
		if err := a.print(d.Digest + "  " + d.File + "\n"); err != nil {
			return err
		}
	}
	return nil
}
