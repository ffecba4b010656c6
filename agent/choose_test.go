package agent_test

import (
	"errors"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

// talker returns an executor that works from a prompt.
func talker(changes ...func(*agent.Traits)) agent.Executor {
	traits := agent.Traits{Prompted: true, Supports: func(*agent.Definition, string) bool { return true }}
	for _, change := range changes {
		change(&traits)
	}
	return agent.New(traits, nil)
}

// gone returns a talker that is not installed.
func gone(missing string) agent.Executor {
	return talker(func(t *agent.Traits) { t.Missing = func() string { return missing } })
}

// specialist is a talker for one kind of work.
var specialist = talker(func(t *agent.Traits) { t.Specialist = true })

// modelless is a talker that needs a model.
var modelless = talker(func(t *agent.Traits) {
	t.Incomplete = func(task *agent.Task) string {
		if task.Agent.Model != "" || task.Settings["model"] != nil {
			return ""
		}
		return "no model is named; name one"
	}
})

func writes(id, does, description string, capabilities ...string) *agent.Definition {
	d := definition(id, id, "", does, capabilities...)
	d.Description, d.Prompt = description, "You are "+id+"."
	return d
}

func TestChoose(t *testing.T) {
	here, gone := talker(), gone("install it")
	specialists := []*agent.Definition{
		writes("scanner", "claude", "Finds security vulnerabilities", "security"),
		writes("author", "claude", "Writes documentation for users"),
		writes("poet", "codex", "Writes haikus"),
	}
	for name, c := range map[string]struct {
		executors   map[string]agent.Executor
		definitions []*agent.Definition
		prompt      string
		want        string
	}{
		"nothing works from a prompt": {map[string]agent.Executor{"shell": plain}, nil, "Write.", "? "},
		"one":                         {map[string]agent.Executor{"shell": plain, "claude": here, "codex": gone}, nil, "Write.", "claude the only one that can work from a prompt here"},
		"two":                         {map[string]agent.Executor{"claude": here, "codex": here}, nil, "Write.", "? "},
		"a specialist":                {map[string]agent.Executor{"claude": here, "browser": specialist}, nil, "Write.", "claude the only one that can work from a prompt here"},
		"what it can do": {map[string]agent.Executor{"claude": here, "codex": here}, specialists, "Look at the security of ${inputs.file}.",
			`scanner its description fits best: "security"`},
		"its name weighs more": {map[string]agent.Executor{"claude": here, "codex": here}, specialists, "Check the security of the documentation for users.",
			`scanner its description fits best: "security"`},
		"what is said of it": {map[string]agent.Executor{"claude": here, "codex": here}, specialists, "Document the API for its users, writing plainly.",
			`author its description fits best: "users", "writing"`},
		"what is not here": {map[string]agent.Executor{"claude": here, "codex": gone}, specialists, "A haiku, please.",
			"claude the only one that can work from a prompt here, and no other agent's description fits"},
		"two fit equally":      {map[string]agent.Executor{"claude": here, "codex": here}, specialists, "Write something.", "? "},
		"one without a model":  {map[string]agent.Executor{"claude": here, "llm": modelless}, nil, "Write.", "claude the only one that can work from a prompt here"},
		"one that others hide": {map[string]agent.Executor{"claude": here}, []*agent.Definition{definition("x", "claude", "", "shell")}, "Write.", "? "},
	} {
		choice, ok := agent.NewSet(c.executors, c.definitions, "").Choose(c.prompt, nil)
		if got := choice.Name + " " + choice.Reason; ok && got != c.want || !ok && c.want != "? " {
			t.Errorf("%s: chose %q (%v)", name, got, ok)
		}
	}
}

// An agent with a prompt need not name an executor.
func TestEmployed(t *testing.T) {
	here, gone := talker(), gone("install it")
	silent := func() *agent.Definition { return writes("silent", "", "") }
	for name, c := range map[string]struct {
		executors map[string]agent.Executor
		fallback  string
		want      string // the executor, or the error
	}{
		"the only one":             {map[string]agent.Executor{"claude": here, "codex": gone, "shell": plain}, "", "claude"},
		"the default's":            {map[string]agent.Executor{"claude": here, "codex": here}, "codex", "codex"},
		"the default is no talker": {map[string]agent.Executor{"claude": here, "shell": plain}, "shell", "claude"},
		"it is the default":        {map[string]agent.Executor{"claude": here}, "silent", "claude"},
		"none":                     {map[string]agent.Executor{"shell": plain}, "", "it does not name an executor, and no executor on this machine works from a prompt; run `hocket doctor` to see what to install or set"},
		"two":                      {map[string]agent.Executor{"claude": here, "codex": here}, "", "set agent in .hocket/agents/silent.yml, or the default agent in config.yml, to claude or codex"},
		"the default's is gone":    {map[string]agent.Executor{"claude": here, "codex": gone}, "codex", "install it"},
	} {
		d := silent()
		set := agent.NewSet(c.executors, []*agent.Definition{d}, c.fallback)
		got, _, err := set.Resolve("silent")
		text := got.Agent
		var failed *agent.ResolveError
		if errors.As(err, &failed) {
			text = failed.Advice()
		}
		if reason, ok := map[string]string{"the only one": "the only one that can work from a prompt here", "the default's": "the same as for the project's default agent", "two": ""}[name]; ok && got.Chosen != reason {
			t.Errorf("%s: it was chosen because it is %q", name, got.Chosen)
		}
		if text != c.want || d.Agent != "" {
			t.Errorf("%s: %q (the file's definition says %q)", name, text, d.Agent)
		}
		// On a machine with other executors nothing changes.
		elsewhere, err := agent.DecodeSet(set.Encode(), map[string]agent.Executor{"gemini": here})
		if err != nil {
			t.Fatal(err)
		}
		if moved, _, err := elsewhere.Resolve("silent"); err == nil || moved.Agent != got.Agent || moved.Chosen != got.Chosen {
			t.Errorf("%s: elsewhere it is done by %q: %v", name, moved.Agent, err)
		}
	}
}

// A missing executor is reported before anything runs.
func TestAbsentExecutor(t *testing.T) {
	set := agent.NewSet(map[string]agent.Executor{"codex": gone("codex is not on the path: npm install -g @openai/codex")},
		[]*agent.Definition{writes("scanner", "codex", "")}, "")
	d, exec, err := set.Resolve("scanner")
	const want = `agent: cannot run agent "scanner"; codex is not on the path: npm install -g @openai/codex`
	if err == nil || err.Error() != want || exec != nil || d == nil {
		t.Errorf("got %v, %v, %v", d, exec, err)
	}
}

// Descriptions are matched in languages without spaces between words too.
func TestChooseInOtherLanguages(t *testing.T) {
	set := agent.NewSet(map[string]agent.Executor{"claude": talker(), "codex": talker()}, []*agent.Definition{
		writes("scanner", "claude", "扫描代码中的安全漏洞"), writes("author", "claude", "ユーザーのためのAPI文書を書く"), writes("tester", "codex", "เขียนและรันการทดสอบ"),
	}, "")
	for prompt, want := range map[string]string{
		"请检查登录代码的安全漏洞": "scanner", "このAPIの文書を更新してください": "author", "ช่วยรันการทดสอบ": "tester", "唱一首歌": "",
	} {
		if got, _ := set.Choose(prompt, nil); got.Name != want {
			t.Errorf("%s is for %q (%s), want %q", prompt, got.Name, got.Reason, want)
		}
	}
}
