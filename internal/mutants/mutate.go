package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one change of the source: the text between two offsets of a file is replaced.
type mutant struct {
	file       string // below the module's root
	in         string // the function, or "" outside any
	start, end int
	old, new   string
	line       int
	nth        int // number among equal ones in a function, from 1
}

// String returns the name of the mutant in survivors.txt. It has no line number, so that it
// stays the same when the code around it changes.
func (m mutant) String() string {
	again := ""
	if m.nth > 1 {
		again = fmt.Sprintf(" (%d)", m.nth)
	}
	return fmt.Sprintf("%s %s%s: %s => %s", m.file, cmp.Or(m.in, "-"), again, oneLine(m.old), cmp.Or(oneLine(m.new), "nothing"))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (m mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.start], []byte(m.new), source[m.end:])
}

// mutants returns all mutants of the package, in source order.
func (p *pkg) mutants() []mutant {
	var all []mutant
	for _, name := range p.wanted {
		f := finder{pkg: p, file: name, unseen: map[*ast.BasicLit]bool{}}
		f.walk(p.files[name])
		all = append(all, f.found...)
	}
	return all
}

// finder finds the mutants of one file.
type finder struct {
	*pkg
	file  string
	in    string
	found []mutant
	// unseen are functions whose numeric arguments do not affect the result.
	unseen map[*ast.BasicLit]bool
}

func (f *finder) walk(file *ast.File) {
	for _, d := range file.Decls {
		f.in = ""
		if fn, ok := d.(*ast.FuncDecl); ok {
			f.in = functionName(fn)
		}
		ast.PreorderStack(d, nil, func(n ast.Node, around []ast.Node) bool {
			f.node(n, around)
			return true
		})
	}
}

func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	return t.(*ast.Ident).Name + "." + fn.Name.Name
}

// results returns those of the innermost function around a node.
func (f *finder) results(around []ast.Node) *types.Tuple {
	for _, n := range slices.Backward(around) {
		switch n := n.(type) {
		case *ast.FuncDecl:
			return f.info.Defs[n.Name].Type().(*types.Signature).Results()
		case *ast.FuncLit:
			return f.info.TypeOf(n).(*types.Signature).Results()
		}
	}
	return nil
}

// swapped maps operators to their replacements.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.OR: token.AND, token.AND: token.OR,
}

// node finds what can be changed at a node itself.
func (f *finder) node(n ast.Node, around []ast.Node) {
	parent := ast.Node(nil)
	if len(around) > 0 {
		parent = around[len(around)-1]
	}
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond)
		f.replace(n.Cond, "true || "+f.operand(n.Cond))
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.CaseClause:
		if s, ok := around[len(around)-2].(*ast.SwitchStmt); ok && s.Tag == nil {
			for _, c := range n.List {
				f.condition(c)
			}
		}
	case *ast.BinaryExpr:
		if decides(n, parent) && (n.Op == token.EQL || n.Op == token.NEQ) || f.isText(n) || f.info.Types[n].Value != nil && n.Op != token.OR {
			return
		}
		if op, ok := swapped[n.Op]; ok {
			f.replace(n, f.text(n.X)+" "+op.String()+" "+f.text(n.Y))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT && !decides(n, parent) {
			f.replace(n, f.text(n.X))
		}
	case *ast.BasicLit:
		if n.Kind == token.INT && !isCapacity(n, parent) && !f.isDuration(parent) && !f.unseen[n] {
			f.replace(n, n.Value+"+1")
		}
	case *ast.CompositeLit:
		f.elements(n)
	case *ast.ReturnStmt:
		f.returned(n, f.results(around))
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		f.replace(n, "")
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			f.replace(n, "")
		}
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			f.replace(n, "")
		}
	}
}

// condition makes a condition always false. It stays in the source for variables that are
// used nowhere else.
func (f *finder) condition(c ast.Expr) { f.replace(c, "false && "+f.operand(c)) }

// decides reports whether an expression alone decides a statement. Negating it tests no
// more than making it always true or false.
func decides(e ast.Expr, parent ast.Node) bool {
	switch p := parent.(type) {
	case *ast.IfStmt:
		return p.Cond == e
	case *ast.ForStmt:
		return p.Cond == e
	case *ast.CaseClause:
		return true
	}
	return false
}

