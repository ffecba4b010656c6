package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/hocket-dev/hocket"
	root   = "../.."
	host   = "hocket" // the name of the root package in the tables
)

// ours returns the folder of an import if it is in this module.
func ours(name string) (folder string, ok bool) {
	if name == module {
		return host, true
	}
	return strings.CutPrefix(name, module+"/")
}

// pkg is a folder with Go files, without its tests: tests may import what they need.
type pkg struct {
	folder string
	files  []*ast.File
}

func (p *pkg) imports() []string {
	var all []string
	for _, f := range p.files {
		for _, spec := range f.Imports {
			if name, err := strconv.Unquote(spec.Path.Value); err == nil {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// packages returns all folders, regardless of build tags.
func packages(t *testing.T) (*token.FileSet, []*pkg) {
	t.Helper()
	all, err := parseOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all.fset, all.packages
}

type tree struct {
	fset     *token.FileSet
	packages []*pkg
}

var parseOnce = sync.OnceValues(func() (*tree, error) {
	all := &tree{fset: token.NewFileSet()}
	byFolder := map[string]*pkg{}
	return all, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(all.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		folder := filepath.ToSlash(rel)
		if folder == "." {
			folder = host
		}
		if byFolder[folder] == nil {
			byFolder[folder] = &pkg{folder: folder}
			all.packages = append(all.packages, byFolder[folder])
		}
		byFolder[folder].files = append(byFolder[folder].files, file)
		return nil
	})
})

// table reads the rows of the Markdown table in ARCHITECTURE.md whose heading begins with
// a cell.
func table(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	inside := false
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, "|") {
			inside = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == heading:
			inside = true
		case inside && !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("ARCHITECTURE.md has no table with the heading %q", heading)
	}
	return rows
}

// quoted returns the words of a cell that are in backticks.
func quoted(cell string) []string {
	var words []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			words = append(words, part)
		}
	}
	return words
}

// matches reports whether a folder matches a pattern: the folder itself, or `a/*` for every folder
// directly below a.
func matches(folder, pattern string) bool {
	return folder == pattern || strings.HasSuffix(pattern, "/*") && path.Dir(folder) == strings.TrimSuffix(pattern, "/*")
}

func TestImportsFollowTheTable(t *testing.T) {
	allowed := map[string][]string{}
	for _, row := range table(t, "folder") {
		for _, folder := range quoted(row[0]) {
			allowed[folder] = quoted(row[len(row)-1])
		}
	}
	_, all := packages(t)
	here := map[string]bool{}
	for _, p := range all {
		here[p.folder] = true
		may, listed := allowed[p.folder]
		if !listed {
			t.Errorf("folder %s has no line in the table of ARCHITECTURE.md", p.folder)
			continue
		}
		for _, name := range p.imports() {
			folder, own := ours(name)
			if own && !slices.ContainsFunc(may, func(pattern string) bool { return matches(folder, pattern) }) {
				t.Errorf("%s imports %s, which its line in ARCHITECTURE.md does not allow", p.folder, folder)
			}
		}
	}
	for folder := range allowed {
		if !here[folder] {
			t.Errorf("ARCHITECTURE.md lists %s, which holds no package", folder)
		}
	}
}

// frontEnds translate between people or protocols and the host, and do nothing else.
var frontEnds = []string{"cli", "mcp", "server", "web"}

// The host and the packages below it decide what a run means. A front end that bypassed the host
// would duplicate some of that.
func TestFrontEndsReachRunsThroughTheHost(t *testing.T) {
	_, all := packages(t)
	for _, p := range all {
		front, _, _ := strings.Cut(p.folder, "/")
		if !slices.Contains(frontEnds, front) {
			continue
		}
		for _, name := range p.imports() {
			folder, own := ours(name)
			for _, below := range []string{"journal", "driver", "agent/", "project", "session", "memory"} {
				if own && (folder == strings.TrimSuffix(below, "/") && !strings.HasSuffix(below, "/") || strings.HasPrefix(folder, strings.TrimSuffix(below, "/")+"/")) {
					t.Errorf("%s imports %s; a front end uses the host", p.folder, folder)
				}
			}
		}
	}
}

// A line that allows an import that does not exist would mislead the reader.
func TestTheTableAllowsNoMoreThanIsUsed(t *testing.T) {
	used := map[string][]string{}
	_, all := packages(t)
	for _, p := range all {
		for _, name := range p.imports() {
			if folder, own := ours(name); own {
				used[p.folder] = append(used[p.folder], folder)
			}
		}
	}
	for _, row := range table(t, "folder") {
		var theirs []string
		for _, folder := range quoted(row[0]) {
			theirs = append(theirs, used[folder]...)
		}
		for _, pattern := range quoted(row[len(row)-1]) {
			if !slices.ContainsFunc(theirs, func(folder string) bool { return matches(folder, pattern) }) {
				t.Errorf("ARCHITECTURE.md allows %s to import %s, which it does not", row[0], pattern)
			}
		}
	}
}

