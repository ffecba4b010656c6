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
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package to mutate.
type pkg struct {
	dir      string               // below the module's root
	wanted   []string             // the files to change
	files    map[string]*ast.File // all of them, by their names below the root
	sources  map[string][]byte
	outlines map[string]*ast.File // files without the bodies of functions
	set      *token.FileSet
	types    *types.Package
	info     *types.Info
	from     types.Importer
}

// load reads the package of a target.
func load(t target) (*pkg, error) {
	p := &pkg{dir: t.name, files: map[string]*ast.File{}, sources: map[string][]byte{}, outlines: map[string]*ast.File{}, set: token.NewFileSet()}
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
		p.outlines[name] = outline(p.files[name])
		if t.holds(name) {
			p.wanted = append(p.wanted, name)
		}
	}
	if len(p.wanted) == 0 {
		return nil, errors.New("it has no files on this platform")
	}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	p.types, err = (&types.Config{Importer: p.from}).Check(p.dir, p.set, slices.Collect(maps.Values(p.files)), p.info)
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

// compiles reports whether the package still compiles with a mutant. Most of those that do
// not leave a variable unused do.
func (p *pkg) compiles(m mutant) bool {
	changed, err := parser.ParseFile(p.set, m.file, m.apply(p.sources[m.file]), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := maps.Clone(p.files)
	if m.in != "" { // it changes no other function
		files = maps.Clone(p.outlines)
	}
	files[m.file] = changed
	compiles := true
	config := types.Config{Importer: p.from, Error: func(err error) {
		if e := (types.Error{}); errors.As(err, &e) && (m.in == "" || p.set.Position(e.Pos).Filename == m.file) {
			compiles = false
		}
	}}
	_, _ = config.Check(p.dir, p.set, slices.Collect(maps.Values(files)), nil)
	return compiles
}

// outline returns a file without the bodies of its functions. Its imports are unused.
func outline(f *ast.File) *ast.File {
	short := *f
	short.Decls = slices.Clone(f.Decls)
	for i, d := range short.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			bare := *fn
			bare.Body = nil
			short.Decls[i] = &bare
		}
	}
	return &short
}

func (p *pkg) offset(at token.Pos) int { return p.set.Position(at).Offset }

// typeName returns how the source names a type.
func (p *pkg) typeName(t types.Type) string {
	return types.TypeString(t, func(of *types.Package) string {
		if of == p.types {
			return ""
		}
		return path.Base(of.Path())
	})
}
