package cli

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// CodeManifest is the code of errors in a manifest other than YAML errors.
const CodeManifest = "cli-manifest"

// Codes lists the codes of this package.
var Codes = []strictyaml.Code{{Name: CodeManifest, Meaning: "A manifest does not describe how to run a CLI."}}

// ReadManifest reads the manifest of a CLI, .hocket/clis/NAME.yml. The page
// docs/spec/10-cli-agents.md documents its keys. It reports every problem; the manifest is
// nil if there is an error.
func ReadManifest(file string, text []byte) (*Manifest, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	root := doc.Root()
	if !root.Exists() {
		found := doc.Diagnostics()
		if doc.Readable() {
			found = append(found, workflow.Errorf(doc.Start(), CodeManifest, "write at least `program` and `args`", "the manifest is empty"))
		}
		return nil, found
	}
	base := filepath.Base(file)
	m := &Manifest{Name: strings.TrimSuffix(base, filepath.Ext(base)), Pos: root.Pos(), uses: map[string]bool{}, usesAlone: map[string]bool{}, usesTalking: map[string]bool{}}
	r := &reader{m: m, known: map[string]bool{}, scopes: []map[string]bool{m.usesAlone, m.usesTalking}}
	for name := range builtinValues {
		r.known[name] = true
	}
	r.manifest(root.Map())
	if found := doc.Diagnostics(); found.Errors() {
		return nil, found
	}
	return m, doc.Diagnostics()
}

// reader reads one manifest. Values must be declared before anything that names them is
// read.
type reader struct {
	m      *Manifest
	known  map[string]bool
	scopes []map[string]bool // where a name that is being read is used
}

// within reads something that only some runs use.
func (r *reader) within(scope map[string]bool, read func()) {
	before := r.scopes
	r.scopes = []map[string]bool{scope}
	read()
	r.scopes = before
}

func (r *reader) manifest(m *strictyaml.Map) {
	m.Get("$schema")
	r.m.Description = m.String("description")
	r.m.Programs = m.Strings("program")
	r.m.Install, r.m.Login = m.String("install"), m.String("login")
	if r.m.Account = m.Name("account"); r.m.Account == "" {
		r.m.Account = r.m.Name
	}
	r.m.Keys = m.Strings("keys")
	r.m.ProjectFiles = projectFiles(m.Get("project_files"))
	for _, entry := range m.Get("user_files").OneOrMany() {
		if name := entry.Name(); !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "{") {
			entry.Errorf(CodeManifest, `write an absolute path, such as "{env.HOME}/.poet/"`, "%q is not absolute", name)
		}
		r.m.userFiles = append(r.m.userFiles, r.template(entry, nil))
	}
	r.version(m.Get("version"))
	r.permissions(m.Get("permissions"))
	for _, mode := range m.Get("mounts").OneOrMany() {
		r.m.mounts = append(r.m.mounts, mode.Word(string(ReadOnly), string(Edit), string(Full), string(AskFirst)))
	}
	r.choices(m.Get("values"))
	files := m.Get("files").Map().Entries()
	for _, e := range files {
		r.value(e.Key, e.Name)
	}
	args := m.Get("args")
	r.within(r.m.usesAlone, func() {
		r.m.args, r.m.headless = r.arguments(args), args.Exists()
		r.m.stdin = r.template(m.Get("stdin"), nil)
	})
	r.telemetry(m.Get("telemetry"))
	r.m.roams = m.Bool("resumes_anywhere")
	r.m.env = r.variables(m.Get("env"))
	r.within(r.m.usesTalking, func() { r.acp(m.Get("acp")) })
	r.files(files)
	r.servers(m.Get("servers"))
	r.reply(m.Get("reply"))
	r.exits(m.Get("exit"))
	r.m.errors, r.m.complaints = r.errors(m.Get("errors")), r.errors(m.Get("stderr"))
	m.Done()
	r.whole(m.Node())
}

// whole checks that the manifest is complete.
func (r *reader) whole(n strictyaml.Node) {
	if len(r.m.Programs) == 0 {
		n.Errorf(CodeManifest, "add `program` with the command's name, as on the command line", "the manifest has no `program`")
	}
	if r.m.headless {
		if !r.m.uses["prompt"] {
			n.Errorf(CodeManifest, `write stdin: "{prompt}", or "{prompt}" among args`, "the manifest does not pass the prompt to the CLI")
		}
		if r.m.reply.format != "text" && !slices.ContainsFunc(r.m.reply.rules, func(rule rule) bool { return rule.means == Success }) {
			n.Errorf(CodeManifest, "add a rule with `means: success` for the event that reports completion", "no output of the CLI would count as success")
		}
	} else if r.m.acp == nil {
		n.Errorf(CodeManifest, "add `args` for a run without a conversation, or `acp`", "the manifest does not say how to run the CLI")
	}
}

