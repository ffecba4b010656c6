package cli

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
)

// starter is the project that init creates.
//
//go:embed starter
var starter embed.FS

func (a *app) initVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a project with an example workflow",
		Long: `Create .hocket in a directory, with a configuration, an agent and an example
workflow that runs without a model. Existing files are never changed.`,
		Example: `  hocket init
  hocket run hello --input who=everybody

  # Create the project in another directory
  hocket init ~/work/review`,
		Args: argsBetween(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) == 1 {
				dir = a.outPath(args[0])
			}
			return a.init(dir)
		},
	}
}

// initResult is init --json.
type initResult struct {
	Dir  string   `json:"dir"`
	Made []string `json:"made"`
	Kept []string `json:"kept"` // they already existed
}

func (a *app) init(dir string) error {
	home := filepath.Join(dir, ".hocket")
	fresh := !isDir(home) && !isDir(filepath.Join(dir, ".glee"))
	res := initResult{Dir: home, Made: []string{}, Kept: []string{}}
	err := fs.WalkDir(starter, "starter", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.FromSlash(strings.TrimPrefix(path, "starter/"))
		text, err := starter.ReadFile(path)
		if err != nil {
			return err
		}
		made, err := writeNew(filepath.Join(home, name), text)
		if made {
			res.Made = append(res.Made, name)
		} else {
			res.Kept = append(res.Kept, name)
		}
		return err
	})
	if err == nil && fresh {
		err = a.trustNew(dir) // it contains only our files
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(res)
	}
	a.dir = dir // the hint is about the new project
	return a.print(a.drawInit(&res))
}

// writeNew writes a file unless it exists.
func writeNew(path string, text []byte) (made bool, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return false, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.Write(text)
	return true, errors.Join(err, f.Close())
}

func (a *app) drawInit(res *initResult) string {
	var b strings.Builder
	for _, name := range res.Made {
		b.WriteString(a.outStyle.Paint(view.Green, "created") + "  " + filepath.Join(res.Dir, name) + "\n")
	}
	for _, name := range res.Kept {
		b.WriteString(a.outStyle.Paint(view.Dim, "kept   ") + "  " + filepath.Join(res.Dir, name) + "\n")
	}
	b.WriteString("\nNext: " + a.self("run", "hello") + "\n")
	return b.String()
}

// outPath resolves the path of an output file relative to -C.
func (a *app) outPath(file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(a.dir, file)
}