// isText reports whether an operation joins strings.
func (f *finder) isText(n *ast.BinaryExpr) bool {
	b, ok := f.info.TypeOf(n).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// isCapacity reports whether a number is the third argument of make: nothing depends on it.
func isCapacity(n ast.Expr, parent ast.Node) bool {
	call, ok := parent.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 || call.Args[2] != n {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "make"
}

// isDuration reports whether a number counts units of time, as in 30 * time.Second. A test
// that would notice one unit more would have to wait for it.
func (f *finder) isDuration(parent ast.Node) bool {
	product, ok := parent.(*ast.BinaryExpr)
	if !ok || product.Op != token.MUL {
		return false
	}
	unit, ok := product.Y.(*ast.SelectorExpr)
	return ok && f.text(unit.X) == "time"
}

// besideError reports whether a value is returned with an error: then it is not used.
func (f *finder) besideError(n *ast.ReturnStmt, results *types.Tuple) bool {
	last := len(n.Results) - 1
	return last > 0 && last < results.Len() && types.Identical(results.At(last).Type(), types.Universe.Lookup("error").Type()) && f.text(n.Results[last]) != "nil"
}

// number returns the literal of an expression, with or without a sign.
func number(e ast.Expr) *ast.BasicLit {
	if sign, ok := e.(*ast.UnaryExpr); ok {
		e = sign.X
	}
	n, _ := e.(*ast.BasicLit)
	return n
}

// elements removes each element of a table.
func (f *finder) elements(n *ast.CompositeLit) {
	switch f.info.TypeOf(n).Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map:
	default:
		return
	}
	for i, e := range n.Elts {
		end := n.Rbrace
		if i+1 < len(n.Elts) {
			end = n.Elts[i+1].Pos()
		}
		f.add(e.Pos(), end, f.between(e.Pos(), e.End()), "")
	}
}

// returned returns different values.
func (f *finder) returned(n *ast.ReturnStmt, results *types.Tuple) {
	if len(n.Results) != results.Len() { // it has named results, or returns those of a call
		return
	}
	for i, e := range n.Results {
		t := results.At(i).Type()
		if literal := number(e); literal != nil && f.besideError(n, results) {
			f.unseen[literal] = true
			continue
		}
		if b, ok := t.Underlying().(*types.Basic); ok && b.Kind() == types.Bool {
			if binary, ok := e.(*ast.BinaryExpr); !ok || binary.Op == token.LAND || binary.Op == token.LOR {
				f.replace(e, strings.TrimPrefix("!"+f.operand(e), "!!"))
			}
			continue
		}
		if zero := f.zero(t); zero != f.text(e) && zero != "" {
			f.replace(e, zero)
		}
	}
}

// zero returns the zero value of a type as source; "" for a type parameter.
func (f *finder) zero(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	case *types.Struct, *types.Array:
		return f.typeName(t) + "{}"
	case *types.Interface:
		if _, generic := t.(*types.TypeParam); generic {
			return ""
		}
	}
	return "nil"
}

func (f *finder) replace(n ast.Node, text string) { f.add(n.Pos(), n.End(), f.text(n), text) }

func (f *finder) add(from, to token.Pos, old, text string) {
	m := mutant{file: f.file, in: f.in, start: f.offset(from), end: f.offset(to), old: old, new: text, line: f.set.Position(from).Line, nth: 1}
	for _, other := range f.found {
		if other.start == m.start && other.end == m.end && other.new == m.new {
			return
		}
		if other.in == m.in && oneLine(other.old) == oneLine(m.old) && oneLine(other.new) == oneLine(m.new) {
			m.nth++
		}
	}
	f.found = append(f.found, m)
}

func (f *finder) text(n ast.Node) string { return f.between(n.Pos(), n.End()) }

// operand formats an expression as an operand.
func (f *finder) operand(e ast.Expr) string {
	if _, ok := e.(*ast.BinaryExpr); ok {
		return "(" + f.text(e) + ")"
	}
	return f.text(e)
}

func (f *finder) between(from, to token.Pos) string {
	return string(f.sources[f.file][f.offset(from):f.offset(to)])
}
