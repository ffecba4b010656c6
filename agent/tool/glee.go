package tool

import (
	_ "embed" // for runner.py
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/extract"
	"github.com/hocket-dev/hocket/workflow/jsonpath"
)

// glee reads a tool.yml in the format of Glee, which describes under exec how the tool
// works.
func (r *reader) glee(m *strictyaml.Map) {
	m.Get("version")
	kind := m.Word("kind", "http", "command", "python")
	inputs, outputs := m.Map("inputs"), m.Map("outputs")
	r.readInputs(inputs.Get("schema"))
	inputs.Done()
	format, schema := outputs.Word("format", "json", "text"), outputs.Get("schema")
	outputs.Done()
	if format == "json" && !schema.Exists() {
		r.Outputs = map[string]any{}
		r.outputs, _ = extract.Compile(r.Outputs) // any JSON
	} else if format != "text" {
		r.readOutputs(schema)
	}
	permissions := m.Map("permissions")
	var secrets []strictyaml.Node
	if n := permissions.Get("secrets"); n.Exists() && !n.IsNull() {
		for _, e := range n.Map().Entries() {
			secrets = append(secrets, e.Key)
		}
	}
	r.permissions(permissions, secrets)
	approval := m.Map("approval")
	r.Approval = approval.Bool("required")
	approval.Get("reason")
	approval.Done()
	for _, entry := range m.Get("examples").List() {
		e := entry.Map()
		for _, key := range []string{"description", "expected_output"} { // the second is often incomplete
			e.Get(key)
		}
		params, _ := e.Get("params").Value().(map[string]any)
		e.Done()
		if r.inputs != nil {
			r.mistakes(entry, "an example does not match the inputs", r.inputs.Mistakes(params))
		}
		r.Examples = append(r.Examples, Example{Inputs: params})
	}
	exec := m.Map("exec")
	r.Timeout, r.MaxOutputKB = defaultTimeout, defaultOutputKB
	if n := exec.Get(kind); n.Exists() {
		how := n.Map()
		if ms := how.Int("timeout_ms", 1); ms > 0 {
			r.Timeout = time.Duration(ms) * time.Millisecond
		}
		switch kind {
		case "http":
			r.Work = r.gleeRequest(how)
		case "command":
			r.Work = r.gleeCommand(how)
		case "python":
			r.Work = r.gleePython(how)
		}
		how.Done()
	} else if kind != "" {
		r.missing("exec."+kind, "add `exec: {"+kind+": …}` with how it works", " of kind "+kind)
	}
	exec.Done()
	m.Done()
}

var gleeReference = lazy.Regexp(`\$?\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// translated returns a text, or a value with texts in it, with {name} in place of ${name}.
func translated(v any) any {
	switch v := v.(type) {
	case string:
		return gleeReference().ReplaceAllStringFunc(v, func(found string) string {
			if name, refers := strings.CutPrefix(found, "$"); refers {
				return name
			}
			return "{" + found + "}"
		})
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = translated(item)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = translated(item)
		}
		return out
	}
	return v
}

// template reads a value that may refer to inputs.
func (r *reader) template(n strictyaml.Node) any {
	v := translated(n.Value())
	for _, name := range references(v) {
		if slices.Contains(r.Permissions.Secrets, name) {
			n.Errorf(CodeDefinition, "write it at the end of a header or a parameter", "the secret %s cannot be sent here", name)
			return nil
		}
	}
	r.known(n, v)
	return v
}

func (r *reader) gleeRequest(m *strictyaml.Map) *Request {
	req := &Request{Method: m.Get("method").Word(methods...)}
	if n := m.Get("url"); n.Exists() {
		if url, ok := r.template(n).(string); ok {
			req.URL = url
			r.address(req, n)
		}
	} else {
		m.Node().Errorf(CodeDefinition, "add `url: https://…`", "the request has no url")
	}
	req.Query, req.Headers = r.gleeFields(m.Get("query")), r.gleeFields(m.Get("headers"))
	r.headerNames(m.Peek("headers"))
	if n := m.Get("body"); n.Exists() {
		req.Body, req.HasBody = r.template(n), true
	}
	if n := m.Get("response"); n.Exists() {
		req.Pick = gleePick(n.Map())
	}
	return req
}

// gleeFields reads the query or the headers of a request. A secret is at the end of a
// value: Bearer ${TOKEN}.
func (r *reader) gleeFields(n strictyaml.Node) (list []field) {
	if !n.Exists() {
		return nil
	}
	for _, e := range n.Map().Entries() {
		f := field{name: e.Name}
		text, _ := translated(e.Value.Value()).(string)
		parts := pieces(text)
		if last := len(parts) - 1; last >= 0 && slices.Contains(r.Permissions.Secrets, parts[last].name) && len(references(text)) == 1 {
			f.secret, f.prefix = parts[last].name, strings.TrimSuffix(text, "{"+parts[last].name+"}")
		} else {
			f.value = r.template(e.Value)
		}
		list = append(list, f)
	}
	return list
}

