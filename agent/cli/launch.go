package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/internal/sandbox"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// launch is a CLI about to be started: the values for its manifest, and what must be
// cleaned up afterwards.
type launch struct {
	x       *Executor
	task    *agent.Task
	set     *settings
	values  values
	servers []agent.Server
	model   string
	dir     string
	tmp     string            // "" none
	passed  map[string]string // variables that MCP servers need
	limit   *sandbox.Limit    // nil: none
	stop    []func()
}

// close cleans up.
func (l *launch) close() {
	for _, stop := range slices.Backward(l.stop) {
		stop()
	}
}

// prepare creates everything that a run of the CLI needs.
func (x *Executor) prepare(ctx context.Context, task *agent.Task, set *settings, allowed permissions, log agent.Log) (_ *launch, err error) {
	l := &launch{x: x, task: task, set: set, passed: map[string]string{}}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if l.dir, err = workDir(task.Dir, set.Dir); err != nil {
		return nil, err
	}
	if err = x.isolate(task, l.dir, x.m().talks(allowed.mode)); err != nil {
		return nil, err
	}
	if l.servers, err = l.allServers(ctx, log); err != nil {
		return nil, err
	}
	l.fillIn(allowed)
	if !x.m().talks(allowed.mode) { // otherwise they are sent in the conversation
		if l.values["servers"], err = l.writeServers(); err != nil {
			return nil, err
		}
	}
	if err = l.writeFiles(); err != nil {
		return nil, err
	}
	if l.limit, err = task.Limit(l.userFiles()...); err != nil {
		return nil, err
	}
	if l.limit != nil && slices.Contains(x.m().mounts, string(allowed.mode)) {
		return nil, agent.Permanentf("%s cannot run commands in the mode %s if the task is limited in where it may write, because its own sandbox needs mounts; choose the mode full under `permissions`",
			x.m().Name, allowed.mode)
	}
	for _, name := range preferences {
		if l.values.has(name) && !x.m().tells(name, x.m().talks(allowed.mode)) {
			log([]byte(x.m().Name + " does not support " + name + ": it has no effect here\n"))
		}
	}
	return l, nil
}

// fillIn sets the values that a manifest may name.
func (l *launch) fillIn(allowed permissions) {
	a := l.task.Agent
	l.model = cmp.Or(l.set.Model, a.Model)
	// A program with a single provider expects model names without it, as in
	// claude-opus-5-5 instead of anthropic/claude-opus-5-5. Settings may select another
	// provider, for which openai/gpt-oss-20b is the name of a model.
	if m := l.x.m(); m.Account != m.Name && len(l.set.Args) == 0 && len(l.set.Env) == 0 {
		l.model = strings.TrimPrefix(l.model, m.Account+"/")
	}
	turns := cmp.Or(l.set.MaxTurns, a.MaxTurns)
	v := values{"prompt": l.task.Prompt, "model": l.model, "dir": l.dir, "effort": l.set.Effort}
	for name, number := range map[string]json.Number{"temperature": l.set.Temperature, "top_p": l.set.TopP} {
		if number != "" {
			v[name] = number
		}
	}
	if l.x.m().uses["system"] {
		v["system"] = a.Prompt
	} else if a.Prompt != "" {
		v["prompt"] = strings.TrimRight(a.Prompt, "\n") + "\n\n" + l.task.Prompt
	}
	if turns > 0 {
		v["max_turns"] = json.Number(strconv.Itoa(turns))
	}
	if _, bound := a.Budget.CostUSD.Amount(); bound {
		v["max_cost_usd"] = json.Number(a.Budget.CostUSD.String())
	}
	if schema := l.task.Output.Schema; schema != nil {
		v["schema"] = schema
		if strict(schema) {
			v["strict_schema"] = schema
		}
	}
	if l.x.resumes(l.task) {
		v["resume"] = l.task.Conversation.Native
	} else {
		v["session"] = newID()
	}
	extra := []any{}
	for _, arg := range l.set.Args {
		extra = append(extra, string(arg))
	}
	v["extra"] = extra
	l.export(v)
	maps.Copy(v, allowed.values)
	if l.task.Untrusted {
		v["isolated"] = "1"
	}
	for _, variable := range l.x.environment(l.task) {
		if name, value, ok := strings.Cut(variable, "="); ok {
			v["env."+name] = value
		}
	}
	for name, value := range l.set.Env {
		v["env."+name] = string(value)
	}
	for _, c := range l.x.m().chosen {
		if c.when == "" || v.has(c.when) {
			v[c.name], _ = fill(c.is, v)
		}
	}
	l.values = v
}

// export sets the values with which the CLI exports spans to where that of its attempt is sent.
func (l *launch) export(v values) {
	t := l.task.Telemetry
	if t == nil || l.task.Untrusted {
		return
	}
	v["otlp_endpoint"] = t.Endpoint
	if base, ok := strings.CutSuffix(t.Endpoint, "/v1/traces"); ok {
		v["otlp_base"] = base
	}
	args := []any{}
	for _, arg := range arguments(l.x.m().telemetry.args, v) {
		args = append(args, arg)
	}
	v["telemetry"] = args
}

