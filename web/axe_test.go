package web_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAccessible has axe-core look for what keeps people from using the pages.
func TestAccessible(t *testing.T) {
	dir := os.Getenv("HOCKET_AXE")
	if dir == "" {
		t.Skip("HOCKET_AXE is not set; `make axe` installs axe-core")
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, nil)
	wide, broken := f.begin("release"), f.begin("broken")
	f.until(wide, "waiting")
	f.until(broken, "error")
	b := f.tab()
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for _, path := range []string{"/", "/inbox", "/usage", "/projects/shop", "/projects/shop/workflows/hello", "/projects/shop/workflows/wrong", "/projects/shop/workflows/hello/edit", "/projects/shop/new", "/projects/shop/runs/" + wide.ID() + "?step=check", "/projects/shop/runs/" + broken.ID() + "?step=bad"} {
			b.open(path)
			b.do(chromedp.Evaluate[chromedp.Void](string(source) + ";undefined"))
			v, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`axe.run().then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.impact + " " + v.id + ": " + n.target.join(" ") + " " + n.html.slice(0, 140) + " " + (n.any[0]?.message ?? ""))))`, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range v {
				t.Errorf("%s %s: %s", theme, path, one)
			}
		}
	}
}