func TestHeavyDependenciesStayInTheirFolders(t *testing.T) {
	_, all := packages(t)
	for _, row := range table(t, "dependency") {
		dependency, folders := quoted(row[0])[0], quoted(row[1])
		used := map[string]bool{}
		for _, p := range all {
			for _, name := range p.imports() {
				if name != dependency && !strings.HasPrefix(name, dependency+"/") {
					continue
				}
				used[p.folder] = true
				if !slices.Contains(folders, p.folder) {
					t.Errorf("%s imports %s, which belongs to %s", p.folder, name, strings.Join(folders, ", "))
				}
			}
		}
		for _, folder := range folders {
			if !used[folder] {
				t.Errorf("ARCHITECTURE.md says that %s uses %s, which it does not", folder, dependency)
			}
		}
	}
}

// Every direct dependency in go.mod that is not only for tests has a line in the table.
func TestEveryDependencyHasAFolder(t *testing.T) {
	var known []string
	for _, row := range table(t, "dependency") {
		known = append(known, quoted(row[0])[0])
	}
	_, all := packages(t)
	for _, p := range all {
		for _, name := range p.imports() {
			foreign := strings.Contains(strings.Split(name, "/")[0], ".") && !strings.HasPrefix(name, module)
			if foreign && !slices.ContainsFunc(known, func(d string) bool { return name == d || strings.HasPrefix(name, d+"/") }) {
				t.Errorf("%s imports %s, which has no line in ARCHITECTURE.md", p.folder, name)
			}
		}
	}
}

// isSuite reports whether a folder holds a test suite for other packages.
func isSuite(folder string) bool { return strings.HasSuffix(folder, "test") }

// No program contains a test suite.
func TestOnlyTestsImportSuites(t *testing.T) {
	_, all := packages(t)
	for _, p := range all {
		for _, name := range p.imports() {
			if strings.HasPrefix(name, module+"/") && isSuite(name) && !isSuite(p.folder) {
				t.Errorf("%s imports %s", p.folder, name)
			}
		}
	}
}

// pure are the folders in which the same input always gives the same output, and what they must not
// use. This includes the folders below them, except test suites.
var pure = []struct {
	folder  string
	imports []string
	calls   []string // "package.Function"
	spawn   bool     // whether goroutines are allowed
}{
	{"workflow", machine, clock, false},
	{"engine", machine, clock, false},
	{"syntax", machine, clock, false},
	{"check", machine, clock, false},
	{"draw", machine, clock, false},
	{"internal/strictyaml", machine, clock, false},
}

var machine = []string{"os", "os/exec", "os/user", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "io/ioutil", "syscall", "testing"}

var clock = []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker", "time.Local", "time.LoadLocation"}

func TestPureFoldersTouchNothing(t *testing.T) {
	fset, all := packages(t)
	for _, p := range all {
		for _, rule := range pure {
			if p.folder != rule.folder && !strings.HasPrefix(p.folder, rule.folder+"/") || isSuite(p.folder) {
				continue
			}
			for _, name := range p.imports() {
				if slices.Contains(rule.imports, name) {
					t.Errorf("%s imports %s", p.folder, name)
				}
			}
			for _, file := range p.files {
				for _, found := range touches(fset, file, rule.calls, rule.spawn) {
					t.Error(found)
				}
			}
		}
	}
}

// touches finds uses of the given functions and, unless they are allowed,
// goroutines.
func touches(fset *token.FileSet, file *ast.File, calls []string, spawn bool) []string {
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(calls, x.Name+"."+n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: %s.%s in a folder that knows no time", fset.Position(n.Pos()), x.Name, n.Sel.Name))
			}
		case *ast.GoStmt:
			if !spawn {
				found = append(found, fmt.Sprintf("%s: a goroutine in a folder that has none", fset.Position(n.Pos())))
			}
		}
		return true
	})
	return found
}

// No package does anything when it is imported, except what must happen before everything else:
// a program that starts again to confine itself, and tuning the garbage collector.
func TestNoInitFunctions(t *testing.T) {
	fset, all := packages(t)
	for _, p := range all {
		if p.folder == "internal/sandbox/inside" || p.folder == "cmd/hocket/internal/startup" {
			continue
		}
		for _, file := range p.files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					t.Errorf("%s: an init function", fset.Position(f.Pos()))
				}
			}
		}
	}
}

// Every package says what it is before how it works.
func TestEveryPackageHasADocComment(t *testing.T) {
	_, all := packages(t)
	for _, p := range all {
		documented := slices.ContainsFunc(p.files, func(f *ast.File) bool { return f.Doc.Text() != "" })
		if !documented {
			t.Errorf("%s has no package comment", p.folder)
		}
	}
}

// A package's name says what it holds.
func TestNoCatchAllPackages(t *testing.T) {
	_, all := packages(t)
	for _, p := range all {
		switch path.Base(p.folder) {
		case "util", "utils", "common", "helpers", "types", "core", "base", "misc", "shared", "manager":
			t.Errorf("%s: a name that says nothing", p.folder)
		}
	}
}
