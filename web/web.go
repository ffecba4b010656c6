package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/server"
)

//go:embed templates
var templates embed.FS

//go:embed static
var static embed.FS

// site renders the pages of a server.
type site struct {
	*server.Server
	pages    map[string]*template.Template
	drawings recent[string, *draw.Picture] // all runs of a workflow share one, and show their states in it
	sources  recent[sourceKey, written]
	abouts   recent[string, about] // of open questions
	assets   string                // where the static files are; a new version has another address
}

//go:generate sh -c "NODE_PATH=editor/vendor go tool esbuild editor/editor.js --bundle --format=esm --minify --target=es2022 --legal-comments=none --log-level=warning | gzip -9n > static/editor.js.gz"

// Add adds the pages to a server.
func Add(s *server.Server, add server.AddPage) {
	w := &site{Server: s, pages: map[string]*template.Template{}, assets: assetsPath()}
	w.drawings.most, w.sources.most, w.abouts.most = 16, 16, mostCards
	names, _ := fs.Glob(templates, "templates/*.html") // the pattern is valid
	for _, name := range names {
		if base := path.Base(name); base != "base.html" && base != "parts.html" {
			w.pages[strings.TrimSuffix(base, ".html")] = template.Must(template.New("base.html").Funcs(w.functions()).ParseFS(templates, "templates/base.html", "templates/parts.html", name))
		}
	}
	add("GET "+w.assets+"{name}", server.Read, w.asset)
	add("GET /{$}", server.Read, w.show("home", w.home))
	add("GET /inbox", server.Read, w.show("inbox", w.inbox))
	add("GET /usage", server.Read, w.show("usage", w.usage))
	add("GET /usage.csv", server.Read, w.usageCSV)
	add("GET /projects/{project}", server.Read, w.show("project", w.project))
	add("GET /projects/{project}/workflows/{name}", server.Read, w.show("workflow", w.workflow))
	add("GET /projects/{project}/new", server.Read, w.show("edit", w.create))
	add("POST /projects/{project}/new", server.Admin, w.save)
	add("GET /projects/{project}/workflows/{name}/edit", server.Read, w.show("edit", w.edit))
	add("POST /projects/{project}/workflows/{name}/edit", server.Admin, w.save)
	add("POST /projects/{project}/preview", server.Read, w.previewText)
	add("POST /projects/{project}/workflows/{name}/start", server.Start, w.start)
	add("GET /projects/{project}/handoffs", server.Read, w.show("handoffs", w.handoffs))
	add("POST /projects/{project}/handoffs", server.Start, w.sendHandoff)
	add("GET /projects/{project}/handoffs/new", server.Read, w.show("handoff", w.newHandoff))
	add("POST /projects/{project}/handoffs/preview", server.Read, w.previewHandoff)
	add("GET /projects/{project}/definitions/{id}", server.Read, w.show("review", w.review))
	add("POST /projects/{project}/definitions/{id}/approve", server.Admin, w.do(w.approve))
	add("POST /projects/{project}/definitions/{id}/reject", server.Admin, w.do(w.reject))
	add("GET /projects/{project}/trust", server.Read, w.show("trust", w.trust))
	add("POST /projects/{project}/trust", server.Admin, w.do(w.giveTrust))
	add("GET /projects/{project}/runs/{run}", server.Read, w.show("run", w.run))
	add("GET /projects/{project}/runs/{run}/change", server.Read, w.show("change", w.reviewChange))
	add("GET /projects/{project}/runs/{run}/changes", server.Read, w.show("changes", w.changes))
	add("POST /projects/{project}/runs/{run}/answer", server.Answer, w.do(w.answer))
	add("POST /projects/{project}/runs/{run}/answer-and-continue", server.Start, w.do(w.answerLeft))
	add("POST /projects/{project}/runs/{run}/cancel", server.Start, w.do(w.cancel))
	add("POST /projects/{project}/runs/{run}/resume", server.Start, w.do(w.resume))
	add("POST /projects/{project}/runs/{run}/retry", server.Start, w.do(w.retry))
	add("POST /projects/{project}/runs/{run}/raise", server.Admin, w.do(w.raise))
	add("POST /projects/{project}/runs/{run}/delete", server.Admin, w.do(w.delete))
}

