package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// apiPath is the prefix of all paths of the API.
const apiPath = "/api"

// api collects the operations.
type api struct {
	*Server
	huma.API
}

// setErrors makes the library report invalid requests as [Problem]. It only has global variables
// for that.
var setErrors = sync.OnceFunc(func() {
	huma.NewError = invalidRequest
	huma.DefaultArrayNullable = false
})

func (s *Server) addAPI(mux *http.ServeMux) {
	setErrors()
	c := huma.DefaultConfig("Hocket", s.version)
	c.Info.Description = "Workflows of agents, tools and people: read, check, convert and run them, and answer their questions."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.CreateHooks = nil // no links to schemas in responses
	c.RejectUnknownQueryParameters = true
	// Unlike that of the library, this one escapes what HTML gives a meaning.
	format := huma.Format{Unmarshal: json.Unmarshal, Marshal: func(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "A token of `hocket serve token`."},
		"session": {Type: "apiKey", In: "cookie", Name: "hocket-PORT", Description: "The session of a browser. Requests that change something need the origin of this server."},
	}
	a := &api{s, humago.NewWithPrefix(mux, apiPath, c)}
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
	document := sync.OnceValues(func() ([]byte, error) { return a.OpenAPI().MarshalJSON() })
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
	h := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Description: o.detail, DefaultStatus: o.status, Tags: []string{o.tag},
		Errors:       append([]int{http.StatusUnauthorized, http.StatusForbidden}, o.errors...),
		Security:     []map[string][]string{{"token": {string(o.scope)}}, {"session": {}}},
		MaxBodyBytes: maxBody, BodyReadTimeout: bodyTimeout,
	}
	if o.stream != "" {
		h.Responses = map[string]*huma.Response{"200": {Description: o.stream, Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	}
	if o.returns != nil {
		schema := a.OpenAPI().Components.Schemas.Schema(o.returns, true, "")
		h.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}}
	}
	h.Middlewares = huma.Middlewares{func(c huma.Context, next func(huma.Context)) {
		if who := callerOf(c.Context()); !who.allows(o.scope) {
			_, w := humago.Unwrap(c)
			fail(w, noScope(who, o.scope))
			return
		}
		next(c)
	}}
	huma.Register(a.API, h, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, a.problemOf(ctx, err)
		}
		return out, nil
	})
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

// page is a part of a list. Lists are read with cursors, since numbers would shift while runs start.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page, absent on the last one"`
}

// Paged are the parameters of lists.
type Paged struct {
	Cursor string `query:"cursor" doc:"The value of next of the previous page" maxLength:"500"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

func cursorOf(last string) string { return base64.RawURLEncoding.EncodeToString([]byte(last)) }

func (p *Paged) after() (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil {
		return "", invalidRequest(http.StatusBadRequest, "invalid cursor: use the value of next of the previous page")
	}
	return string(text), nil
}
