package cli

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) fmtVerb() *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "fmt FILE... [FLAGS]",
		Short: "Format workflow files",
		Long: `Format workflow files in the canonical style of their notation. Comments and the
order of keys are preserved. Without -w, the result goes to standard output. A file
with errors is not changed, and the exit code is 2.`,
		Example: `  hocket fmt review.yml
  hocket fmt -w .hocket/workflows/*.yml`,
		Args: argsBetween(1, -1),
		RunE: func(_ *cobra.Command, args []string) error { return a.fmt(args, write) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result to the file")
	return cmd
}

// formatted is one file with --json.
type formatted struct {
	File    string `json:"file"`
	Changed bool   `json:"changed"`
	Text    string `json:"text"`
}

func (a *app) fmt(files []string, write bool) error {
	list := make([]formatted, 0, len(files))
	var found workflow.Diagnostics
	for _, name := range files {
		file, text, err := a.readFile(name, "fmt")
		if err != nil {
			return err
		}
		if write && file == stdin {
			return usagef("remove -w: the result goes to standard output", "--write does not support standard input")
		}
		neat, wrong := syntax.Fmt(file, text)
		if wrong.Errors() {
			found = append(found, wrong...)
			continue
		}
		list = append(list, formatted{file, !bytes.Equal(text, neat), string(neat)})
	}
	err := a.putFormatted(list, write)
	if err == nil && len(found) > 0 {
		err = &diagnosticsError{found}
	}
	return err
}

func (a *app) putFormatted(list []formatted, write bool) error {
	for _, f := range list {
		var err error
		switch {
		case write && f.Changed:
			err = replaceFile(f.File, []byte(f.Text))
		case !write && !a.json:
			err = a.print(f.Text)
		}
		if err != nil {
			return err
		}
		if write && f.Changed && !a.json {
			a.note(f.File + "\n")
		}
	}
	if a.json {
		return a.printJSON(list)
	}
	return nil
}

// replaceFile replaces the content of a file atomically.
func replaceFile(file string, text []byte) error {
	target, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(target)
	if err != nil {
		return err
	}
	return wholefile.Write(target, text, info.Mode().Perm())
}
