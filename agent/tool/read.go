package tool

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// CodeDefinition is the code of errors in a tool's file other than YAML errors.
const CodeDefinition = "tool-definition"

const (
	defaultTimeout  = 60 * time.Second
	defaultOutputKB = 256
)

// Read reads a tool's file, .hocket/tools/NAME/tool.yml:
//
//	name           same as that of the folder; optional
//	description    what the tool does, for the model that chooses it
//	kind           http, command, script or search; the key of that name says the rest
//	inputs         by name: a type, or {type, description, required, default, …};
//	               or a JSON Schema of an object
//	outputs        the same, or the JSON Schema of any value: then the tool returns JSON
//	permissions    {network: [hosts] or true, fs: {read: [paths], write: [paths]},
//	               secrets: [names]}
//	approval       true: a person is asked before every call
//	timeout        of a call; default 60s
//	max_output_kb  most that a call may return; default 256
//	examples       list of {inputs, output}
//	http           {method, url, query, headers, body, answer}
//	command        a list: program and arguments; or {argv, dir, env}
//	script         {file, interpreter, dir, env}
//	search         {url, …, results, title, link, snippet}
//
// A file with the key exec is in the format of Glee, see [reader.glee]. Read reports every
// error. The manifest is nil only if the file is not YAML.
func Read(file string, text []byte) (*Manifest, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	root := doc.Root()
	if !root.Exists() && !doc.Readable() {
		return nil, doc.Diagnostics()
	}
	m := &Manifest{Pos: doc.Start()}
	if root.Exists() {
		m.Pos = root.Pos()
	}
	r := reader{Manifest: m, doc: doc}
	r.read(root.Map(), path.Base(path.Dir(filepath.ToSlash(file))))
	return m, doc.Diagnostics()
}

// reader reads one file.
type reader struct {
	*Manifest
	doc *strictyaml.Document
}

func (r *reader) read(m *strictyaml.Map, folder string) {
	m.Get("$schema")
	r.name(m, folder)
	r.Description = m.String("description")
	if strings.TrimSpace(r.Description) == "" && !m.Peek("description").Exists() {
		r.missing("description", "describe what the tool does; models choose tools by their description", "")
	}
	if m.Peek("exec").Exists() {
		r.glee(m)
		return
	}
	kind := m.Word("kind", Kinds()...)
	inputs, outputs := m.Get("inputs"), m.Get("outputs")
	if kind == "search" {
		r.fixed(inputs, outputs)
	} else {
		r.readInputs(inputs)
		r.readOutputs(outputs)
	}
	permissions := m.Map("permissions")
	r.permissions(permissions, permissions.Get("secrets").OneOrMany())
	r.Approval = m.Bool("approval")
	if r.Timeout = m.Duration("timeout"); r.Timeout == 0 {
		r.Timeout = defaultTimeout
	}
	if r.MaxOutputKB = m.Int("max_output_kb", 1); r.MaxOutputKB == 0 {
		r.MaxOutputKB = defaultOutputKB
	}
	r.examples(m.Get("examples"))
	r.work(m, kind)
	m.Done()
}

// missing reports a missing key.
func (r *reader) missing(key, detail, where string) {
	r.doc.Report(workflow.Errorf(r.Pos, CodeDefinition, detail, "the tool%s is missing %s", where, key))
}

func (r *reader) name(m *strictyaml.Map, folder string) {
	r.Name = folder
	n := m.Get("name")
	if n.Exists() {
		r.Pos = n.Pos()
		if name := n.Name(); name != folder && name != "" {
			n.Errorf(CodeDefinition, "give both the same name", "the tool %q is in the folder %q", name, folder)
		}
	}
	if !IsName(folder) {
		r.doc.Report(workflow.Errorf(r.Pos, CodeDefinition, "use letters, digits, - and _, at most 64", "invalid tool name %q", folder))
	}
}

// IsName reports whether a name is valid for a tool: models accept no others.
func IsName(name string) bool {
	bad := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	return name != "" && len(name) <= longestName && !strings.ContainsFunc(name, bad)
}

