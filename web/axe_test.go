package web_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axe returns the source of axe-core, which looks for what keeps people from using a page.
func axe(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOCKET_AXE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skip(err)
		}
		dir = filepath.Join(cache, "hocket-axe")
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Skip("axe-core is not installed; `make axe` or web/setup installs it")
	}
	return string(source)
}

// accessible has axe-core look at the page as it is.
func (b *tab) accessible(name, axe string) {
	b.t.Helper()
	// What opens is looked at, too.
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach((d) => (d.open = true)); ` + axe + ";undefined"))
	for _, one := range eval[[]string](b, `axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.impact + " " + v.id + ": " + n.target.join(" ") + " " + n.html.slice(0, 140) + " " + (n.any[0]?.message ?? ""))))`) {
		b.t.Errorf("%s: %s", name, one)
	}
}

// TestAccessible looks at every page.
func TestAccessible(t *testing.T) {
	source := axe(t)
	more := hostileFiles() // have an agent with a transcript, and a workflow that a model wrote
	more[".hocket/triggers/nightly.yml"] = "workflow: hello\nschedule: \"0 3 * * *\"\nzone: Europe/Berlin\n"
	more[".hocket/triggers/wrong.yml"] = "workflow: helo\nafter: hello\n"
	more[".hocket/agents/helper.yml"] = "name: helper\nagent: paid\n"
	f := newFixture(t, more)
	done, wide, broken, said := f.begin("hello"), f.begin("release"), f.begin("broken"), f.begin("bad")
	f.until(done, "success")
	f.until(wide, "waiting")
	f.until(broken, "error")
	f.until(said, "waiting")
	if res, err := f.client().PostForm(f.base+"/projects/shop/handoffs", url.Values{"summary": {"Check the shop"}, "intent": {"It must work"}, "details": {"Look"}, "decisions": {"Is it good?"}, "agent": {"helper"}, "mode": {"spawn"}, "workflow": {"standard"}, "priority": {"high"}}); err != nil || res.StatusCode >= 400 {
		t.Fatal(res, err)
	}
	b := f.tab()
	run := func(id, step string) string { return "/projects/shop/runs/" + id + "?step=" + step }
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for _, path := range []string{
			"/", "/inbox", "/usage", "/projects/none", "/projects/shop", "/projects/shop/trust", "/projects/shop/handoffs", "/projects/shop/handoffs/new", "/projects/shop/definitions/tidy",
			"/projects/shop/workflows/hello", "/projects/shop/workflows/wrong", "/projects/shop/workflows/hello/edit", "/projects/shop/new",
			run(wide.ID(), "check"), run(broken.ID(), "bad"), run(done.ID(), "greet"), run(said.ID(), "work"),
		} {
			b.open(path)
			if strings.HasSuffix(path, "/edit") || strings.HasSuffix(path, "/new") && !strings.Contains(path, "handoffs") {
				b.wait(editor)
			}
			b.accessible(theme+" "+path, source)
		}
	}
}