// Pick is what is extracted from a JSON response.
type Pick struct {
	From   *jsonpath.Path
	Names  []string // the fields of each that are kept; none: all
	Fields []*jsonpath.Path
}

func gleePick(m *strictyaml.Map) *Pick {
	p := &Pick{From: dotted(m.Get("json_path"))}
	for _, entry := range m.List("fields") {
		f := entry.Map()
		p.Names = append(p.Names, f.Name("name"))
		p.Fields = append(p.Fields, dotted(f.Get("path")))
		f.Done()
	}
	m.Done()
	return p
}

// dotted reads a path such as web.results, or a complete JSONPath.
func dotted(n strictyaml.Node) *jsonpath.Path {
	text := n.Text()
	switch {
	case text == "":
		text = "$"
	case !strings.HasPrefix(text, "$"):
		text = "$." + text
	}
	path, err := jsonpath.Parse(text)
	if err != nil {
		n.Errorf(CodeDefinition, "write the keys with dots between them, such as web.results", "invalid path %q: %v", n.Text(), err)
	}
	return path
}

func (r *reader) gleeCommand(m *strictyaml.Map) *Command {
	c := &Command{Argv: []string{m.Name("entrypoint")}}
	if c.Argv[0] == "" {
		m.Node().Errorf(CodeDefinition, "add `entrypoint: PROGRAM`", "the command does not name a program")
	}
	for i, entry := range m.List("args") {
		if v := r.template(entry); len(references(v)) > 0 && interprets(c.Argv[0], c.Args) {
			entry.Errorf(CodeDefinition, "use a script of the project that takes it as an argument", "argument %d would run as code", i+1)
		} else {
			c.Args = append(c.Args, v)
		}
	}
	stdout := m.Map("stdout")
	stdout.Word("format", "json", "text")
	stdout.Done()
	for _, n := range m.List("exit_codes_ok") {
		c.Good = append(c.Good, int(n.Int(0)))
	}
	r.gleePlace(c, m)
	return c
}

// interprets reports whether a program would interpret its next argument as code, or as a
// program to start: that after -c and the like, and the first that is not an option.
func interprets(program string, before []any) bool {
	name := strings.TrimRight(strings.TrimSuffix(strings.ToLower(path.Base(program)), ".exe"), "0123456789.")
	if slices.Contains(wrappers, name) || !slices.Contains(interpreters, name) {
		return slices.Contains(wrappers, name)
	}
	if len(before) == 0 {
		return true
	}
	last, _ := before[len(before)-1].(string)
	return strings.HasPrefix(last, "-") // otherwise there is a script, and the rest are its arguments
}

var (
	interpreters = strings.Fields("sh bash dash zsh ksh fish ash python node deno bun perl ruby php lua awk gawk sed tclsh osascript pwsh powershell cmd")
	wrappers     = strings.Fields("env xargs sudo doas nohup nice setsid time timeout ssh busybox eval exec parallel watch")
)

//go:embed runner.py
var runner string

func (r *reader) gleePython(m *strictyaml.Map) *Command {
	file := strings.ReplaceAll(m.Name("module"), ".", "/") + ".py"
	function, form := m.Name("function"), m.Word("return", "json", "text")
	if form == "" {
		form = "json"
	}
	if file == ".py" || function == "" {
		m.Node().Errorf(CodeDefinition, "add `module: tools.NAME` and `function: run`", "the tool does not say what to call")
	}
	python := "python3"
	if venv := m.Name("venv"); venv != "" {
		python = path.Join(venv, "bin", "python")
	}
	c := &Command{Argv: []string{python, "-c", runner, file, function, form}, JSON: true}
	for _, entry := range m.List("args") {
		c.Args = append(c.Args, r.template(entry))
	}
	r.gleePlace(c, m)
	return c
}

// gleePlace reads the directory and variables of a program.
func (r *reader) gleePlace(c *Command, m *strictyaml.Map) {
	m.Rename("cwd", "dir")
	r.place(c, m)
	if c.Dir == "." {
		c.Dir = ""
	}
}

// pick extracts what is needed from a response.
func (p *Pick) pick(answer any) (any, error) {
	found, err := p.From.Select(answer)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if len(p.Names) == 0 {
		return found[0], nil
	}
	items, isList := found[0].([]any)
	if !isList {
		return p.fields(found[0]), nil
	}
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = p.fields(item)
	}
	return out, nil
}

func (p *Pick) fields(item any) map[string]any {
	out := map[string]any{}
	for i, name := range p.Names {
		if found, err := p.Fields[i].Select(item); err == nil && len(found) > 0 {
			out[name] = found[0]
		}
	}
	return out
}

// arguments returns the arguments of a program that refer to the inputs of a call. Each is
// a separate word, and never part of a shell command line.
func (w *Command) arguments(args map[string]any) []string {
	filled, _ := fill(any(w.Args), args)
	list, _ := filled.([]any)
	if w.JSON {
		if list == nil {
			list = []any{}
		}
		return []string{workflow.FormatJSON(list)}
	}
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = workflow.FormatText(v)
	}
	return words
}