// exporting returns the environment of a CLI that exports spans. If they are not in the trace of the attempt, they say
// to which attempt they belong.
func (l *launch) exporting(env []string) []string {
	t, m := l.task.Telemetry, l.x.m().telemetry
	if t == nil || l.task.Untrusted || len(m.args)+len(m.env) == 0 {
		return env
	}
	env = with(append(slices.Clone(env), t.Environ...), m.env, l.values)
	if m.joins {
		return env
	}
	about := fmt.Sprintf("hocket.run=%s,hocket.address=%s,hocket.attempt=%d", url.PathEscape(l.task.Run), url.PathEscape(l.task.Address), l.task.Attempt)
	if more := lookupEnv(env, "OTEL_RESOURCE_ATTRIBUTES"); more != "" {
		about = more + "," + about
	}
	return append(env, "OTEL_RESOURCE_ATTRIBUTES="+about)
}

// newID returns a random UUID, version 4.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// workDir returns the directory to run in, absolute and inside the project.
func workDir(project, dir string) (string, error) {
	if dir == "" {
		return project, nil
	}
	root, err := os.OpenRoot(project)
	if err != nil {
		return "", err
	}
	defer root.Close()
	dir = filepath.Clean(filepath.FromSlash(dir)) // otherwise a link before a .. would change its meaning
	info, err := root.Stat(dir)
	if err != nil {
		return "", agent.PathError(dir, err)
	}
	if !info.IsDir() {
		return "", agent.Permanentf("dir %q is not a directory", dir)
	}
	return filepath.Join(project, dir), nil
}

// allServers returns the MCP servers that the CLI connects to: those of the task, and one
// with the tools of the task.
func (l *launch) allServers(ctx context.Context, log agent.Log) ([]agent.Server, error) {
	servers := slices.Clone(l.task.Servers)
	for i := range servers {
		// The CLI starts them in its working directory, but the files in their arguments
		// and variables were approved relative to the project.
		command := servers[i].Command
		if len(command) == 0 {
			continue
		}
		words := slices.AppendSeq(slices.Clone(command), maps.Values(servers[i].Env))
		if !trust.SameMaterial(l.task.Dir, command[0], l.dir, l.task.Dir, words...) {
			return nil, agent.Permanentf("the MCP server %q would use different files in %s than in the project; use absolute paths, or remove `dir`", servers[i].Name, l.set.Dir)
		}
	}
	if len(l.task.Tools) > 0 {
		server, stop, err := serve(ctx, l.task, log)
		if err != nil {
			return nil, fmt.Errorf("cli: tools for %s: %w", l.x.m().Name, err)
		}
		l.stop = append(l.stop, stop)
		servers = append(servers, server)
	}
	return servers, nil
}

var serverName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// writeServers writes the servers in the format of the CLI.
func (l *launch) writeServers() (map[string]any, error) {
	out := map[string]any{}
	if l.x.m().newServers && len(l.servers) > 0 && l.values.has("resume") {
		return nil, agent.Permanentf("%s cannot change the tools of a conversation that it continues; remove the session or the tools, or choose the mode ask", l.x.m().Name)
	}
	for i := range l.servers {
		s := &l.servers[i]
		kind := "url"
		if len(s.Command) > 0 {
			kind = "command"
		}
		form, ok := l.x.m().serverForms[kind]
		switch {
		case !ok:
			return nil, agent.Permanentf("%s does not support MCP servers with a %s, such as %q", l.x.m().Name, kind, s.Name)
		case !serverName().MatchString(s.Name):
			return nil, agent.Permanentf("invalid MCP server name %q: use letters, digits, _ and -", s.Name)
		}
		v, err := l.serverValues(s)
		if err != nil {
			return nil, err
		}
		out[s.Name], _ = fill(form, v)
	}
	return out, nil
}

// serverValues returns the values that the format of a server may name. Secrets can be
// passed as variables in the CLI's environment.
func (l *launch) serverValues(s *agent.Server) (values, error) {
	v := values{"name": s.Name, "url": s.URL, "env": object(s.Env), "headers": object(s.Headers)}
	if len(s.Command) > 0 {
		v["command"], v["argv"], v["args"] = s.Command[0], list(s.Command), list(s.Command[1:])
	}
	if l.x.m().uses["env_names"] {
		for name, value := range s.Env {
			if other, taken := l.passed[name]; taken && other != value {
				return nil, agent.Permanentf("two MCP servers need different values for the variable %s, and %s supports only one", name, l.x.m().Name)
			}
			l.passed[name] = value
		}
		v["env_names"] = list(sorted.Keys(s.Env))
	}
	if l.x.m().uses["header_variables"] {
		names := map[string]any{}
		for i, header := range sorted.Keys(s.Headers) {
			name := fmt.Sprintf("HOCKET_HEADER_%s_%d", strings.ReplaceAll(s.Name, "-", "_"), i)
			l.passed[name], names[header] = s.Headers[header], name
		}
		v["header_variables"] = names
	}
	return v, nil
}

