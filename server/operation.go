package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
)

// A request is read into a struct: fields with the tag path, query or header are parameters, Body is
// the body. A response is a struct, too: fields with the tag header, and Body. The library makes
// schemas of the types, and checks values with them. Its own function for operations is generic, and
// the compiler copies its 20 kB for each pair of types, of which there are 45. So this is ours.

// parameter is a field of a request that is not in the body.
type parameter struct {
	name, in string
	initial  string // if it is absent
	required bool
	field    []int
	schema   *huma.Schema
}

// request knows how to read one kind of request.
type request struct {
	schemas huma.Registry
	kind    reflect.Type
	params  []parameter
	body    *huma.Schema // nil: none
}

// streamed is a response that a function writes.
type streamed struct {
	Body func(w http.ResponseWriter, r *http.Request)
}

// add describes an operation, whose requests and responses have the types in and out, and serves it.
func (a *api) add(o op, in, out reflect.Type, handle func(ctx context.Context, in any) (any, error)) {
	h := &huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, Description: o.detail, Tags: []string{o.tag},
		Security: []map[string][]string{{"token": {string(o.scope)}}, {"session": {}}},
	}
	schemas := a.document.Components.Schemas
	requests := describeRequest(h, schemas, in)
	status := describeResponse(h, schemas, o, out)
	failures := append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError}, o.errors...)
	if len(requests.params) > 0 || requests.body != nil {
		failures = append(failures, http.StatusUnprocessableEntity)
	}
	problem := schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, code := range failures {
		h.Responses[strconv.Itoa(code)] = &huma.Response{Description: http.StatusText(code), Content: map[string]*huma.MediaType{problemType: {Schema: problem}}}
	}
	a.document.AddOperation(h)
	a.mux.HandleFunc(o.method+" "+apiPath+o.path, func(w http.ResponseWriter, r *http.Request) {
		if who := callerOf(r.Context()); !who.allows(o.scope) {
			fail(w, noScope(who, o.scope))
			return
		}
		done, problem := a.admit(r)
		if problem != nil {
			refuse(w, problem)
			return
		}
		defer done()
		var text []byte
		if requests.body != nil {
			if text, problem = readBody(w, r); problem != nil {
				fail(w, problem)
				return
			}
		}
		out, err := a.inTurn(r.Context(), len(text), func() (any, error) {
			in, problem := requests.read(r, text)
			if problem != nil {
				return nil, problem
			}
			return handle(r.Context(), in)
		})
		if err != nil {
			fail(w, a.Explain(r.Context(), err))
			return
		}
		a.respond(w, r, status, reflect.ValueOf(out))
	})
}

// admit waits until the body of a request may be read. Only a few large ones are in memory at a time.
func (s *Server) admit(r *http.Request) (done func(), problem *Problem) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.ContentLength >= 0 && r.ContentLength <= largeBody {
		return func() {}, nil
	}
	select {
	case s.bodies <- struct{}{}:
		return func() { <-s.bodies }, nil
	case <-time.After(bodyWait):
	case <-r.Context().Done():
	}
	return nil, newProblem(http.StatusServiceUnavailable, "busy", "too many large requests at the same time")
}

// refuse answers a request whose body is not read.
func refuse(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close")
	fail(w, p)
}

// inTurn handles a body that was read. Large ones take turns: JSON may need thirty times its size in memory, and the text
// of a workflow a few hundred times its size to be checked.
func (s *Server) inTurn(ctx context.Context, size int, handle func() (any, error)) (any, error) {
	if size <= largeBody {
		return handle()
	}
	select {
	case s.heavy <- struct{}{}:
		defer func() { <-s.heavy }()
		return handle()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// describeRequest adds the parameters and the body to the description of an operation.
func describeRequest(h *huma.Operation, schemas huma.Registry, in reflect.Type) request {
	q := request{schemas: schemas, kind: in}
	for _, f := range reflect.VisibleFields(in) {
		p := parameter{field: f.Index, initial: f.Tag.Get("default")}
		var explode *bool
		for _, p.in = range []string{"path", "query", "header"} {
			if p.name = f.Tag.Get(p.in); p.name != "" {
				break
			}
		}
		switch {
		case p.name == "":
			continue
		case p.in == "query":
			_, option, _ := strings.Cut(p.name, ",")
			p.name, explode = strings.TrimSuffix(p.name, ","+option), new(bool)
			*explode = option == "explode"
		}
		p.required = p.in == "path"
		p.schema = huma.SchemaFromField(schemas, f, "")
		h.Parameters = append(h.Parameters, &huma.Param{Name: p.name, In: p.in, Description: p.schema.Description, Explode: explode, Required: p.required, Schema: p.schema})
		q.params = append(q.params, p)
	}
	if f, ok := in.FieldByName("Body"); ok {
		q.body = huma.SchemaFromField(schemas, f, schemaName(in, h.OperationID+"Request"))
		q.body.PrecomputeMessages()
		h.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: q.body}}}
	}
	return q
}

