package importer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// largest is the maximum size of an agent file.
const largest = 1 << 20

// readFile reads a text file of limited size. Anything but a regular file is not opened:
// opening a pipe would block.
func readFile(fsys fs.FS, file string) ([]byte, error) {
	info, err := fs.Stat(fsys, file)
	switch {
	case err != nil:
		return nil, plainError(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := fsys.Open(file)
	if err != nil {
		return nil, plainError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, largest+1))
	switch {
	case err != nil:
		return nil, plainError(err)
	case len(text) > largest:
		return nil, errors.New("it is larger than 1 MB")
	case !utf8.Valid(text):
		return nil, errors.New("it is not UTF-8 text")
	}
	return text, nil
}

// plainError describes an error without the path, which is shown next to it.
func plainError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") { // package os does not export this error
		return errors.New("it is outside the project")
	}
	return fmt.Errorf("it cannot be read: %w", err)
}

// markdownIn returns the Markdown files in directories, including subdirectories if deep.
func markdownIn(deep bool, dirs ...string) func(Place) ([]string, error) {
	return func(p Place) ([]string, error) { return filesIn(p.FS, ".md", deep, dirs...) }
}

// filesIn returns the files with an extension in directories, sorted. Hidden files and
// those that begin with _ are left out, as all these programs do. A missing directory has
// no files.
func filesIn(fsys fs.FS, ending string, deep bool, dirs ...string) ([]string, error) {
	var files []string
	for _, dir := range dirs {
		err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
			switch base := path.Base(name); {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() && name != dir && (!deep || strings.HasPrefix(base, ".")):
				return fs.SkipDir
			case !d.IsDir() && strings.HasSuffix(base, ending) && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_"):
				files = append(files, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	return files, nil
}

// existing returns the files that exist.
func existing(fsys fs.FS, files ...string) []string {
	return slices.DeleteFunc(files, func(file string) bool {
		info, err := fs.Stat(fsys, file)
		return errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
	})
}

func copilotFiles(p Place) ([]string, error) {
	dir := ".github/agents"
	if p.User {
		dir = ".copilot/agents"
	}
	return filesIn(p.FS, ".md", false, dir)
}

// codexFiles returns the configuration and the agent files. A file that the configuration
// names is read with its entry there, and not again.
func codexFiles(p Place) ([]string, error) {
	const config = ".codex/config.toml"
	files, err := filesIn(p.FS, ".toml", false, ".codex/agents")
	text, failed := readFile(p.FS, config)
	if failed != nil {
		return append(files, existing(p.FS, config)...), err
	}
	values, _ := readTOML(text)
	agents, _ := values["agents"].(map[string]any)
	for _, entry := range agents {
		if members, _ := entry.(map[string]any); members != nil {
			named := path.Join(path.Dir(config), plain(members["config_file"]))
			files = slices.DeleteFunc(files, func(file string) bool { return file == named })
		}
	}
	return append(files, config), err
}

func opencodeFiles(p Place) ([]string, error) {
	dir, configs := ".opencode", []string{"opencode.json", "opencode.jsonc"}
	if p.User {
		dir, configs = ".config/opencode", nil
	}
	deep, err := filesIn(p.FS, ".md", true, dir+"/agent", dir+"/agents")
	if err != nil {
		return nil, err
	}
	flat, err := filesIn(p.FS, ".md", false, dir+"/mode", dir+"/modes")
	configs = append(configs, dir+"/opencode.json", dir+"/opencode.jsonc")
	return slices.Concat(deep, flat, existing(p.FS, configs...)), err
}
