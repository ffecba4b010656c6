package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
)

// schema is a package whose source has many mutants, each behind a test of a variable. Its
// test program is built once; with then selects a mutant.
type schema struct {
	*pkg
	mutants []mutant // numbered from 1
	// hosts are the places where each of them can be switched, the smallest first. A
	// mutant without any is built alone.
	hosts [][]host
}

// host is a node that is replaced by the choice between itself and its mutants.
type host struct {
	node ast.Node
	kind hostKind
}

type hostKind int

const (
	condition hostKind = iota
	value
	statement
	body // of a function
)

// The variable with the number of the mutant. Its value is stored in the program, because
// tests start the program again with their own environment.
const (
	variable  = "mutant__chosen"
	undecided = variable + "=999999"
)

// with returns a program with one of its mutants; 0 is the original.
func with(program []byte, number int) []byte {
	return bytes.ReplaceAll(program, []byte(undecided), fmt.Appendf(nil, "%s=%06d", variable, number))
}

// newSchema finds hosts that the package compiles with.
func newSchema(p *pkg, mutants []mutant) *schema {
	s := &schema{pkg: p, mutants: mutants}
	for _, m := range mutants {
		s.hosts = append(s.hosts, s.hostsOf(m))
	}
	for s.settle() {
	}
	return s
}

// alone reports whether a mutant is not in the source.
func (s *schema) alone(number int) bool { return len(s.hosts[number-1]) == 0 }

func (s *schema) countAlone() (n int) {
	for i := range s.mutants {
		if s.alone(i + 1) {
			n++
		}
	}
	return n
}

// hostsOf returns the nodes around a mutant that can be hosts.
func (s *schema) hostsOf(m mutant) (found []host) {
	var around []ast.Node
	ast.Inspect(s.files[m.file], func(n ast.Node) bool {
		if n == nil || s.offset(n.Pos()) > m.start || m.end > s.offset(n.End()) {
			return false
		}
		around = append(around, n)
		return true
	})
	for i := len(around) - 1; i > 0; i-- {
		if kind, ok := s.hostKind(around[i], around[i-1]); ok {
			found = append(found, host{around[i], kind})
		}
	}
	return found
}

func (s *schema) hostKind(n, parent ast.Node) (hostKind, bool) {
	switch n := n.(type) {
	case ast.Expr:
		return s.expressionKind(n, parent)
	case *ast.LabeledStmt, *ast.DeclStmt, *ast.CaseClause, *ast.CommClause:
		return 0, false
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return 0, false
		}
	case ast.Stmt:
	default:
		return 0, false
	}
	switch parent := parent.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		return body, true
	case *ast.BlockStmt, *ast.CaseClause:
		return statement, true
	case *ast.CommClause:
		return statement, parent.Comm != n
	}
	return 0, false
}

func (s *schema) expressionKind(e ast.Expr, parent ast.Node) (hostKind, bool) {
	switch parent.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
		return 0, false // a mutant may bind less tightly than its original
	case *ast.ReturnStmt:
		return 0, false // it may have another type
	}
	t := s.info.TypeOf(e)
	if t == nil {
		return 0, false
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsBoolean != 0 {
		return condition, true
	}
	switch e := e.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.BasicLit:
		return value, true
	case *ast.CompositeLit:
		return value, e.Type != nil
	}
	return 0, false
}

// declaration is the source of the file with the variable. It imports nothing, because the
// package may not either.
func (s *schema) declaration() []byte {
	return fmt.Appendf(nil, `package %s

var %[2]s_text = %[3]q

var %[2]s = func() (n int) {
	for _, digit := range %[2]s_text[len(%[2]q)+1:] {
		n = 10*n + int(digit-'0')
	}
	return n
}()
`, s.types.Name(), variable, undecided)
}

// changed returns the files of the package with the mutants.
func (s *schema) changed() map[string][]byte {
	changed := map[string][]byte{path.Join(s.dir, variable+".go"): s.declaration()}
	for name := range s.files {
		changed[name] = s.write(name).out.Bytes()
	}
	return changed
}