func (r *reader) permissions(m *strictyaml.Map, secrets []strictyaml.Node) {
	r.Permissions.Network = readNetwork(m.Get("network"))
	r.paths(m.Get("fs"))
	for _, n := range secrets {
		name := n.Text()
		if name != "" && !isVariable(name) {
			n.Errorf(CodeDefinition, "use letters, digits and _, and begin with a letter or _", "invalid secret name %q", name)
			continue
		}
		r.Permissions.Secrets = append(r.Permissions.Secrets, name)
	}
	m.Done()
}

func readNetwork(n strictyaml.Node) Network {
	var net Network
	if n.IsScalar() && !n.IsText() {
		net.Any = n.Bool()
		return net
	}
	for _, entry := range n.OneOrMany() {
		host := entry.Text()
		if why := badHost(host); why != "" && entry.IsText() {
			entry.Errorf(CodeDefinition, why, "invalid host %q", host)
			continue
		}
		net.Hosts = append(net.Hosts, host)
	}
	return net
}

// isVariable reports whether a name is valid for an environment variable.
func isVariable(name string) bool {
	return name != "" && (name[0] < '0' || name[0] > '9') && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func (r *reader) examples(n strictyaml.Node) {
	for _, entry := range n.List() {
		m := entry.Map()
		inputs, output := m.Get("inputs"), m.Get("output")
		m.Done()
		e := Example{Inputs: map[string]any{}}
		if inputs.Exists() {
			for _, in := range inputs.Map().Entries() {
				e.Inputs[in.Name] = in.Value.Value()
			}
		}
		at := inputs
		if !at.Exists() {
			at = entry
		}
		if r.inputs != nil {
			r.mistakes(at, "an example does not match the inputs", r.inputs.Mistakes(e.Inputs))
		}
		if output.Exists() {
			if e.Output = output.Value(); r.outputs != nil {
				r.mistakes(output, "an example does not match the outputs", r.outputs.Mistakes(e.Output))
			}
		}
		r.Examples = append(r.Examples, e)
	}
}

// mistakes reports where a value does not match its schema.
func (r *reader) mistakes(n strictyaml.Node, what string, list []string) {
	for _, line := range list {
		n.Errorf(CodeDefinition, "fix the example or the schema", "%s: %s", what, line)
	}
}

// work reads the key that has the name of the kind. The others must be absent.
func (r *reader) work(m *strictyaml.Map, kind string) {
	for _, other := range Kinds() {
		n := m.Get(other)
		switch {
		case other == kind && !n.Exists():
			r.missing(other, fmt.Sprintf("add `%s:` to describe how it works", kind), " of kind "+kind)
		case other == kind:
			r.Work = r.workOf(kind, n)
		case n.Exists() && kind != "":
			n.Key().Errorf(CodeDefinition, fmt.Sprintf("remove it, or write `kind: %s`", other), "a tool of kind %s does not support %s", kind, other)
		}
	}
	if kind == "" && !m.Peek("kind").Exists() {
		r.missing("kind", "write one of "+strings.Join(Kinds(), ", "), "")
	}
}

func (r *reader) workOf(kind string, n strictyaml.Node) Work {
	switch kind {
	case "http":
		m := n.Map()
		req := r.request(m)
		if word := m.Word("answer", "body", "full"); word == "full" {
			req.Full = true
		}
		m.Done()
		return req
	case "search":
		return r.search(n.Map())
	case "command":
		return r.command(n)
	case "script":
		return r.script(n.Map())
	}
	return nil
}

// known reports references to inputs that do not exist.
func (r *reader) known(n strictyaml.Node, v any) {
	properties, _ := r.Inputs["properties"].(map[string]any)
	names := propertyNames(properties)
	for _, name := range references(v) {
		if slices.Contains(names, name) {
			continue
		}
		hint := workflow.DidYouMean(name, names)
		if hint == "" {
			hint = fmt.Sprintf("declare it under `inputs`, or write {{%s}} for literal braces", name)
		}
		n.Errorf(CodeDefinition, hint, "unknown input %q", name)
	}
}

// allowedSecret reports a secret that the permissions do not name.
func (r *reader) allowedSecret(n strictyaml.Node, name string) {
	if name != "" && !slices.Contains(r.Permissions.Secrets, name) {
		n.Errorf(CodeDefinition, fmt.Sprintf("write `secrets: [%s]` under `permissions`", name), "the permissions do not name the secret %q", name)
	}
}