// assetsPath returns a path that depends on the static files, so that browsers can keep them for ever.
func assetsPath() string {
	sum := sha256.New()
	_ = fs.WalkDir(static, ".", func(name string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			text, _ := static.ReadFile(name) // embedded
			sum.Write(text)
		}
		return nil
	})
	return "/assets/" + hex.EncodeToString(sum.Sum(nil))[:12] + "/"
}

var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func (s *site) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := assetTypes[path.Ext(name)]
	text, err := static.ReadFile("static/" + name)
	packed, unpacked := static.ReadFile("static/" + name + ".gz")
	if kind == "" || err != nil && unpacked != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	if unpacked == nil {
		sendPacked(w, r, kind, packed)
		return
	}
	send(w, r, http.StatusOK, kind, text)
}

// view is what the templates show.
type view struct {
	Title  string
	Assets string
	Here   string // the path of the page
	Back   string // where a form is that could not be sent, or ""
	Once   bool   // the page is not at its address, such as the answer to a form
	Frame  frame
	Part   string // what a module asked for; "": the whole page
	Data   any
}

// frame is what every page shows.
type frame struct {
	Projects []string
	Project  string // of the page, or ""
	Waiting  int    // questions, approvals and projects without trust
	Running  int
}

// show is a handler that renders a page. load returns its title and its data.
func (s *site) show(name string, load func(r *http.Request) (string, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		title, data, err := load(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.render(w, r, http.StatusOK, name, title, data)
	}
}

func (s *site) render(w http.ResponseWriter, r *http.Request, status int, name, title string, data any) {
	v := view{Title: title, Assets: s.assets, Here: r.URL.Path, Back: formPage(r), Once: r.Method == http.MethodPost || name == "problem", Part: r.URL.Query().Get("part"), Data: data}
	var err error
	if v.Frame, err = s.frame(r.Context(), r.PathValue("project")); err != nil && name != "problem" {
		s.fail(w, r, err)
		return
	}
	var page bytes.Buffer // so that an error does not leave half a page
	if err := s.pages[name].Execute(&page, v); err != nil {
		http.Error(w, s.Explain(r.Context(), err).Detail, http.StatusInternalServerError)
		return
	}
	send(w, r, status, "text/html; charset=utf-8", reveal(page.Bytes()))
}

func (s *site) frame(ctx context.Context, project string) (frame, error) {
	f := frame{Projects: s.Names(), Project: project}
	counts, err := s.Count(ctx, time.Now())
	f.Running, f.Waiting = counts.Active, counts.Questions+len(s.proposals(ctx))+len(s.Untrusted())
	return f, err
}

// fail shows an error as a page.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.Explain(r.Context(), err)
	s.render(w, r, p.Status, "problem", p.Title, p)
}

// formPage returns the page of the form that was sent: the address of what a form does is below that of its page.
func formPage(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	return back(r, path.Dir(r.URL.Path))
}

// do is a handler of a form. act returns where the browser goes next.
func (s *site) do(act func(r *http.Request) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(w, "the form could not be read", http.StatusBadRequest)
			return
		}
		next, err := act(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		http.Redirect(w, r, next, http.StatusSeeOther)
	}
}

// back returns the page that a form was on.
func back(r *http.Request, otherwise string) string {
	if to := r.PostForm.Get("back"); strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\r\n") {
		return to
	}
	return otherwise
}

func inRun(r *http.Request) *server.InRun {
	return &server.InRun{InProject: server.InProject{Project: r.PathValue("project")}, Run: r.PathValue("run")}
}

func projectPath(project string) string { return "/projects/" + url.PathEscape(project) }

func runPath(project, run string) string {
	return projectPath(project) + "/runs/" + url.PathEscape(run)
}

func workflowPath(project, name string) string {
	return projectPath(project) + "/workflows/" + url.PathEscape(name)
}

// newKey returns a key for a form that starts something.
func newKey() string {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	return hex.EncodeToString(key)
}
