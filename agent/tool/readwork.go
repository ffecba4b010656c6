package tool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow/extract"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// request reads what http and search tools have in common.
func (r *reader) request(m *strictyaml.Map) *Request {
	req := &Request{}
	if n := m.Get("method"); whole(n.Written()) != "" {
		req.Method = n.Text()
		r.known(n, req.Method)
	} else {
		req.Method = n.Word(methods...)
	}
	r.url(req, m)
	req.Query = r.fields(m.Get("query"))
	if n := m.Get("headers"); n.IsText() {
		req.HeadersOf = whole(n.Text())
		r.known(n, n.Text())
		if req.HeadersOf == "" {
			n.WrongType("a map, or {name} for an input that is one")
		}
	} else {
		req.Headers = r.fields(n)
		r.headerNames(n)
	}
	if n := m.Get("body"); n.Exists() {
		req.Body, req.HasBody = n.Value(), true
		r.known(n, req.Body)
	}
	return req
}

func (r *reader) url(req *Request, m *strictyaml.Map) {
	n := m.Get("url")
	if !n.Exists() {
		m.Node().Errorf(CodeDefinition, "add `url: https://…`", "the request has no url")
		return
	}
	req.URL = n.Text()
	r.known(n, req.URL)
	r.address(req, n)
}

// address reports a url that cannot be reached.
func (r *reader) address(req *Request, n strictyaml.Node) {
	if whole(req.URL) != "" {
		if !r.Permissions.Network.Any && len(r.Permissions.Network.Hosts) == 0 {
			n.Errorf(CodeDefinition, "add `network: [HOST, …]` under `permissions`, or `network: true` for every public host", "the permissions do not name a host for the url")
		}
		return
	}
	host, err := hostOf(req.URL)
	if err != nil {
		if n.IsText() {
			n.Errorf(CodeDefinition, "write it as https://HOST/PATH", "invalid url: %v", err)
		}
		return
	}
	if len(references(host)) > 0 {
		if !r.Permissions.Network.Any && len(r.Permissions.Network.Hosts) == 0 {
			n.Errorf(CodeDefinition, "add `network: [HOST, …]` under `permissions`", "the permissions do not name a host for the url")
		}
		return
	}
	name, port := splitHost(host)
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[strings.HasPrefix(req.URL, "https:")]
	}
	if r.Permissions.Network.reach(name, port) == refused {
		n.Errorf(CodeDefinition, fmt.Sprintf("add `network: [%s]` under `permissions`", host), "the permissions do not name the host %q", host)
	}
}

// fields reads the query or the headers of a request.
func (r *reader) fields(n strictyaml.Node) []field {
	var list []field
	if !n.Exists() {
		return nil
	}
	for _, e := range n.Map().Entries() {
		f := field{name: e.Name}
		switch {
		case e.Value.IsMap():
			m := e.Value.Map()
			f.secret, f.prefix = m.String("secret"), m.String("prefix")
			m.Done()
			r.allowedSecret(e.Value, f.secret)
			if f.secret == "" {
				e.Value.Errorf(CodeDefinition, "write a value, or {secret: NAME}", "%s does not name a secret", e.Name)
			}
		case e.Value.IsNull():
			e.Value.WrongType("a value")
		default:
			f.value = e.Value.Value()
			r.known(e.Value, f.value)
		}
		list = append(list, f)
	}
	return list
}

func (r *reader) headerNames(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	for _, e := range n.Map().Entries() {
		if !isHeader(e.Name) {
			e.Key.Errorf(CodeDefinition, "use letters, digits and -", "invalid header name %q", e.Name)
		}
		if e.Value.IsList() {
			e.Value.WrongType("text")
		}
	}
}

func isHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// command reads a program with its arguments.
func (r *reader) command(n strictyaml.Node) *Command {
	c := &Command{}
	argv := n
	if n.IsMap() {
		m := n.Map()
		argv = m.Get("argv")
		r.place(c, m)
		m.Done()
		if !argv.Exists() {
			n.Errorf(CodeDefinition, "add `argv: [PROGRAM, ARGUMENT, …]`", "the command has no argv")
			return c
		}
	}
	if argv.IsScalar() && !argv.IsNull() {
		argv.Errorf(CodeDefinition, "write a list: [PROGRAM, ARGUMENT, …], or [sh, -c, LINE] for a shell command line", "a command must be a list, not a shell command line")
		return c
	}
	c.Argv = r.words(argv)
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		argv.Errorf(CodeDefinition, "write `[PROGRAM, ARGUMENT, …]`", "the command does not name a program")
	}
	return c
}

// words returns the entries of a command. An input in one would be code for whatever
// interprets it.
func (r *reader) words(n strictyaml.Node) []string {
	properties, _ := r.Inputs["properties"].(map[string]any)
	var list []string
	for _, entry := range n.List() {
		word := entry.Name()
		for _, name := range references(word) {
			if slices.Contains(propertyNames(properties), name) {
				entry.Errorf(CodeDefinition, fmt.Sprintf("the program gets it as the variable %s, and all inputs as JSON on standard input", variable(name)), "a command cannot contain input %q", name)
			}
		}
		if strings.ContainsRune(word, 0) {
			entry.Errorf(CodeDefinition, "remove it", "a command cannot contain a NUL character")
		}
		list = append(list, word)
	}
	return list
}

