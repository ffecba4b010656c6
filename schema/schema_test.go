package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/schema"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/trial"
	"github.com/hocket-dev/hocket/workflow"
)

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"agent", "cli", "config", "handoff-result", "handoff-state", "replies", "test", "tool", "trigger", "workflow"}, schema.Names()); diff != "" {
		t.Error(diff)
	}
	if _, err := schema.JSON("task"); err == nil || !strings.Contains(err.Error(), "the schemas are agent, cli, config") {
		t.Errorf("got %v", err)
	}
}

func load(t *testing.T, name string) any {
	t.Helper()
	text, err := schema.JSON(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, load(t, name)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The states and results of sessions follow their schemas.
func TestSessionSchemas(t *testing.T) {
	response, err := json.Marshal(protocol.ReadResponse(`<agent_response session_id="a" status="COMPLETED"><summary>s</summary>
		<files><file path="a.md">t</file></files><decisions><decision for="1">yes</decision></decisions><reports><report>r</report></reports>
		<errors><error>e</error></errors><recommendations><recommendation>r</recommendation></recommendations></agent_response>`))
	if err != nil {
		t.Fatal(err)
	}
	const state = `{"session_id": "a", "status": "RUNNING", "phase": "pending", "mode": "spawn", "workflow": "none", "summary": "s", "priority": "low",
		"created": "2026-01-02T03:04:05Z", "attempts": 0, "run": "a", "cost_usd": 0, "tokens_in": 0, "tokens_out": 0, "handoff_version": "1.0"}`
	result := `{"service": "up", "handoff": {"session_id": "a", "status": "COMPLETED", "response": ` + string(response) + `,
		"deliverables": [{"kind": "file", "path": "a.md", "text": "t", "required": true, "ok": true}]}}`
	for _, c := range []struct {
		schema, text string
		valid        bool
	}{
		{"handoff-state", state, true},
		{"handoff-state", strings.Replace(state, `"phase": "pending",`, "", 1), false},
		{"handoff-state", strings.Replace(state, "RUNNING", "FAILED", 1), false},
		{"handoff-state", strings.NewReplacer("RUNNING", "FAILED", `"phase": "pending",`, `"error": "no",`).Replace(state), true},
		{"handoff-result", result, true},
		{"handoff-result", `{"handoff": {"session_id": "a", "status": "FAILED", "error": "no", "deliverables": []}}`, true},
		{"handoff-result", strings.Replace(result, `"kind": "file"`, `"kind": "folder"`, 1), false},
		{"handoff-result", strings.Replace(result, `"COMPLETED", "response"`, `"RUNNING", "response"`, 1), false},
		{"handoff-result", `{"service": "up"}`, false},
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compile(t, c.schema).Validate(value); (err == nil) != c.valid {
			t.Errorf("%s: %s: %v", c.schema, c.text, err)
		}
	}
}

// Every file that a reader accepts is valid.
func TestAcceptedFilesAreValid(t *testing.T) {
	for name, patterns := range map[string][]string{
		"workflow": {"../syntax/yaml/testdata/ok/*.yml", "../syntax/yaml/testdata/ok/*.format", "../syntax/yaml/testdata/fmt/*.yml", "../examples/*.yml"},
		"replies":  {"../examples/replies/*.yml", "../examples/handoff/replies/*.yml"},
		"cli":      {"../agent/cli/manifests/*.yml"},
		"tool":     {"../agent/tool/sample/*/tool.yml", "../agent/tool/builtin/*/tool.yml", "../examples/.hocket/tools/*/tool.yml"},
		"trigger":  {"../examples/*/.hocket/triggers/*.yml"},
		"test":     {"../examples/.hocket/tests/*.yml", "../examples/*/.hocket/tests/*.yml"},
	} {
		compiled := compile(t, name)
		for _, pattern := range patterns {
			files, err := filepath.Glob(pattern)
			if err != nil || len(files) == 0 {
				t.Errorf("no files in %s: %v", pattern, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := compiled.Validate(strictyaml.Read(file, text).Root().Value()); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}

// The schema also finds the structural mistakes that the reader finds, except those that can only
// be seen in a whole workflow.
func TestRefusedFilesAreInvalid(t *testing.T) {
	compiled := compile(t, "workflow")
	for _, name := range []string{"keys", "adaptive", "kinds", "types"} {
		text, err := os.ReadFile("../syntax/yaml/testdata/bad/" + name + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		if compiled.Validate(strictyaml.Read(name, text).Root().Value()) == nil {
			t.Errorf("%s.yml is valid", name)
		}
	}
}

func readTest(text string) workflow.Diagnostics {
	_, found := trial.Read("/project", "/project/.hocket/tests/t.yml", []byte(text))
	return found
}

// stray is an unknown key, which makes a reader list the keys that it knows.
const stray = "qqqqqqqqqqqqqqqq: 1"

var known = regexp.MustCompile(`the keys here are (.*)$`)

// The keys of every map are those that its reader asks for.
func TestKeysAreThoseOfTheReaders(t *testing.T) {
	readWorkflow := func(text string) workflow.Diagnostics {
		_, found := yaml.Parse("f.yml", []byte(text))
		return found
	}
	readAgent := func(text string) workflow.Diagnostics {
		_, found := agent.ReadDefinition("f.yml", []byte(text))
		return found
	}
	readReplies := func(text string) workflow.Diagnostics {
		_, found := scripted.Parse("f.yml", []byte(text))
		return found
	}
	readTool := func(text string) workflow.Diagnostics {
		_, found := tool.Read("f/tool.yml", []byte(text))
		return found
	}
	readCLI := func(text string) workflow.Diagnostics {
		_, found := cli.ReadManifest("f.yml", []byte(text))
		return found
	}
	for _, c := range []struct {
		schema, path string
		read         func(string) workflow.Diagnostics
		text         string
	}{
		{"workflow", "properties", readWorkflow, stray},
		{"workflow", "definitions/declaration/properties", readWorkflow, "inputs: {a: {" + stray + "}}"},
		{"workflow", "definitions/lane/anyOf/1/properties", readWorkflow, "agents: [{" + stray + "}]"},
		{"workflow", "definitions/limits/properties", readWorkflow, "limits: {" + stray + "}"},
		{"workflow", "definitions/step/properties", readWorkflow, "steps: [{" + stray + "}]"},
		{"workflow", "definitions/human/anyOf/1/properties", readWorkflow, "steps: [{human: {" + stray + "}}]"},
		{"workflow", "definitions/option/anyOf/1/properties", readWorkflow, "steps: [{human: {options: [{" + stray + "}]}}]"},
		{"workflow", "definitions/combine/properties", readWorkflow, "steps: [{combine: {strategy: vote, " + stray + "}}]"},
		{"workflow", "definitions/choice/anyOf/1/properties", readWorkflow, "steps: [{choice: {" + stray + "}}]"},
		{"workflow", "definitions/loop/properties", readWorkflow, "steps: [{loop: {steps: [{agent: a}], " + stray + "}}]"},
		{"workflow", "definitions/way/properties", readWorkflow, "steps: [{agent: a, route: [{label: a, to: end, " + stray + "}]}]"},
		{"workflow", "definitions/output/anyOf/1/properties", readWorkflow, "steps: [{agent: a, output: {" + stray + "}}]"},
		{"workflow", "definitions/retry/anyOf/1/properties", readWorkflow, "steps: [{agent: a, retry: {" + stray + "}}]"},
		{"agent", "properties", readAgent, stray},
		{"agent", "properties/retry/anyOf/1/properties", readAgent, "retry: {" + stray + "}"},
		{"agent", "properties/budget/properties", readAgent, "budget: {" + stray + "}"},
		{"agent", "properties/source/properties", readAgent, "source: {" + stray + "}"},
		{"tool", "properties", readTool, stray},
		{"tool", "properties/permissions/properties", readTool, "permissions: {" + stray + "}"},
		{"tool", "properties/permissions/properties/fs/anyOf/1/properties", readTool, "permissions: {fs: {" + stray + "}}"},
		{"tool", "properties/examples/items/properties", readTool, "examples: [{" + stray + "}]"},
		{"tool", "properties/http/properties", readTool, "kind: http\nhttp: {" + stray + "}"},
		{"tool", "definitions/field/anyOf/1/properties", readTool, "kind: http\nhttp: {query: {a: {" + stray + "}}}"},
		{"tool", "properties/command/anyOf/1/properties", readTool, "kind: command\ncommand: {" + stray + "}"},
		{"tool", "properties/script/properties", readTool, "kind: script\nscript: {" + stray + "}"},
		{"tool", "properties/search/properties", readTool, "kind: search\nsearch: {" + stray + "}"},
		{"trigger", "properties", readTrigger(t), stray},
		{"trigger", "properties/webhook/properties", readTrigger(t), "webhook: {" + stray + "}"},
		{"trigger", "properties/files/anyOf/1/properties", readTrigger(t), "files: {" + stray + "}"},
		{"trigger", "properties/after/anyOf/1/properties", readTrigger(t), "after: {" + stray + "}"},
		{"config", "properties", readConfig(t), stray},
		{"config", "properties/workflows/properties", readConfig(t), "workflows: {" + stray + "}"},
		{"config", "definitions/budgets/properties", readConfig(t), "workflows: {budgets: {" + stray + "}}"},
		{"config", "properties/providers/additionalProperties/properties", readConfig(t), "providers: {openai: {" + stray + "}}"},
		{"config", "properties/prices/additionalProperties/properties", readConfig(t), "prices: {m: {" + stray + "}}"},
		{"config", "definitions/place/properties", readConfig(t), "secrets: {s: {" + stray + "}}"},
		{"config", "properties/mcp/additionalProperties/properties", readConfig(t), "mcp: {m: {" + stray + "}}"},
		{"config", "definitions/values/additionalProperties/anyOf/1/properties", readConfig(t), "mcp: {m: {url: x, headers: {h: {" + stray + "}}}}"},
		{"config", "properties/mcp/additionalProperties/properties/login/properties", readConfig(t), "mcp: {m: {url: x, login: {" + stray + "}}}"},
		{"config", "properties/mcp/additionalProperties/properties/login/properties/client_secret/properties", readConfig(t), "mcp: {m: {url: x, login: {client_id: a, client_secret: {" + stray + "}}}}"},
		{"config", "properties/context/properties", readConfig(t), "context: {" + stray + "}"},
		{"config", "properties/temporal/properties", readConfig(t), "temporal: {" + stray + "}"},
		{"config", "properties/temporal/properties/tls/anyOf/1/properties", readConfig(t), "temporal: {tls: {" + stray + "}}"},
		{"config", "properties/browser/properties", readConfig(t), "browser: {" + stray + "}"},
		{"config", "properties/notify/items/properties", readConfig(t), "notify: [{" + stray + "}]"},
		{"config", "properties/notify/items/properties/webhook/properties", readConfig(t), "notify: [{on: done, webhook: {" + stray + "}}]"},
		{"config", "properties/notify/items/properties/email/properties", readConfig(t), "notify: [{on: done, email: {" + stray + "}}]"},
		{"config", "definitions/occasion/anyOf/1/properties", readConfig(t), "notify: [{on: [{" + stray + "}], command: [x]}]"},
		{"cli", "properties", readCLI, stray},
		{"cli", "properties/version/properties", readCLI, "version: {" + stray + "}"},
		{"cli", "properties/permissions/properties", readCLI, "permissions: {" + stray + "}"},
		{"cli", "properties/values/additionalProperties/properties", readCLI, "values: {a: {" + stray + "}}"},
		{"cli", "properties/files/additionalProperties/properties", readCLI, "files: {a: {" + stray + "}}"},
		{"cli", "properties/servers/properties", readCLI, "servers: {" + stray + "}"},
		{"cli", "properties/reply/properties", readCLI, "reply: {" + stray + "}"},
		{"cli", "definitions/errors/items/properties", readCLI, "errors: [{" + stray + "}]"},
		{"cli", "properties/acp/properties", readCLI, "acp: {" + stray + "}"},
		{"cli", "definitions/arguments/items/anyOf/1/properties", readCLI, "args: [{" + stray + "}]"},
		{"cli", "definitions/rule/properties", readCLI, "reply: {rules: [{" + stray + "}]}"},
		{"cli", "definitions/rule/properties/take/properties", readCLI, "reply: {rules: [{take: {" + stray + "}}]}"},
		{"cli", "definitions/figures/properties", readCLI, "reply: {rules: [{add: {" + stray + "}}]}"},
		{"cli", "definitions/conditions/additionalProperties/anyOf/1/properties", readCLI, "reply: {rules: [{when: {a: {" + stray + "}}}]}"},
		{"replies", "definitions/long/properties", readReplies, "a: {output: x, " + stray + "}"},
		{"test", "properties", readTest, stray},
		{"test", "definitions/case/properties", readTest, "cases: [{" + stray + "}]"},
		{"test", "definitions/expect/properties", readTest, "cases: [{expect: {" + stray + "}}]"},
		{"test", "definitions/long/properties", readTest, "replies: {a: {output: x, " + stray + "}}"},
		{"test", "definitions/files/additionalProperties/anyOf/1/properties", readTest, "files: {a: {" + stray + "}}"},
		{"test", "definitions/expect/properties/cost_usd/anyOf/1/properties", readTest, "cases: [{expect: {cost_usd: {" + stray + "}}}]"},
	} {
		if diff := cmp.Diff(keysRead(t, c.read(c.text)), properties(t, c.schema, c.path)); diff != "" {
			t.Errorf("%s %s (-reader +schema):\n%s", c.schema, c.path, diff)
		}
	}
}

// The schemas accept the triggers, notifications and servers that the readers accept, and no others. The mistakes are those that
// can be seen in one file.
func TestTriggersNotificationsAndServers(t *testing.T) {
	const start, secrets = "workflow: w\n", "secrets: {S: {env: S}}\nnotify: "
	for _, c := range []struct {
		schema string
		read   func(string) workflow.Diagnostics
		text   string
		valid  bool
	}{
		{"trigger", readTrigger(t), start + "schedule: \"30 3 * * 1-5\"\nzone: UTC\nmissed: all\n", true},
		{"trigger", readTrigger(t), start + "schedule: \"@daily\"\noverlap: skip\nenabled: false\n", true},
		{"trigger", readTrigger(t), start + "webhook: {secret: S}\ninputs: {a: \"${body}\"}\n", true},
		{"trigger", readTrigger(t), start + "files: inbox/*\n", true},
		{"trigger", readTrigger(t), start + "files: [a, \"**/b.md\"]\n", true},
		{"trigger", readTrigger(t), start + "files: {paths: [a], settle: 1m30s}\n", true},
		{"trigger", readTrigger(t), start + "after: w\n", true},
		{"trigger", readTrigger(t), start + "after: {workflow: w, status: error}\n", true},
		{"trigger", readTrigger(t), start + "after: {workflow: w, status: [error, timeout]}\n", true},
		{"trigger", readTrigger(t), "after: w\n", false},
		{"trigger", readTrigger(t), start, false},
		{"trigger", readTrigger(t), start + "after: w\nfiles: a\n", false},
		{"trigger", readTrigger(t), start + "after: w\nzone: UTC\n", false},
		{"trigger", readTrigger(t), start + "schedule: 3\n", false},
		{"trigger", readTrigger(t), start + "schedule: \"@every 3s\"\n", false},
		{"trigger", readTrigger(t), start + "schedule: \"0 3 * *\"\n", false},
		{"trigger", readTrigger(t), start + "webhook: {}\n", false},
		{"trigger", readTrigger(t), start + "files: []\n", false},
		{"trigger", readTrigger(t), start + "files: /etc/passwd\n", false},
		{"trigger", readTrigger(t), start + "files: inbox/\n", false},
		{"trigger", readTrigger(t), start + "files: {paths: a, settle: 5}\n", false},
		{"trigger", readTrigger(t), start + "after: {workflow: w, status: failed}\n", false},
		{"trigger", readTrigger(t), start + "after: w\noverlap: wait\n", false},
		{"config", readConfig(t), secrets + "[{on: done, command: [x], env: {A: b}}]", true},
		{"config", readConfig(t), secrets + "[{on: [failed, {cost: 5}], webhook: {url: {secret: S}, format: slack}}]", true},
		{"config", readConfig(t), secrets + "[{on: waiting, email: {to: a@example.org, from: b@example.org, server: \"smtp.example.org:587\"}}]", true},
		{"config", readConfig(t), "driver: temporal\ntemporal: {address: \"a.example:7233\", namespace: n, queue: q, store: \"s3://b/p\", tls: true}", true},
		{"config", readConfig(t), "temporal: {address: \"[::1]:7233\", store: ../runs, tls: {ca: ca.pem, cert: a, key: b, server_name: c}}", true},
		{"config", readConfig(t), "temporal: {address: a.example}", false},
		{"config", readConfig(t), "temporal: {queue: a/b}", false},
		{"config", readConfig(t), "temporal: {store: \"gs://b/p\"}", false},
		{"config", readConfig(t), "temporal: {tls: {cert: a}}", false},
		{"config", readConfig(t), secrets + "[{on: done}]", false},
		{"config", readConfig(t), secrets + "[{command: [x]}]", false},
		{"config", readConfig(t), secrets + "[{on: done, command: [x], webhook: {url: \"https://example.org\"}}]", false},
		{"config", readConfig(t), secrets + "[{on: done, webhook: {url: \"https://example.org\"}, env: {A: b}}]", false},
		{"config", readConfig(t), secrets + "[{on: often, command: [x]}]", false},
		{"config", readConfig(t), secrets + "[{on: {cost: 0}, command: [x]}]", false},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {cost_usd: {max: 1}, files: {a: null}, taken: b}}]", true},
		{"test", readTest, "cases: [{name: a, workflow: w, inputs: {a: [1]}, files: {a/b: x}, replies: {a: [x, {error: e, permanent: true}]}, expect: {output: {matches: x.*}}}]", true},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {workspaces: {fix: {a.txt: {contains: x}, b.txt: null}, 'look[1]': {c: 1}}}}]", true},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {workspaces: {fix: a.txt}}}]", false},
		{"test", readTest, "workflow: w\ncases: []", false},
		{"test", readTest, "workflow: w", false},
		{"test", readTest, "workflow: w\ncases: [{expect: {status: success}}]", false},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {status: done}}]", false},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {cost_usd: {}}}]", false},
		{"test", readTest, "workflow: w\ncases: [{name: a, expect: {attempts: {a: -1}}}]", false},
		{"test", readTest, "workflow: w\ncases: [{name: a, files: {a: {}}}]", false},
	} {
		if found := c.read(c.text); found.Errors() == c.valid {
			t.Errorf("the reader says about %q: %v", c.text, found)
		}
		if err := compile(t, c.schema).Validate(strictyaml.Read("f.yml", []byte(c.text)).Root().Value()); (err == nil) != c.valid {
			t.Errorf("the schema says about %q: %v", c.text, err)
		}
	}
}