// The names that a manifest may use, and the format of a version.
var (
	valueName    = lazy.Regexp(`^[a-z][a-z0-9_]*$`)
	variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)
	plainVersion = lazy.Regexp(`^[0-9]+(\.[0-9]+)*$`)
)

func projectFiles(n strictyaml.Node) (files []string) {
	for _, entry := range n.OneOrMany() {
		name := entry.Name()
		if !localName(name) {
			entry.Errorf(CodeManifest, "write a path inside the project, such as .claude/settings.json", "%q is outside the project", name)
			continue
		}
		files = append(files, name)
	}
	return files
}

func (r *reader) version(n strictyaml.Node) {
	m := n.Map()
	r.m.versionArgs = m.Strings("args")
	oldest := m.Get("oldest")
	if oldest.Exists() {
		if r.m.Oldest = oldest.Name(); !plainVersion().MatchString(r.m.Oldest) {
			oldest.Errorf(CodeManifest, "write numbers with dots, such as \"2.1.0\"", "%q is not a version", r.m.Oldest)
		}
		if len(r.m.versionArgs) == 0 {
			r.m.versionArgs = []string{"--version"}
		}
	}
	m.Done()
}

// value declares the name of a value.
func (r *reader) value(n strictyaml.Node, name string) {
	if !valueName().MatchString(name) {
		n.Errorf(CodeManifest, "use lower-case letters, digits and _", "invalid value name %q", name)
	} else if builtinValues[name] != "" {
		n.Errorf(CodeManifest, "choose another name", "the value %q exists already", name)
	}
	r.known[name] = true
}

func (r *reader) choices(n strictyaml.Node) {
	before := r.scopes
	defer func() { r.scopes = before }()
	r.scopes = nil // selecting a value does not pass it to the CLI; naming it does, see name
	for _, e := range n.Map().Entries() {
		m := e.Value.Map()
		c := choice{name: e.Name, when: r.known1(m.Get("if")), is: r.form(m.Get("is"), nil)}
		if c.is == nil {
			m.Node().Errorf(CodeManifest, "set it with `is`", "the value %q is empty", e.Name)
		}
		m.Done()
		r.value(e.Key, e.Name)
		r.m.chosen = append(r.m.chosen, c)
	}
}

// name checks a use of a value's name.
func (r *reader) name(n strictyaml.Node, name string, more []string) {
	if strings.HasPrefix(name, "env.") && len(name) > len("env.") {
		return
	}
	if !r.known[name] && !slices.Contains(more, name) {
		all := slices.Concat(more, sorted.Keys(r.known))
		n.Errorf(CodeManifest, nearest(name, all), "unknown value %q", name)
	}
	r.m.uses[name] = true
	for _, scope := range r.scopes {
		scope[name] = true
		for _, c := range r.m.chosen {
			if c.name == name {
				scope[c.when] = true
			}
		}
	}
}

func nearest(name string, all []string) string {
	if near := workflow.DidYouMean(name, all); near != "" {
		return near
	}
	return "the values are " + strings.Join(all, ", ")
}

// template reads a text; more are names that it may use in addition to those of the
// manifest.
func (r *reader) template(n strictyaml.Node, more []string) template {
	if !n.Exists() {
		return nil
	}
	if !n.IsScalar() || n.IsNull() {
		n.WrongType("text")
		return nil
	}
	t, wrong := parseTemplate(n.Name())
	if wrong != "" {
		n.Errorf(CodeManifest, "write {name} for a value, and {{ and }} for braces", "%s", wrong)
	}
	for _, name := range t.names() {
		r.name(n, name, more)
	}
	return t
}

// form reads a value with templates in it.
func (r *reader) form(n strictyaml.Node, more []string) form {
	switch {
	case n.IsMap():
		out := map[string]form{}
		for _, e := range n.Map().Entries() {
			out[e.Name] = r.form(e.Value, more)
		}
		return out
	case n.IsList():
		out := []form{}
		for _, entry := range n.List() {
			out = append(out, r.form(entry, more))
		}
		return out
	case n.IsText():
		return r.template(n, more)
	default:
		return n.Value()
	}
}

// arguments reads a list whose entries are strings, lists of strings that belong together,
// or maps with conditions.
func (r *reader) arguments(n strictyaml.Node) []argument {
	if !n.Exists() {
		return nil
	}
	var list []argument
	for _, entry := range n.List() {
		var a argument
		switch {
		case entry.IsMap():
			a = r.argument(entry.Map())
		default:
			a.words = r.words(entry, nil)
		}
		list = append(list, a)
	}
	return list
}