// settle moves mutants that break the build to their next hosts. It reports whether there were any.
func (s *schema) settle() bool {
	wrong := map[int]bool{}
	files := map[string]*ast.File{}
	blame := func(p token.Position) {
		for _, number := range s.write(p.Filename).at(p.Offset) {
			wrong[number] = true
		}
	}
	for name, source := range s.changed() {
		f, err := parser.ParseFile(s.set, name, source, parser.SkipObjectResolution)
		if list := (scanner.ErrorList{}); errors.As(err, &list) {
			blame(list[0].Pos)
		}
		files[name] = f
	}
	if len(wrong) == 0 {
		config := types.Config{Importer: s.from, Error: func(err error) {
			if e := (types.Error{}); errors.As(err, &e) {
				blame(s.set.Position(e.Pos))
			}
		}}
		_, _ = config.Check(s.dir, s.set, slices.Collect(maps.Values(files)), nil)
	}
	for number := range wrong {
		s.hosts[number-1] = s.hosts[number-1][1:]
	}
	return len(wrong) > 0
}

// write writes one file.
func (s *schema) write(name string) *writer {
	numbers := map[host][]int{}
	for i, m := range s.mutants {
		if m.file == name && !s.alone(i+1) {
			numbers[s.hosts[i][0]] = append(numbers[s.hosts[i][0]], i+1)
		}
	}
	var sites []site
	for host, numbers := range numbers {
		sites = append(sites, site{host, s.offset(host.node.Pos()), s.offset(host.node.End()), numbers})
	}
	// A statement may be nothing but an expression.
	slices.SortFunc(sites, func(a, b site) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), cmp.Compare(b.kind, a.kind))
	})
	w := &writer{schema: s, source: s.sources[name]}
	w.copy(0, len(w.source), sites)
	return w
}

// writer writes a file with mutants.
type writer struct {
	*schema
	source  []byte
	out     bytes.Buffer
	regions []region // the inner ones first
}

// site is a host in a file, with the numbers of its mutants.
type site struct {
	host
	start, end int
	numbers    []int
}

// region is a part of what was written that is there because of some mutants.
type region struct {
	start, end int
	numbers    []int
}

// at returns the mutants that may be the reason for an error at an offset: all of them, if
// it is in none.
func (w *writer) at(offset int) (numbers []int) {
	for _, r := range w.regions {
		if r.start <= offset && offset < r.end {
			return r.numbers
		}
	}
	for i := range w.mutants {
		if !w.alone(i + 1) {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// because writes text that is there because of some mutants.
func (w *writer) because(numbers []int, text func()) {
	start := w.out.Len()
	text()
	w.regions = append(w.regions, region{start, w.out.Len(), numbers})
}

// copy copies a part of the source with the sites in it, which are in source order and the
// outer ones first.
func (w *writer) copy(from, to int, sites []site) {
	for len(sites) > 0 {
		s := sites[0]
		after := slices.IndexFunc(sites, func(other site) bool { return other.start >= s.end })
		if after < 0 {
			after = len(sites)
		}
		w.out.Write(w.source[from:s.start])
		w.because(s.numbers, func() { w.site(s, sites[1:after]) })
		from, sites = s.end, sites[after:]
	}
	w.out.Write(w.source[from:to])
}

// site writes the choice between the original text and the mutants.
func (w *writer) site(s site, inner []site) {
	original := func() { w.copy(s.start, s.end, inner) }
	switch s.kind {
	case condition:
		w.condition(s, original)
	case value:
		fmt.Fprintf(&w.out, "func() %s { ", w.typeName(types.Default(w.info.TypeOf(s.node.(ast.Expr)))))
		w.statement(s, "return ", original)
		w.out.WriteString(" }()")
	case statement:
		w.statement(s, "", original)
	case body:
		w.out.WriteString("{ ")
		w.statement(s, "", original)
		w.out.WriteString(" }")
	}
}

func (w *writer) condition(s site, original func()) {
	w.out.WriteString("(")
	for _, number := range s.numbers {
		fmt.Fprintf(&w.out, "%s == %d && (", variable, number)
		w.mutant(s, number)
		w.out.WriteString(") || ")
	}
	for _, number := range s.numbers {
		fmt.Fprintf(&w.out, "%s != %d && ", variable, number)
	}
	w.out.WriteString("(")
	original()
	w.out.WriteString("))")
}

func (w *writer) statement(s site, keyword string, original func()) {
	for _, number := range s.numbers {
		fmt.Fprintf(&w.out, "if %s == %d { %s", variable, number, keyword)
		w.mutant(s, number)
		w.out.WriteString(" } else ")
	}
	w.out.WriteString("{ " + keyword)
	original()
	w.out.WriteString(" }")
}

// mutant writes the text of a site with one of its mutants.
func (w *writer) mutant(s site, number int) {
	m := w.mutants[number-1]
	w.because([]int{number}, func() {
		w.out.Write(w.source[s.start:m.start])
		w.out.WriteString(m.new)
		w.out.Write(w.source[m.end:s.end])
	})
}
