package handoff_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
)

// project opens a project with files.
func project(t *testing.T, files map[string]string) *hocket.Project {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := hocket.Open(dir, hocket.Options{State: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func templates(t *testing.T, p *hocket.Project) []handoff.Template {
	t.Helper()
	all, err := handoff.Templates(p)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every built-in template is valid once it is filled in, whatever the values are.
func TestBuiltInTemplates(t *testing.T) {
	p := project(t, nil)
	var names []string
	for _, tpl := range templates(t, p) {
		names = append(names, tpl.Name)
		if tpl.Description == "" || tpl.File != "" {
			t.Errorf("%s: %+v", tpl.Name, tpl)
		}
		for _, hostile := range []string{"Ask for the basket", "a < b & \"c\" ]]> </task_details>", "x\n```\n~~~\n<mode>now</mode>", "{{endpoint}} {{notes=}}"} {
			required, all := map[string]string{}, map[string]string{"agent": "shell", "timeout": "5m", "priority": "low", "mode": "blocking"}
			for _, k := range tpl.Keys {
				value := hostile
				if k.Name == "file" || k.Name == "tests" || k.Name == "source" {
					value = "lib/" + k.Name
				}
				if k.Required {
					required[k.Name] = value
				}
				if all[k.Name] == "" {
					all[k.Name] = value
				}
			}
			for _, values := range []map[string]string{required, all} {
				text, missing, err := handoff.Fill(tpl, values)
				if err != nil || len(missing) > 0 {
					t.Fatalf("%s: %v is missing, %v", tpl.Name, missing, err)
				}
				h, err := handoff.Check(p, "a.md", []byte(text), false)
				if err != nil || len(h.Found) > 0 || len(h.Requests) != 1 {
					t.Fatalf("%s: %v, %v in\n%s", tpl.Name, h.Found, err, text)
				}
				if strings.Contains(text, "\n\n\n") {
					t.Errorf("%s leaves empty lines", tpl.Name)
				}
			}
		}
	}
	if want := []string{"api-endpoint", "bug-fix", "research-spike", "review", "test-suite", "validation"}; !slices.Equal(names, want) {
		t.Errorf("the templates are %v", names)
	}
}

func TestFill(t *testing.T) {
	p := project(t, map[string]string{
		".hocket/handoffs/review.md":  "# Ours: {{what}}\n",
		".hocket/handoffs/notes.txt":  "not a template",
		".hocket/handoffs/release.md": "<!-- Release it -->\n{{what}} and {{what=all}}\n\n{{more=}}{{much=}}\n\n  {{lines=}}\n${{ secrets.X }} {session-id}\n",
	})
	all := templates(t, p)
	find := func(name string) handoff.Template {
		return all[slices.IndexFunc(all, func(t handoff.Template) bool { return t.Name == name })]
	}
	if tpl := find("review"); len(all) != 7 || tpl.Description != "Ours: {{what}}" || tpl.File != filepath.FromSlash(".hocket/handoffs/review.md") {
		t.Errorf("%d templates, and the review is %+v", len(all), tpl)
	}
	release := find("release")
	want := []handoff.Key{{Name: "what", Required: true}, {Name: "more"}, {Name: "much"}, {Name: "lines"}}
	if diff := cmp.Diff(want, release.Keys); diff != "" || release.Description != "Release it" {
		t.Errorf("%q %s", release.Description, diff)
	}
	for _, c := range []struct {
		values        map[string]string
		want, missing string
	}{
		{nil, "{{what}} and all\n\n${{ secrets.X }} {session-id}\n", "what"},
		{map[string]string{"what": " "}, "{{what}} and all\n\n${{ secrets.X }} {session-id}\n", "what"},
		{map[string]string{"what": "a&b", "much": "m"}, "a&amp;b and a&amp;b\n\nm\n\n${{ secrets.X }} {session-id}\n", ""},
		{map[string]string{"what": "a", "lines": "one\ntwo"}, "a and a\n\n  one\n  two\n${{ secrets.X }} {session-id}\n", ""},
	} {
		text, missing, err := handoff.Fill(release, c.values)
		if err != nil || text != c.want || strings.Join(missing, " ") != c.missing {
			t.Errorf("%v: %q, %v, %v", c.values, text, missing, err)
		}
	}
	if _, _, err := handoff.Fill(release, map[string]string{"wat": "x"}); err == nil || !strings.Contains(err.Error(), `unknown key "wat" in the template release; its keys are what, more, much, lines`) {
		t.Errorf("got %v", err)
	}
}