func (r *reader) argument(m *strictyaml.Map) (a argument) {
	a.when, a.unless, a.each = r.known1(m.Get("if")), r.known1(m.Get("unless")), r.known1(m.Get("each"))
	var more []string
	if a.each != "" {
		more = []string{"item", "key"}
	}
	words := m.Get("args")
	if a.words = r.words(words, more); len(a.words) == 0 && !words.Exists() {
		m.Node().Errorf(CodeManifest, "add them under `args`", "the arguments are missing")
	}
	m.Done()
	return a
}

// known1 reads the name of one value.
func (r *reader) known1(n strictyaml.Node) string {
	if !n.Exists() {
		return ""
	}
	name := n.Text()
	if name != "" {
		r.name(n, name, nil)
	}
	return name
}

func (r *reader) words(n strictyaml.Node, more []string) []template {
	var words []template
	for _, word := range n.OneOrMany() {
		words = append(words, r.template(word, more))
	}
	return words
}

func (r *reader) variables(n strictyaml.Node) []variable {
	var list []variable
	for _, e := range n.Map().Entries() {
		if !variableName().MatchString(e.Name) {
			e.Key.Errorf(CodeManifest, "use letters, digits and _", "invalid variable name %q", e.Name)
		}
		v := variable{name: e.Name, unset: e.Value.IsNull()}
		if !v.unset {
			v.value = r.template(e.Value, nil)
		}
		list = append(list, v)
	}
	return list
}

// files reads the files that are written before a run. The content of one is passed
// wherever its path is used. One may name those before it, so they are read from last to
// first.
func (r *reader) files(entries []strictyaml.Entry) {
	scopes := r.scopes
	for _, e := range slices.Backward(entries) {
		r.scopes = slices.DeleteFunc(slices.Clone(scopes), func(scope map[string]bool) bool { return !scope[e.Name] })
		r.m.files = append(r.m.files, r.file(e))
	}
	r.scopes = scopes
	slices.Reverse(r.m.files)
}

func (r *reader) file(e strictyaml.Entry) file {
	m := e.Value.Map()
	f := file{id: e.Name, name: m.Name("name"), when: r.known1(m.Get("if"))}
	at := m.Peek("name")
	if f.name == "" {
		f.name, at = e.Name, e.Key
	}
	if !localName(f.name) {
		at.Errorf(CodeManifest, "write a name such as settings.json", "%q is outside the directory for files", f.name)
	}
	text, json := m.Get("text"), m.Get("json")
	switch {
	case text.Exists() == json.Exists():
		m.Node().Errorf(CodeManifest, "set one of them to its content", "a file needs either `text` or `json`")
	case text.Exists():
		f.content = r.template(text, nil)
	default:
		f.content = jsonForm{r.form(json, nil)}
	}
	m.Done()
	return f
}

// localName reports whether a name is that of a file inside a directory, on every system.
func localName(name string) bool {
	return filepath.IsLocal(name) && !strings.ContainsAny(name, `\:`)
}

// jsonForm is the content of a file in JSON, even if it is a plain string.
type jsonForm struct{ form }

// serverValues are the values of one MCP server.
var serverValues = []string{"name", "command", "args", "argv", "env", "env_names", "url", "headers", "header_variables"}

func (r *reader) servers(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	m := n.Map()
	r.m.serverForms = map[string]form{}
	for _, kind := range []string{"command", "url"} {
		if f := m.Get(kind); f.Exists() {
			r.m.serverForms[kind] = r.form(f, serverValues)
		}
	}
	r.m.newServers = m.Bool("new_only")
	m.Done()
}

func (r *reader) telemetry(n strictyaml.Node) {
	m := n.Map()
	args := m.Get("args")
	r.m.telemetry = telemetry{joins: m.Bool("joins"), args: r.arguments(args), env: r.variables(m.Get("env"))}
	if args.Exists() && !r.m.uses["telemetry"] {
		args.Key().Errorf(CodeManifest, `write "{telemetry}" among args`, "the arguments of `telemetry` are not passed to the CLI")
	}
	m.Done()
}

func (r *reader) acp(n strictyaml.Node) {
	if !n.Exists() {
		return
	}
	m := n.Map()
	r.m.acp = &acp{
		programs: m.Strings("program"), install: m.String("install"), args: r.arguments(m.Get("args")), env: r.variables(m.Get("env")),
		meta: r.form(m.Get("meta"), nil), asks: r.asks(m.Get("asks")), quirks: r.quirks(m), files: projectFiles(m.Get("project_files")),
	}
	m.Done()
}
