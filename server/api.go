package server

import (
	"context"
	"encoding/base64"
	"net/http"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hocket-dev/hocket"
)

// apiPath is the prefix of all paths of the API.
const apiPath = "/api"

// api collects the operations.
type api struct {
	*Server
	mux      *http.ServeMux
	document *huma.OpenAPI
}

// setSchemas makes the library describe lists as lists that are never null. It only has a global
// variable for that.
var setSchemas = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

func (s *Server) addAPI(mux *http.ServeMux) {
	setSchemas()
	a := &api{s, mux, &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Hocket", Version: s.version,
			Description: "Workflows of agents, tools and people: read, check, convert and run them, and answer their questions."},
		Servers: []*huma.Server{{URL: apiPath}},
		Components: &huma.Components{
			Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token":   {Type: "http", Scheme: "bearer", Description: "A token of `hocket serve token`."},
				"session": {Type: "apiKey", In: "cookie", Name: "hocket-PORT", Description: "The session of a browser. Requests that change something need the origin of this server."},
			},
		},
	}}
	a.addProjects()
	a.addWorkflows()
	a.addRuns()
	a.addActions()
	a.addUsage()
	a.addQuestions()
	a.addStreams()
	a.addDefinitions()
	a.addTriggers()
	a.addBrowser(mux)
	document := sync.OnceValues(a.document.MarshalJSON)
	mux.HandleFunc("GET "+apiPath+"/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		text, err := document()
		if err != nil {
			fail(w, newProblem(http.StatusInternalServerError, "internal", err.Error()))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
}

// op describes an operation of the API.
type op struct {
	id, method, path string
	scope            Scope // that a token needs
	summary          string
	detail           string
	tag              string
	status           int   // zero: 200, or 204 without a body
	errors           []int // beside those that every operation has
	stream           string
	returns          reflect.Type // what a body that is encoded already has
}

// add adds an operation. The handler is called only if the caller may do it.
func add[I, O any](a *api, o op, handle func(ctx context.Context, in *I) (*O, error)) {
	a.add(o, reflect.TypeFor[I](), reflect.TypeFor[O](), func(ctx context.Context, in any) (any, error) { return handle(ctx, in.(*I)) })
}

func noScope(who *caller, scope Scope) *Problem {
	p := newProblem(http.StatusForbidden, "scope", "the token "+who.Name+" does not allow this")
	p.Hint = "it needs a token with the scope " + string(scope)
	return p
}

// InProject is the parameter of every operation on a project.
type InProject struct {
	Project string `path:"project" doc:"The name of the project" maxLength:"200"`
}

// reply is a response with a body.
type reply[T any] struct{ Body T }

func say[T any](body T) *reply[T] { return &reply[T]{body} }

// page is a part of a list. Lists that grow are read with cursors, since numbers would shift while runs start.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page, absent on the last one"`
}

// Paged are the parameters of lists.
type Paged struct {
	Cursor string `query:"cursor" doc:"The value of next of the previous page" maxLength:"4000"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// cursorOf returns the cursor of what comes after an entry, which is named by some words.
func cursorOf(last ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(last, "\x00")))
}

// after returns the words of the cursor, nil if there is none.
func (p *Paged) after(words int) ([]string, error) {
	if p.Cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	last := strings.Split(string(text), "\x00")
	if err != nil || len(last) != words || last[0] == "" || !utf8.Valid(text) {
		return nil, invalidCursor()
	}
	return last, nil
}

func invalidCursor() *Problem {
	p := invalidRequest(http.StatusBadRequest, "invalid cursor, or what it names was deleted")
	p.Hint = "use the value of next of the previous page, or begin again without a cursor"
	return p
}

// cursorError returns the error of a list that begins after a run.
func cursorError(err error, last []string) error {
	if last != nil && isA[*hocket.UnknownRunError](err) {
		return invalidCursor()
	}
	return err
}

// trim makes a page of a list that has one entry more than the limit, if there are more. name returns the words of an
// entry for the cursor.
func trim[T any](p *Paged, items []T, name func(T) []string) page[T] {
	out := page[T]{Items: append([]T{}, items[:min(p.Limit, len(items))]...)}
	if len(items) > p.Limit {
		out.Next = cursorOf(name(items[p.Limit-1])...)
	}
	return out
}

// part makes a page of a complete list, which is sorted by name.
func part[T any](p *Paged, all []T, name func(T) []string) (page[T], error) {
	last, err := p.after(len(name(*new(T))))
	if err != nil {
		return page[T]{}, err
	}
	first := sort.Search(len(all), func(i int) bool { return last == nil || slices.Compare(name(all[i]), last) > 0 })
	return trim(p, all[first:], name), nil
}
