package server

import (
	_ "embed"
	"html/template"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-dev/hocket/internal/sorted"
)

//go:embed browse.html
var browsePage string

// stylePath is the path of the style of the pages that the server has itself.
const stylePath = apiPath + "/browse.css"

//go:embed browse.css
var browseStyle []byte

// browseOperation is an operation on the page that describes the API.
type browseOperation struct {
	ID, Method, Path, Summary, Detail, Scope string
	Parameters                               []browseParameter
	Body                                     string // the name of its schema; "": none
}

type browseParameter struct {
	Name, In, Type, Detail string
	Required               bool
}

// addBrowser adds a page that describes the API, for people.
func (a *api) addBrowser(mux *http.ServeMux) {
	page := template.Must(template.New("browse").Parse(browsePage))
	mux.HandleFunc("GET "+apiPath+"/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := page.Execute(w, map[string]any{"Version": a.version, "Groups": a.groups()}); err != nil {
			a.log.Error("the page of the API could not be sent", "error", err)
		}
	})
	mux.HandleFunc("GET "+stylePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = w.Write(browseStyle)
	})
}

type browseGroup struct {
	Name       string
	Operations []browseOperation
}

// groups returns the operations by their tag, in the order of their paths.
func (a *api) groups() []browseGroup {
	byTag := map[string][]browseOperation{}
	for path, item := range a.document.Paths {
		for method, o := range map[string]*huma.Operation{"GET": item.Get, "PUT": item.Put, "POST": item.Post, "DELETE": item.Delete} {
			if o != nil {
				byTag[o.Tags[0]] = append(byTag[o.Tags[0]], browsed(method, path, o))
			}
		}
	}
	order := []string{"Projects", "Workflows", "Runs", "Questions", "Events", "Agents"} // what most look for; the others follow
	for _, tag := range sorted.Keys(byTag) {
		if !slices.Contains(order, tag) {
			order = append(order, tag)
		}
	}
	var groups []browseGroup
	for _, tag := range order {
		all := byTag[tag]
		sort.Slice(all, func(i, j int) bool { return all[i].Path+all[i].Method < all[j].Path+all[j].Method })
		groups = append(groups, browseGroup{tag, all})
	}
	return groups
}

func browsed(method, path string, o *huma.Operation) browseOperation {
	b := browseOperation{ID: o.OperationID, Method: method, Path: apiPath + path, Summary: o.Summary, Detail: o.Description, Scope: o.Security[0]["token"][0]}
	for _, p := range o.Parameters {
		one := browseParameter{Name: p.Name, In: p.In, Detail: p.Description, Required: p.Required}
		if p.Schema != nil {
			one.Type = p.Schema.Type
			var values []string
			for _, v := range p.Schema.Enum {
				if text, ok := v.(string); ok && text != "" {
					values = append(values, text)
				}
			}
			if len(values) > 0 {
				one.Type = strings.Join(values, ", ")
			}
		}
		b.Parameters = append(b.Parameters, one)
	}
	if o.RequestBody != nil {
		for _, m := range o.RequestBody.Content {
			b.Body = strings.TrimPrefix(m.Schema.Ref, "#/components/schemas/")
		}
	}
	return b
}
