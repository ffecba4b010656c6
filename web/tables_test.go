package web

import (
	"fmt"
	"html/template"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/server"
)

// Workflows of the same name in two projects are two rows that say whose they are, only those with a page are links, and
// what is left out is counted.
func TestUsageTables(t *testing.T) {
	rows := []server.Usage{{Project: "a", Workflow: "same", Run: "r", CostUSD: 3}, {Project: "b", Workflow: "same", Run: "r", CostUSD: 2}, {Project: "b", Workflow: "plan", CostUSD: 1}}
	for i := range mostParts {
		rows = append(rows, server.Usage{Project: "b", Workflow: fmt.Sprint("w", i)})
	}
	byWorkflow := tables(rows, map[[2]string]bool{{"a", "same"}: true}, true)[2]
	for i, want := range []part{{Name: "same", Project: "a", Path: "/projects/a/workflows/same"}, {Name: "same", Project: "b"}, {Name: "plan", Project: "b"}} {
		if got := byWorkflow.Rows[i]; got.Name != want.Name || got.Project != want.Project || got.Path != want.Path {
			t.Errorf("row %d: %+v, want %+v", i, got, want)
		}
	}
	if byWorkflow.More != 3 || len(byWorkflow.Rows) != mostParts {
		t.Errorf("%d rows, and %d more", len(byWorkflow.Rows), byWorkflow.More)
	}
	if one := tables(rows[:1], nil, false)[2].Rows[0]; one.Project != "" {
		t.Errorf("the only project is named: %+v", one)
	}
	for text, want := range map[string]string{"=x": "'=x", "@x": "'@x", "x=": "x=", "": ""} {
		if got := cell(text); got != want {
			t.Errorf("cell(%q) = %q, want %q", text, got, want)
		}
	}
}

// Runs of several projects say whose they are.
func TestRunsOfSeveralProjects(t *testing.T) {
	s := &site{Server: &server.Server{}}
	page := template.Must(template.New("").Funcs(s.functions()).ParseFS(templates, "templates/parts.html"))
	runs := []server.RunLine{{Project: "shop", ID: "hello-1", Workflow: "hello"}}
	for _, several := range []bool{false, true} {
		var text strings.Builder
		if err := page.ExecuteTemplate(&text, "runs", []any{runs, several}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), `<span class="note">shop</span>`) != several {
			t.Errorf("several: %t:\n%s", several, text.String())
		}
	}
}
