package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/hocket-dev/hocket"
)

// allPages reads a list page by page, and returns the values of a field of its entries.
func (f *fixture) allPages(path, field string, limit int) (all []string) {
	f.t.Helper()
	for cursor := ""; ; {
		list := read[page[map[string]any]](f.t, f.want(http.StatusOK, "GET", path+fmt.Sprintf("?limit=%d&cursor=%s", limit, cursor), nil))
		if len(list.Items) > limit || len(list.Items) == 0 && cursor != "" {
			f.t.Errorf("%s: a page has %d entries", path, len(list.Items))
		}
		for _, item := range list.Items {
			all = append(all, fmt.Sprint(item[field]))
		}
		if cursor = list.Next; cursor == "" {
			return all
		}
	}
}

// Lists that grow are read in pages, which are complete and repeat nothing.
func TestPages(t *testing.T) {
	f := newFixture(t, map[string]string{
		".hocket/workflows/many.yml": "name: many\nexecution: parallel\nsteps:\n  - {id: a, human: {question: A}}\n  - {id: b, human: {question: B}}\n  - {id: c, human: {question: C}}\n",
	})
	f.carryOut()
	for i := range 3 {
		run := f.begin("many")
		f.until(run, "waiting")
		f.want(http.StatusCreated, "POST", f.path("/memories"), map[string]any{"text": fmt.Sprintf("fact %d", i)})
		f.want(http.StatusCreated, "POST", f.path("/handoffs"), map[string]string{"text": strings.Replace(aRequest, "first", fmt.Sprintf("s%d", i), 1)})
	}
	f.until(f.begin("hello"), "success")
	for _, c := range []struct {
		path, field string
		want        int
		sorted      func(a, b string) int
	}{
		{"/api/questions", "id", 9, nil},
		{f.path("/runs"), "run_id", 7, nil},
		{f.path("/usage"), "day", 0, nil}, // a shell costs nothing
		{f.path("/handoffs"), "session_id", 3, func(a, b string) int { return strings.Compare(b, a) }},
		{f.path("/sessions"), "session_id", 0, nil},
		{f.path("/memories"), "text", 3, func(a, b string) int { return strings.Compare(b, a) }},
	} {
		whole := f.allPages(c.path, c.field, 200)
		if len(whole) != c.want || c.sorted != nil && !slices.IsSortedFunc(whole, c.sorted) {
			t.Errorf("%s has %q, want %d", c.path, whole, c.want)
		}
		for limit := 1; limit <= 3; limit++ {
			if got := f.allPages(c.path, c.field, limit); !slices.Equal(got, whole) {
				t.Errorf("%s in pages of %d: %q, want %q", c.path, limit, got, whole)
			}
		}
	}
}

// A page of a complete list begins after the last entry of the one before, even if that is not there any more.
func TestPartOfUsage(t *testing.T) {
	rows := []Usage{{Day: "2026-11-17", Workflow: "a", Run: "a-1"}, {Day: "2026-11-17", Workflow: "a", Run: "a-2"}, {Day: "2026-11-17", Workflow: "b", Run: "b-1", Agent: "x"}, {Day: "2026-11-18", Workflow: "a", Run: "a-1"}}
	p := &Paged{Limit: 2}
	first, err := part(p, rows, Usage.key)
	if err != nil || !slices.Equal(first.Items, rows[:2]) {
		t.Fatalf("%+v, %v", first, err)
	}
	p.Cursor = first.Next
	for _, now := range [][]Usage{rows, slices.Concat(rows[:1], rows[2:])} {
		if next, err := part(p, now, Usage.key); err != nil || !slices.Equal(next.Items, rows[2:]) || next.Next != "" {
			t.Errorf("%+v, %v", next, err)
		}
	}
}

// A page of questions goes on where the last one ended, whatever was answered meanwhile.
func TestAnsweredBetweenPages(t *testing.T) {
	f := newFixture(t, nil)
	var runs []string
	for range 3 {
		runs = append(runs, f.begin("gated"))
		f.until(runs[len(runs)-1], "waiting")
	}
	first := read[page[Question]](t, f.want(http.StatusOK, "GET", "/api/questions?limit=1", nil))
	q := first.Items[0]
	f.want(http.StatusOK, "POST", f.path("/runs/"+q.Run+"/questions/approve/answer"), map[string]string{"value": "yes", "digest": q.Digest})
	f.until(q.Run, "success")
	next := read[page[Question]](t, f.want(http.StatusOK, "GET", "/api/questions?limit=1&cursor="+first.Next, nil))
	if len(next.Items) != 1 || next.Items[0].Run != runs[1] || next.Next == "" {
		t.Errorf("after %s comes %+v", runs[0], next)
	}
	f.want(http.StatusNoContent, "DELETE", f.path("/runs/"+q.Run), nil)
	problem := read[Problem](t, f.want(http.StatusBadRequest, "GET", "/api/questions?cursor="+first.Next, nil))
	if !strings.Contains(problem.Hint, "without a cursor") {
		t.Errorf("the problem is %+v", problem)
	}
}

