package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package to mutate.
type pkg struct {
	dir     string               // below the module's root
	wanted  []string             // the files to change
	files   map[string]*ast.File // all of them, by their names below the root
	sources map[string][]byte
	set     *token.FileSet
	types   *types.Package
	info    *types.Info
	from    types.Importer
}

// load reads the package of a target. A file that is a target itself is not part of its
// folder's target.
func load(t target) (*pkg, error) {
	p := &pkg{dir: t.name, files: map[string]*ast.File{}, sources: map[string][]byte{}, set: token.NewFileSet()}
	if strings.HasSuffix(t.name, ".go") {
		p.dir = path.Dir(t.name)
	}
	names, exports, err := list(p.dir)
	if err != nil {
		return nil, err
	}
	p.from = importer.ForCompiler(p.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, base := range names {
		name := path.Join(p.dir, base)
		if p.sources[name], err = os.ReadFile(filepath.FromSlash(name)); err != nil {
			return nil, err
		}
		if p.files[name], err = parser.ParseFile(p.set, name, p.sources[name], parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		own := slices.ContainsFunc(targets, func(other target) bool { return other.name == name })
		if name == t.name || t.name == p.dir && !own {
			p.wanted = append(p.wanted, name)
		}
	}
	if len(p.wanted) == 0 {
		return nil, errors.New("it has no files on this platform")
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	p.types, err = p.check(p.files, p.info)
	return p, err
}

// list returns the files of a package, and for each of its dependencies the file from which
// the compiler reads its types.
func list(dir string) (files []string, exports map[string]string, err error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,DepOnly,GoFiles", "./"+dir).Output()
	if err != nil {
		return nil, nil, explain(err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export string
			DepOnly            bool
			GoFiles            []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return files, exports, nil
		} else if err != nil {
			return nil, nil, err
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			files = p.GoFiles
		}
	}
}

// explain adds what a command printed to its error.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}

func (p *pkg) check(files map[string]*ast.File, info *types.Info) (*types.Package, error) {
	config := types.Config{Importer: p.from}
	var list []*ast.File
	for _, f := range files {
		list = append(list, f)
	}
	return config.Check(p.dir, p.set, list, info)
}

// compiles reports whether the package still compiles with a changed file. Most changes
// that do not leave a variable unused do.
func (p *pkg) compiles(name string, source []byte) bool {
	changed, err := parser.ParseFile(p.set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := map[string]*ast.File{}
	for other, f := range p.files {
		files[other] = f
	}
	files[name] = changed
	_, err = p.check(files, nil)
	return err == nil
}