// describeResponse adds the response to the description of an operation, and returns its status.
func describeResponse(h *huma.Operation, schemas huma.Registry, o op, out reflect.Type) int {
	body, hasBody := out.FieldByName("Body")
	status := o.status
	if status == 0 && hasBody {
		status = http.StatusOK
	}
	status = cmp.Or(status, http.StatusNoContent)
	response := &huma.Response{Description: http.StatusText(status)}
	switch {
	case o.stream != "":
		response.Description = o.stream
		response.Content = map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}
	case o.returns != nil:
		response.Content = map[string]*huma.MediaType{"application/json": {Schema: schemas.Schema(o.returns, true, "")}}
	case hasBody && body.Type.Kind() != reflect.Func:
		schema := huma.SchemaFromField(schemas, body, schemaName(out, h.OperationID+"Response"))
		response.Content = map[string]*huma.MediaType{"application/json": {Schema: schema}}
	}
	for _, f := range reflect.VisibleFields(out) {
		if name := f.Tag.Get("header"); name != "" {
			if response.Headers == nil {
				response.Headers = map[string]*huma.Param{}
			}
			response.Headers[name] = &huma.Header{Schema: huma.SchemaFromField(schemas, f, "")}
		}
	}
	h.Responses = map[string]*huma.Response{strconv.Itoa(status): response}
	return status
}

// schemaName names the schema of a body whose type has no name.
func schemaName(outer reflect.Type, otherwise string) string {
	if outer.Name() != "" {
		return outer.Name() + "Body"
	}
	return otherwise
}

// read returns a pointer to the struct that a request and the text of its body are read into, or what is wrong with it.
func (q request) read(r *http.Request, text []byte) (any, *Problem) {
	in := reflect.New(q.kind)
	at, found := huma.NewPathBuffer(nil, 0), &huma.ValidateResult{}
	query := r.URL.Query()
	for name := range query {
		if !slices.ContainsFunc(q.params, func(p parameter) bool { return p.in == "query" && p.name == name }) {
			begin(at, "query", name)
			found.Add(at, nil, "unknown query parameter")
		}
	}
	for _, p := range q.params {
		begin(at, p.in, p.name)
		var given []string
		switch p.in {
		case "path":
			given = []string{r.PathValue(p.name)}
		case "query":
			given = query[p.name]
		case "header":
			given = r.Header.Values(p.name)
		}
		if len(given) == 0 || given[0] == "" {
			given = []string{p.initial}
		}
		if given[0] == "" {
			if p.required {
				found.Add(at, nil, "required "+p.in+" parameter is missing")
			}
			continue
		}
		if p.in == "path" && strings.ContainsFunc(given[0], unicode.IsControl) {
			found.Add(at, nil, "names have no control characters")
			continue
		}
		value, err := set(in.Elem().FieldByIndex(p.field), given)
		if err != nil {
			found.Add(at, nil, err.Error())
			continue
		}
		huma.Validate(q.schemas, p.schema, at, huma.ModeWriteToServer, value, found)
	}
	status := http.StatusUnprocessableEntity
	if q.body != nil {
		begin(at, "body")
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			status = http.StatusBadRequest
			found.Add(at, nil, err.Error())
		} else if huma.Validate(q.schemas, q.body, at, huma.ModeWriteToServer, value, found); len(found.Errors) == 0 {
			if err := json.Unmarshal(text, in.Elem().FieldByName("Body").Addr().Interface()); err != nil {
				found.Add(at, nil, err.Error())
			}
		}
	}
	if len(found.Errors) > 0 {
		return nil, invalidRequest(status, "validation failed", found.Errors...)
	}
	return in.Interface(), nil
}

func begin(at *huma.PathBuffer, path ...string) {
	at.Reset()
	for _, p := range path {
		at.Push(p)
	}
}

// set sets a field to what was given for a parameter, and returns what its schema applies to.
func set(field reflect.Value, given []string) (any, error) {
	switch field.Kind() {
	case reflect.String:
		field.SetString(given[0])
		return given[0], nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(given[0], 10, 64)
		if err != nil {
			return nil, errors.New("invalid integer")
		}
		field.SetInt(n)
		return n, nil
	case reflect.Bool:
		b, err := strconv.ParseBool(given[0])
		if err != nil {
			return nil, errors.New("invalid boolean")
		}
		field.SetBool(b)
		return b, nil
	case reflect.Slice:
		field.Set(reflect.ValueOf(given))
		return given, nil
	}
	panic("server: a parameter cannot have the type " + field.Type().String())
}

// readBody reads the body of a request, which has to be JSON of limited size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *Problem) {
	if kind := r.Header.Get("Content-Type"); kind != "" {
		if kind, _, err := mime.ParseMediaType(kind); err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
			return nil, invalidRequest(http.StatusUnsupportedMediaType, "the body has to be application/json")
		}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // without it, that of the server applies
	text, err := io.ReadAll(r.Body)
	var late net.Error
	switch {
	case errors.As(err, &late) && late.Timeout():
		return nil, invalidRequest(http.StatusRequestTimeout, "the body took too long")
	case err != nil:
		return nil, invalidRequest(http.StatusBadRequest, "the body cannot be read", err)
	case len(text) == 0:
		return nil, invalidRequest(http.StatusBadRequest, "request body is required")
	}
	return text, nil
}

// respond writes a response.
func (a *api) respond(w http.ResponseWriter, r *http.Request, status int, out reflect.Value) {
	if out.IsNil() {
		w.WriteHeader(status)
		return
	}
	out = out.Elem()
	kind := "application/json"
	for _, f := range reflect.VisibleFields(out.Type()) {
		name := f.Tag.Get("header")
		switch value := out.FieldByIndex(f.Index); {
		case name == "Content-Type":
			kind = value.String()
		case name != "" && value.String() != "":
			w.Header().Set(name, value.String())
		}
	}
	body := out.FieldByName("Body")
	if !body.IsValid() {
		w.WriteHeader(status)
		return
	}
	if write, ok := body.Interface().(func(http.ResponseWriter, *http.Request)); ok {
		write(w, r)
		return
	}
	text, ok := body.Interface().([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(body.Interface()); err != nil {
			fail(w, a.Explain(r.Context(), err))
			return
		}
		text = append(text, '\n')
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have gone
}
