package trial_test

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/fakemodel"
	"github.com/hocket-dev/hocket/trial"
)

// recordsAlone records the file flow.yml with a real agent and a server, whose address is URL in the files. Then it replays the recording without
// the server, programs, a key and trust, and last with a change in the flow, which must be reported. It returns the requests to the model.
func recordsAlone(t *testing.T, files map[string]string, output, was, is, want string) []*fakemodel.Request {
	t.Helper()
	model := &fakemodel.Server{}
	web := httptest.NewServer(model)
	defer web.Close()
	t.Setenv("OWL_KEY", "sk-owl-0123456789")
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "URL", web.URL)
	}
	files[".hocket/tests/flow.yml"] = "workflow: flow.yml\ncases: [{name: a, cassette: cassettes/fix.yml, expect: {output: " + output + "}}]\n"
	root := project(t, files)
	trusting := hocket.Options{Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil }}
	mustPass(t, run(t, root, trial.Options{Host: trusting, Mode: trial.Record}))
	recorded := tape(t, root)
	if strings.Contains(recorded, "sk-owl") {
		t.Errorf("the cassette has the key:\n%s", recorded)
	}

	web.CloseClientConnections()
	web.Close()
	t.Setenv("OWL_KEY", "")
	t.Setenv("PATH", t.TempDir())
	mustPass(t, run(t, root, trial.Options{}))
	changed := strings.Replace(files["flow.yml"], was, is, 1)
	if changed == files["flow.yml"] {
		t.Fatalf("the flow has no %q", was)
	}
	write(t, root, "flow.yml", changed)
	if got := failures(run(t, root, trial.Options{})[0]); !strings.HasPrefix(got, want) || !strings.Contains(got, is) {
		t.Errorf("after a change: %s", got)
	}
	if tape(t, root) != recorded {
		t.Error("a replay changed the cassette")
	}
	return model.Requests()
}

const owls = "providers: {fake: {api: anthropic, base_url: \"URL\", key: {env: OWL_KEY}}}\n"

func TestModelsAreRecorded(t *testing.T) {
	made := recordsAlone(t, map[string]string{
		".hocket/config.yml":        owls,
		".hocket/agents/writer.yml": "agent: llm\nmodel: fake/owl-1\nprompt: You write about birds.\n",
		"flow.yml": `name: flow
steps:
  - {id: choose, agent: writer, output: bird, prompt: 'Choose a bird. FAKE{"steps":[{"text":"The owl."}]}'}
  - {id: praise, agent: writer, prompt: 'Praise ${bird} FAKE{"steps":[{"text":"It is wise."}]}'}
`,
	}, "It is wise.", "Praise", "Blame", "praise: the prompt is not what was recorded\n")
	if len(made) != 2 || !strings.Contains(string(made[1].Body), "Praise The owl.") {
		t.Errorf("%d requests", len(made))
	}
}

// A tool changes files, and its result leads to the answer of the model.
func TestToolsOfModelsAreRecorded(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	made := recordsAlone(t, map[string]string{
		".hocket/config.yml":        owls,
		".hocket/agents/writer.yml": "agent: llm\nmodel: fake/owl-1\nprompt: You count.\ntools: [word_count]\n",
		".hocket/tools/word_count/tool.yml": `description: Counts the words of a text.
kind: script
inputs: {text: string}
outputs: {words: integer}
script: {file: run.sh, interpreter: sh}
`,
		".hocket/tools/word_count/run.sh": "words=$(printf '%s' \"$HOCKET_INPUT_text\" | wc -w)\necho \"{\\\"words\\\": $((words))}\"\n",
		"flow.yml": `name: flow
steps:
  - {id: count, agent: writer, prompt: 'Count. FAKE{"steps":[{"tool":"word_count","args":{"text":"one two three"}},{"text":"There are three."}]}'}
`,
	}, "There are three.", "Count.", "Guess.", "count: the prompt is not what was recorded\n")
	if len(made) != 2 || !strings.Contains(string(made[1].Body), `\"words\": 3`) {
		t.Errorf("%d requests, the last of which is %s", len(made), made[len(made)-1].Body)
	}
}

func TestBrowsersAreRecorded(t *testing.T) {
	if !slices.ContainsFunc([]string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}, func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	}) {
		t.Skip("there is no Chromium; apt-get install chromium, or the equivalent for your system")
	}
	recordsAlone(t, map[string]string{
		"flow.yml": `name: flow
steps:
  - id: look
    agent: browser
    config: {private_network: true, steps: [{open: "URL/v1/models"}, {extract: body}]}
`,
	}, "{contains: fake-model}", "body", "html", "look: the settings are not what was recorded\n")
}
