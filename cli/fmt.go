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
		Short: "lay workflow files out in the canonical way",
		Long: `Lay workflow files out in the canonical way of their notation. Comments and the
order of keys stay. Without -w the result goes to standard output. A file with
errors is left as it is; the exit code is then 2.`,
		Example: `  hocket fmt review.yml
  hocket fmt -w .hocket/workflows/*.yml`,
		Args: argsBetween(1, -1),
		RunE: func(_ *cobra.Command, args []string) error { return a.fmt(args, write) },
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the result into the file")
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
			return usagef("leave -w out: the result goes to standard output", "standard input cannot be written")
		}
		laidOut, wrong := syntax.Fmt(file, text)
		if wrong.Errors() {
			found = append(found, wrong...)
			continue
		}
		list = append(list, formatted{file, !bytes.Equal(text, laidOut), string(laidOut)})
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

// replaceFile puts a text in the place of a file's, all of it or, after a crash,
// none.
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
