package lazy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// An invalid expression panics only when it is used, so all of them are compiled here.
func TestExpressionsAreValid(t *testing.T) {
	compiled := 0
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Regexp" {
				return true
			} else if from, ok := f.X.(*ast.Ident); !ok || from.Name != "lazy" {
				return true
			}
			if text, ok := constant(call.Args[0]); ok {
				compiled++
				if _, err := regexp.Compile(text); err != nil {
					t.Errorf("%s: %v", fset.Position(call.Pos()), err)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || compiled < 50 {
		t.Errorf("%d expressions, %v", compiled, err)
	}
}

// constant returns the value of a string that is written in place.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		a, ok := constant(e.X)
		b, too := constant(e.Y)
		return a + b, ok && too
	}
	return "", false
}
