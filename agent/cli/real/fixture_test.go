// Package realtest runs the real CLI agents, installed by the script setup, against a
// scripted model. That takes minutes, so it runs only if HOCKET_CLIS names their
// directory: `make clis` does both. In hocket_test.go the CLIs are clients of Hocket's own
// MCP server.
package realtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/acp"
	"github.com/hocket-dev/hocket/internal/fakemodel"
)

// patience is the time limit for a case. It stops what hangs; nothing else depends on it.
const patience = 5 * time.Minute

// clis returns the directory of the CLIs' programs.
func clis(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOCKET_CLIS")
	if dir == "" {
		t.Skip("HOCKET_CLIS does not say where the CLIs are installed; `make clis` does that, and runs this")
	}
	return filepath.Join(dir, "node_modules", ".bin")
}

// fixture is one CLI with its own home, project and model.
type fixture struct {
	cli     string
	server  *fakemodel.Server
	home    string
	project string
	files   string // of runs; gemini reads none below a directory that all may write to, as that of tests is
	env     []string
	prices  agent.Prices
	mu      sync.Mutex
	log     bytes.Buffer
	entries []agent.Entry // from the transcripts
	model   string        // the last one recorded
}

// homes holds what each CLI needs to find the scripted model: variables, and files in its
// home.
var homes = map[string]struct {
	env   []string
	files map[string]string
}{
	"claude": {env: []string{"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_API_KEY={key}", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}},
	"codex": {
		env: []string{"FAKE_KEY={key}", "CODEX_HOME={home}/.codex", "MODEL_PROVIDER=fake"},
		files: map[string]string{".codex/config.toml": `model = "gpt-5.4"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
`},
	},
	"gemini": {
		env:   []string{"GEMINI_API_KEY={key}", "GOOGLE_GEMINI_BASE_URL={url}", "GEMINI_CLI_HOME={home}"},
		files: map[string]string{".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"telemetry":{"enabled":false},"privacy":{"usageStatisticsEnabled":false}}`},
	},
	"opencode": {
		env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1"},
		files: map[string]string{".config/opencode/opencode.json": `{"model":"fake/fake-model","small_model":"fake/fake-model","provider":{"fake":{
"npm":"@ai-sdk/openai-compatible","options":{"baseURL":"{url}/v1","apiKey":"{key}"},
"models":{"fake-model":{"name":"F","limit":{"context":200000,"output":8000},"cost":{"input":3,"output":15}}}}}}`},
	},
	"qwen": {env: []string{"OPENAI_API_KEY={key}", "OPENAI_BASE_URL={url}/v1", "OPENAI_MODEL=fake-model"}},
	// It unpacks 190 MB into its cache on the first run.
	"copilot": {env: []string{"COPILOT_PROVIDER_BASE_URL={url}/v1", "COPILOT_PROVIDER_API_KEY={key}", "COPILOT_MODEL=fake-model", "COPILOT_OFFLINE=true", "XDG_CACHE_HOME={clis}/cache"}},
	"goose":   {env: []string{"GOOSE_PROVIDER=openai", "GOOSE_MODEL=gpt-4o", "OPENAI_API_KEY={key}", "OPENAI_HOST={url}", "OPENAI_BASE_PATH=v1/chat/completions", "GOOSE_DISABLE_KEYRING=1"}},
}

// models are the models that the cases name: without one, a CLI may first ask another
// model which to use.
var models = map[string]string{"claude": "sonnet", "codex": "gpt-5.4", "gemini": "gemini-2.5-flash", "opencode": "fake/fake-model", "qwen": "fake-model", "copilot": "fake-model", "goose": "gpt-4o"}

func newFixture(t *testing.T, name, key string) *fixture {
	t.Helper()
	bin := clis(t)
	if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
		t.Skipf("%s is not installed; agent/cli/real/setup does that", name)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	f := &fixture{cli: name, server: fakemodel.Start(t), home: t.TempDir(), project: t.TempDir()}
	if f.files, err = os.MkdirTemp(os.Getenv("HOCKET_CLIS"), "files-"); err != nil { //nolint:usetesting // see fixture.files
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(f.files) })
	fill := strings.NewReplacer("{url}", f.server.URL, "{key}", key, "{home}", f.home, "{clis}", os.Getenv("HOCKET_CLIS"))
	f.env = []string{"HOME=" + f.home, "PATH=" + bin + ":" + filepath.Dir(node) + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TMPDIR=" + t.TempDir()}
	for _, v := range homes[name].env {
		variable, value, _ := strings.Cut(v, "=")
		f.env = append(f.env, variable+"="+fill.Replace(value))
	}
	for path, text := range homes[name].files {
		path = filepath.Join(f.home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(fill.Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.report(t)
		}
	})
	return f
}

// report logs what the CLI printed and requested.
func (f *fixture) report(t *testing.T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("log:\n%s", f.log.String())
	for _, r := range f.server.All() {
		body := r.Body
		if len(body) > 300 {
			body = append(append([]byte{}, body[:200]...), body[len(body)-100:]...)
		}
		t.Logf("asked: %s, %d turns: %s", r.Path, r.Turns, body)
	}
}

// attempt is one task; steps are what the model does.
type attempt struct {
	mode         string         // permission mode; "" for the default
	permissions  map[string]any // besides the mode
	model        string         // "" for the one in models
	system       string
	steps        []fakemodel.Step
	schema       any
	servers      []agent.Server
	conversation *agent.Conversation
	ask          agent.Ask
	maxOutputKB  int
	untrusted    bool // the project is not trusted
	writes       *agent.WriteLimit
	telemetry    *agent.Telemetry
}

func (f *fixture) run(ctx context.Context, t *testing.T, a attempt) (agent.Result, error) {
	t.Helper()
	ctx, stop := context.WithTimeoutCause(ctx, patience, errors.New("the case timed out"))
	defer stop()
	x := cli.New(cli.Options{
		Builtin: f.cli, Env: f.env, Dir: f.files, Prices: f.prices, Grace: 2 * time.Second, Converse: acp.Converse,
	})
	task := &agent.Task{
		Key: f.key(t), Dir: f.project, Prompt: "Do as the script says.\n\n" + fakemodel.Prompt(a.steps...), Settings: map[string]any{},
		Agent: &agent.Definition{Name: f.cli, Model: cmp.Or(a.model, models[f.cli]), Prompt: a.system, MaxOutputKB: a.maxOutputKB},
		Ask:   a.ask, Servers: a.servers, Conversation: a.conversation, Untrusted: a.untrusted, Writes: a.writes, Telemetry: a.telemetry,
	}
	if a.mode != "" {
		task.Agent.Permissions = map[string]any{"mode": a.mode}
		maps.Copy(task.Agent.Permissions, a.permissions)
	}
	task.KeepEntry = func(e agent.Entry) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.entries = append(f.entries, e)
	}
	task.NoteModel = func(model string) { f.model = model }
	task.Output.Schema = schemaOf(a.schema)
	if task.Ask == nil {
		task.Ask = func(context.Context, agent.Question) (string, error) { return "", agent.ErrNobody }
	}
	result, err := x.Run(ctx, task, func(piece []byte) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.log.Write(piece)
	})
	gone, cancel := context.WithTimeout(context.Background(), 5*time.Second) // the system may take a moment to carry out a kill
	defer cancel()
	when(gone, func() bool { return len(f.left(t)) == 0 }, func() {})
	if left := f.left(t); len(left) > 0 {
		t.Errorf("processes are left: %s", strings.Join(left, ", "))
	}
	return result, err
}