// operations returns the paths of all operations that only read, with their parameters.
func (f *fixture) operations() (all []string) {
	var document struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(f.want(http.StatusOK, "GET", "/api/openapi.json", nil)), &document); err != nil {
		f.t.Fatal(err)
	}
	for path, methods := range document.Paths {
		o, ok := methods["get"]
		if !ok || path == "/events" || strings.HasSuffix(path, "/events") {
			continue
		}
		all = append(all, path)
		for _, p := range o.Parameters {
			if p.Name == "cursor" || p.Name == "after" {
				all = append(all, path+"?"+p.Name+"={value}")
			}
		}
	}
	slices.Sort(all)
	return all
}

// odd sends a value as each parameter of each operation that only reads. None may fail because of it, and what is said
// about it can be shown.
func (f *fixture) odd(operations []string, value string) {
	f.t.Helper()
	run := f.begin("hello")
	for _, o := range operations {
		for _, name := range []string{"{value}", "{project}", "{run}", "{name}", "{address}", "{attempt}", "{stream}", "{id}"} {
			if !strings.Contains(o, name) || strings.Contains(o, "{value}") != (name == "{value}") {
				continue
			}
			path := strings.NewReplacer(name, url.QueryEscape(value)).Replace(o)
			if name != "{value}" {
				path = strings.NewReplacer(name, url.PathEscape(value)).Replace(o)
			}
			path = strings.NewReplacer("{project}", f.name(), "{run}", run, "{name}", "hello", "{address}", "greet", "{attempt}", "1", "{stream}", "output", "{id}", "x").Replace(path)
			if strings.Contains(path, "//") || strings.Contains(path, "/./") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") {
				continue // another path
			}
			res := f.request("GET", "/api"+path, nil)
			var problem Problem
			err := json.NewDecoder(res.Body).Decode(&problem)
			if name == "{value}" && strings.Contains(o, "cursor") && res.StatusCode != http.StatusOK && res.StatusCode != http.StatusUnprocessableEntity && (res.StatusCode != http.StatusBadRequest || !strings.Contains(problem.Hint, "without a cursor")) {
				f.t.Errorf("%s with the cursor %q: status %d, %+v", o, value, res.StatusCode, problem)
			}
			if res.StatusCode >= 500 || res.StatusCode >= 400 && (err != nil || problem.Detail == "" || strings.ContainsFunc(problem.Detail, unicode.IsControl)) {
				f.t.Errorf("%s with %s %q: status %d, %+v (%v)", o, name, value, res.StatusCode, problem, err)
			}
		}
	}
}

var oddValues = []string{"AAAA", "eHl6", cursorOf("gone-1"), cursorOf("a\nb"), cursorOf("test", "gone-1", "x"), cursorOf("-1"), cursorOf("99999999999999999999"), cursorOf("\xff"), cursorOf("a", "b", "c", "d", "e"),
	"=", "\x00", "a\x00b", "..%2f", "%", "%00", "-1", "1.5", "\u202e", "\xff\xfe", "a b", "☃", strings.Repeat("x", 150), "' OR 1=1 --", "$'{", "[", "*"}

func TestOddParameters(t *testing.T) {
	f := newFixture(t, nil)
	all := f.operations()
	for _, value := range oddValues {
		f.odd(all, value)
	}
}

func FuzzParameters(f *testing.F) {
	for _, value := range oddValues {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > 200 {
			return
		}
		for _, words := range []int{1, 3, 5} {
			p := Paged{Cursor: value, Limit: 1}
			last, err := p.after(words)
			if err == nil && last != nil && cursorOf(last...) != value {
				t.Errorf("%q is read as %q, whose cursor is %q", value, last, cursorOf(last...))
			}
			p.Cursor = cursorOf(value, value, value)
			if last, err := p.after(3); err == nil && !slices.Equal(last, []string{value, value, value}) {
				t.Errorf("%q is read as %q", value, last)
			}
		}
		if id, err := hocket.ParseEventID(value); err == nil && id.String() == "" {
			t.Errorf("%q is an event without a name", value)
		}
		_, _ = url.ParseQuery(value)
	})
}