// readTrigger reads a trigger of a project with a workflow and a secret.
func readTrigger(t *testing.T) func(string) workflow.Diagnostics {
	return func(text string) workflow.Diagnostics {
		dir := t.TempDir()
		for name, text := range map[string]string{"triggers/t.yml": text, "config.yml": "secrets: {S: {env: S}}\n", "workflows/w.yml": "steps: [{agent: shell, config: {command: \"true\"}}]\n"} {
			file := filepath.Join(dir, ".hocket", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p, err := project.Open(dir, project.Options{State: dir})
		if err != nil {
			t.Fatal(err)
		}
		return p.CheckTrigger(p.Triggers()[0])
	}
}

// readConfig reads the configuration of a project without other files.
func readConfig(t *testing.T) func(string) workflow.Diagnostics {
	return func(text string) workflow.Diagnostics {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".hocket"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".hocket", "config.yml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := project.Open(dir, project.Options{State: dir})
		if err != nil {
			t.Fatal(err)
		}
		return p.Diagnostics()
	}
}

func keysRead(t *testing.T, found workflow.Diagnostics) []string {
	t.Helper()
	for _, d := range found {
		if m := known.FindStringSubmatch(d.Detail); m != nil {
			keys := strings.Split(m[1], ", ")
			slices.Sort(keys)
			return keys
		}
	}
	t.Errorf("no keys in %v", found)
	return nil
}

// properties returns the keys at a path of a schema.
func properties(t *testing.T, name, path string) []string {
	t.Helper()
	at := load(t, name)
	for part := range strings.SplitSeq(path, "/") {
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			at = v[int(part[0]-'0')]
		}
	}
	object, ok := at.(map[string]any)
	if !ok {
		t.Fatalf("%s has no %s", name, path)
	}
	return slices.Sorted(maps.Keys(object))
}