func (f *fixture) key(t *testing.T) string {
	return fmt.Sprintf("real-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

// left returns the processes of the attempt that still run: those with its key in their
// environment. Zombies do not count.
func (f *fixture) left(t *testing.T) []string {
	var found []string
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("="+f.key(t)+"\x00")) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found = append(found, filepath.Base(filepath.Dir(path))+" "+strings.ReplaceAll(string(name), "\x00", " "))
	}
	return found
}

// program returns the path of the CLI.
func (f *fixture) program() string {
	return filepath.Join(os.Getenv("HOCKET_CLIS"), "node_modules", ".bin", f.cli)
}

// file returns a path in the project.
func (f *fixture) file(name string) string { return filepath.Join(f.project, name) }

// put writes a file of the project.
func (f *fixture) put(t *testing.T, name, text string) {
	t.Helper()
	name = f.file(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) has(name string) bool {
	_, err := os.Stat(f.file(name))
	return err == nil
}

// told reports whether the model was sent some words.
func (f *fixture) told(words string) bool {
	return told(f.server.Requests(), words)
}

func told(requests []*fakemodel.Request, words string) bool {
	return slices.ContainsFunc(requests, func(r *fakemodel.Request) bool { return bytes.Contains(r.Body, []byte(words)) })
}

func (f *fixture) logged() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.String()
}

// when calls do once so returns true, unless ctx is done before. It polls, because the
// model and the CLI are other processes.
func when(ctx context.Context, so func() bool, do func()) {
	for !so() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	do()
}