// script reads a file of the tool's folder, and what runs it.
func (r *reader) script(m *strictyaml.Map) *Command {
	c := &Command{File: m.String("file")}
	if n := m.Peek("file"); !n.Exists() {
		m.Node().Errorf(CodeDefinition, "add `file: NAME` with a file in the tool's folder", "the script has no file")
	} else if c.File != "" && !isInside(c.File) {
		n.Errorf(CodeDefinition, "name a file in the tool's folder", "%q is outside the folder", c.File)
	}
	n := m.Get("interpreter")
	switch {
	case !n.Exists():
		m.Node().Errorf(CodeDefinition, "add an interpreter, such as `interpreter: python3`", "the script has no interpreter")
	case n.IsList():
		c.Argv = r.words(n)
	default:
		c.Argv = strings.Fields(n.Text())
	}
	if n.Exists() && len(c.Argv) == 0 {
		n.Errorf(CodeDefinition, "add an interpreter, such as `interpreter: python3`", "the script has no interpreter")
	}
	r.place(c, m)
	m.Done()
	return c
}

// isInside reports whether a path stays below where it begins. Links are checked when it is
// used.
func isInside(p string) bool {
	p = strings.ReplaceAll(p, `\`, "/")
	clean := path.Clean(p)
	return !path.IsAbs(p) && !strings.Contains(p, ":") && clean != ".." && !strings.HasPrefix(clean, "../")
}

// place reads the directory and variables of a program.
func (r *reader) place(c *Command, m *strictyaml.Map) {
	c.Dir = m.String("dir")
	if c.Dir != "" && !isInside(c.Dir) {
		m.Peek("dir").Errorf(CodeDefinition, "name a directory in the project", "%q is outside the project", c.Dir)
	}
	env := m.Get("env")
	if !env.Exists() {
		return
	}
	c.Env = map[string]string{}
	for _, e := range env.Map().Entries() {
		switch {
		case !isVariable(e.Name):
			e.Key.Errorf(CodeDefinition, "use letters, digits and _, and begin with a letter or _", "invalid variable name %q", e.Name)
		case slices.Contains(r.Permissions.Secrets, e.Name):
			e.Key.Errorf(CodeDefinition, "remove it: secrets are always passed as variables", "the variable %s is a secret", e.Name)
		}
		c.Env[e.Name] = e.Value.Name()
	}
}

// fixed sets the inputs and outputs of a search tool, which are always the same.
func (r *reader) fixed(inputs, outputs strictyaml.Node) {
	for _, n := range []strictyaml.Node{inputs, outputs} {
		if n.Exists() {
			n.Key().Errorf(CodeDefinition, "remove it: the inputs are always query and count, and the output is a list", "a tool of kind search has fixed inputs and outputs")
		}
	}
	r.Inputs = searchInputs()
	r.Outputs = searchOutputs()
	r.inputs, _ = extract.Compile(r.Inputs) // they are constants, which a test compiles
	r.outputs, _ = extract.Compile(r.Outputs)
}

func searchInputs() map[string]any {
	s := object(map[string]any{
		"query": map[string]any{"type": "string", "minLength": 1, "description": "What to search for."},
		"count": map[string]any{"type": "integer", "minimum": 1, "maximum": 20, "default": json.Number("5"), "description": "Maximum number of results."},
	}, []any{"query"})
	s["additionalProperties"] = false
	return s
}

func searchOutputs() map[string]any {
	text := map[string]any{"type": "string"}
	return map[string]any{"type": "array", "items": object(map[string]any{"title": text, "url": text, "snippet": text}, nil)}
}

func (r *reader) search(m *strictyaml.Map) *Search {
	s := &Search{Request: *r.request(m)}
	s.Results = jsonPath(m.Get("results"), "")
	s.Title = jsonPath(m.Get("title"), "$.title")
	s.Link = jsonPath(m.Get("link"), "$.url")
	s.Snippet = jsonPath(m.Get("snippet"), "$.snippet")
	if !m.Peek("results").Exists() {
		m.Node().Errorf(CodeDefinition, "write a JSONPath, such as `results: $.items[*]`", "the search does not say where its results are")
	}
	m.Done()
	return s
}

// jsonPath reads a path; nil if it is invalid, which is reported.
func jsonPath(n strictyaml.Node, fallback string) *jsonpath.Path {
	text := fallback
	if n.Exists() {
		text = n.Text()
	}
	if text == "" {
		return nil
	}
	p, err := jsonpath.Parse(text)
	if err != nil {
		n.Errorf(CodeDefinition, "write a JSONPath, such as $.items[*]", "%q is not a valid JSONPath: %v", text, err)
		return nil
	}
	return p
}