func object(m map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range m {
		out[key] = value
	}
	return out
}

func list(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// writeFiles writes the files of the run into a new directory that only the user can read.
func (l *launch) writeFiles() error {
	m := l.x.m()
	if len(m.files) == 0 && !m.uses["tmp"] {
		return nil
	}
	if err := l.makeTemp(); err != nil {
		return fmt.Errorf("cli: files for %s: %w", m.Name, err)
	}
	l.values["tmp"] = l.tmp
	for _, f := range m.files {
		content, ok := f.fill(l.values)
		if !ok || f.when != "" && !l.values.has(f.when) {
			continue
		}
		path := filepath.Join(l.tmp, filepath.FromSlash(f.name))
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			return fmt.Errorf("cli: files for %s: %w", m.Name, err)
		}
		l.values[f.id] = path
	}
	return nil
}

// fill returns the content of the file; false if there is nothing to write.
func (f *file) fill(v values) (string, bool) {
	if form, isJSON := f.content.(jsonForm); isJSON {
		value, ok := fill(form.form, v)
		return workflow.FormatJSON(value), ok
	}
	value, ok := fill(f.content, v)
	return workflow.FormatText(value), ok
}

// makeTemp creates the directory. Its name is derived from the key of the attempt, so that
// files left by a crash are found when the attempt is repeated.
func (l *launch) makeTemp() error {
	sum := sha256.Sum256([]byte(l.task.Key))
	path := filepath.Join(l.x.o.Dir, "run-"+hex.EncodeToString(sum[:8]))
	if l.task.Key == "" {
		path = filepath.Join(l.x.o.Dir, "run-"+newID())
	}
	var err error
	if l.x.o.Dir == "" {
		path, err = os.MkdirTemp("", "hocket-cli-")
	} else if err = os.RemoveAll(path); err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err != nil {
		return err
	}
	l.tmp = path
	l.stop = append(l.stop, func() { _ = os.RemoveAll(path) }) // a process that hangs may hold it; the next attempt removes it
	return nil
}

// userFiles returns what the CLI writes even if its task may write only in certain places.
func (l *launch) userFiles() []string {
	var files []string
	for _, t := range l.x.m().userFiles {
		if file, ok := t.text(l.values); ok && filepath.IsAbs(file) {
			files = append(files, file)
		}
	}
	if l.tmp != "" {
		files = append(files, l.tmp)
	}
	return files
}

// command returns the CLI, ready to run.
func (l *launch) command(path string, args, env []string) *process.Command {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = l.dir, env
	return &process.Command{Cmd: cmd, Key: l.task.Key, Grace: l.x.o.Grace, Limit: l.limit}
}

// with returns an environment with the changes of a manifest.
func with(env []string, of []variable, known values) []string {
	env = slices.Clone(env)
	for _, v := range of {
		if v.unset {
			env = slices.DeleteFunc(env, func(have string) bool { return strings.HasPrefix(have, v.name+"=") })
		} else if value, ok := v.value.text(known); ok {
			env = append(env, v.name+"="+value)
		}
	}
	return env
}

// env returns the environment of the CLI: ours, then the manifest's, the servers', the
// settings'. The last value of a name counts.
func (l *launch) env(of []variable) []string {
	env := slices.DeleteFunc(slices.Clone(l.x.environment(l.task)), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "HOCKET_INPUT") || name == "HOCKET_LABELS" || name == "HOCKET_FEEDBACK" || name == "HOCKET_TRUST"
	})
	env = l.exporting(with(env, of, l.values))
	for _, name := range sorted.Keys(l.passed) {
		env = append(env, name+"="+l.passed[name])
	}
	for _, name := range sorted.Keys(l.set.Env) {
		env = append(env, name+"="+string(l.set.Env[name]))
	}
	return append(env, "PWD="+l.dir, "HOCKET_RUN="+l.task.Run, "HOCKET_WORKFLOW="+l.task.Workflow, "HOCKET_NODE="+l.task.Node,
		"HOCKET_ADDRESS="+l.task.Address, "HOCKET_ATTEMPT="+strconv.Itoa(l.task.Attempt), "HOCKET_PROJECT="+l.task.Dir)
}

// Start describes a CLI ready for a conversation, for a [Driver].
type Start struct {
	Manifest *Manifest
	Quirks   Quirks           // of its conversations
	Command  *process.Command // not started
	Dir      string           // absolute
	Model    string           // "": the CLI's own
	Mode     Mode             // what the agent may do; "": not specified
	Meta     map[string]any   // further parameters for opening the conversation; nil: none
	// Permissions decide about requests of the CLI, as far as the definition names them.
	Permissions agent.Permissions
	Servers     []agent.Server // MCP servers, including one with the tools of the task
	MaxBytes    int            // of the answer
	Prices      agent.Prices   // may be nil
	Now         func() time.Time
}
