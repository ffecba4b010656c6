package markdown

import (
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// The keys of a node are those of YAML. In addition, this notation has its own names for some of
// them, and reads plain numbers as milliseconds.

// agentWords are keys that become settings of the task, for the agent.
var agentWords = []string{"mode", "model", "temperature", "maxSteps", "tools", "permission"}

// mermaidWords are the keys in @{…} that Mermaid itself knows.
var mermaidWords = []string{"shape", "label", "icon", "form", "pos", "img", "w", "h", "constraint", "view", "collapsed", "animate", "animation", "curve"}

// words is the result of reading the keys of a node.
type words struct {
	yaml.Step
	text     strictyaml.Node // prompt or question; it may be empty
	about    string          // a description, for people
	hasRetry bool
	chooses  bool            // the keys make it a choice
	asks     strictyaml.Node // the question of a choice
	file     strictyaml.Node // of the prompt
}

// lead reports whether the keys say where the node continues.
func (w *words) lead() bool { return len(w.Edges) > 0 || w.Leads }

// readWords reads the keys of a node that was drawn as a kind.
func (r *reader) readWords(m *strictyaml.Map, kind string) *words {
	if r.spare == nil || r.spare.lead() { // they are still needed
		r.spare = &words{}
	}
	w := r.spare
	*w = words{about: m.String("description"), chooses: m.Peek("choice").Exists(), asks: m.Peek("ask")}
	rename(m)
	timeout, retry := w.config(m, "timeout"), w.config(m, "retry")
	settings := w.settings(m)
	w.promptFile(m)
	output := m.Peek("output")
	if output.IsMap() {
		output = m.Cut("output")
	}
	r.steps.Read(m, kind, &w.Step)
	w.text = m.Peek(textWord(w.Node.Kind()))
	w.longOutput(output)
	for _, t := range timeout {
		if w.Node.Timeout = readTime(t); w.Node.Timeout == 0 && isNothing(t) {
			t.Errorf(codeDuration, "write a longer time, or leave it out", "%s is zero", t.Label())
		}
	}
	for _, r := range retry {
		w.Node.Retry, w.hasRetry = readRetry(r), true
	}
	w.apply(settings)
	w.nameOptions()
	m.Refuse("when", codeKey, "draw a diamond before it", "conditions are drawn in this notation")
	m.Refuse("needs", codeKey, "draw an arrow from the step that it needs", "dependencies are drawn as arrows in this notation")
	m.Done()
	return w
}

// textWord returns the key for the text of a kind of node.
func textWord(kind string) string {
	switch kind {
	case "task":
		return "prompt"
	case "human":
		return "question"
	}
	return ""
}

// rename maps the names of this notation to those of YAML.
func rename(m *strictyaml.Map) {
	m.Rename("input", "inputs")
	m.Rename("onTimeout", "on_timeout")
	m.Rename("allowCustomInput", "custom")
	if n := m.Peek("onError"); n.Exists() {
		if isPolicy(n) {
			m.Rename("onError", "on_error")
		} else {
			m.Rename("onError", "error")
		}
	}
}

// isPolicy reports whether a value is an on_error policy, not the step that a failure leads to.
func isPolicy(n strictyaml.Node) bool {
	return slices.Contains([]string{"continue", "stop", "skip_dependents", "replan"}, n.Written())
}

// config takes a key of a node that may also appear in its config.
func (w *words) config(m *strictyaml.Map, key string) []strictyaml.Node {
	var found []strictyaml.Node
	if m.Peek(key).Exists() {
		found = append(found, m.Cut(key))
	} else {
		m.Get(key)
	}
	if config := m.Peek("config"); config.IsMap() {
		if n := config.Map().Peek(key); n.Exists() {
			if len(found) > 0 {
				n.Key().Errorf(codeKey, "remove one of them", "duplicate %q", key)
			}
			found = append(found, n)
		}
	}
	return found
}

// settings returns what only the agent understands: the keys for agents, the config without the
// keys of the node, and settings, which are taken unchanged.
func (w *words) settings(m *strictyaml.Map) []strictyaml.Entry {
	var list []strictyaml.Entry
	for _, key := range agentWords {
		if n := m.Cut(key); n.Exists() {
			list = append(list, strictyaml.Entry{Name: key, Key: n.Key(), Value: n})
		}
	}
	if config := m.Cut("config"); config.Exists() {
		for e := range config.Map().All() {
			if e.Name != "timeout" && e.Name != "retry" {
				list = append(list, e)
			}
		}
	}
	if settings := m.Cut("settings"); settings.Exists() {
		list = slices.AppendSeq(list, settings.Map().All())
	}
	return list
}

// apply sets the settings of a task or a question. Other steps have none.
func (w *words) apply(settings []strictyaml.Entry) {
	if c, ok := w.Node.Step.(*workflow.Choice); ok && c.On.Text == "" && c.Ask == nil && len(settings) > 0 {
		c.Ask = &workflow.Task{} // shown by the diamond
	}
	task := w.Node.Task()
	for _, e := range settings {
		if task == nil {
			e.Key.Errorf(codeKey, "only tasks and questions have settings", "%q cannot be used here", e.Name)
			continue
		}
		if _, twice := task.Settings[e.Name]; twice {
			e.Key.Errorf(codeKey, "remove one of them", "duplicate setting %q", e.Name)
		}
		yaml.ReadSetting(e, task)
	}
	if !w.file.Exists() {
		return
	}
	if w.Node.Kind() != "task" {
		w.file.Errorf(codePrompt, "write the text below the heading", "only a task can have its prompt in a file")
		return
	}
	e := strictyaml.Entry{Name: promptFile, Key: w.file.Key(), Value: w.file}
	yaml.ReadSetting(e, task)
	task.Settings[promptFile], _ = filePrompt(w.file.Written())
}

// prompts reports whether the keys of a task set its prompt, even to nothing.
func (w *words) prompts(t *workflow.Task) bool {
	_, named := t.Settings[yaml.Template]
	return named || t.Prompt.Text != "" || w.text.Exists() || w.file.Exists()
}

// promptFile is the setting that names the file of a prompt. The project reads it.
const promptFile = "prompt_file"

// filePrompt returns the path in {file:path}.
func filePrompt(text string) (path string, ok bool) {
	path, ok = strings.CutPrefix(text, "{file:")
	if !ok || !strings.HasSuffix(path, "}") {
		return "", false
	}
	return path[:len(path)-1], true
}

// promptFile takes the prompt out of the keys if it is the name of a file.
func (w *words) promptFile(m *strictyaml.Map) {
	if _, ok := filePrompt(m.Peek("prompt").Written()); ok {
		w.file = m.Cut("prompt")
	}
}

// longOutput reads an output in its long form, in which `key` is the variable.
func (w *words) longOutput(n strictyaml.Node) {
	if n.IsMap() {
		m := n.Map()
		m.Rename("key", "var")
		w.Node.Output = yaml.ReadOutputMap(m)
	}
}

// nameOptions sets the value of an option that has only a label to the label.
func (w *words) nameOptions() {
	h, ok := w.Node.Step.(*workflow.Human)
	if !ok {
		return
	}
	for i := range h.Options {
		if o := &h.Options[i]; o.Value == "" && o.Label != "" {
			o.Value, o.Label = o.Label, ""
		}
	}
}

// readTime reads a duration such as 90s, or a number of milliseconds.
func readTime(n strictyaml.Node) time.Duration {
	if !n.IsScalar() || n.IsText() || n.IsNull() {
		return n.Duration()
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	ms := n.Int(0)
	if ms > most {
		n.Errorf(codeDuration, "write a shorter time", "%s is too long", n.Label())
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// isNothing reports whether a duration is zero. Invalid durations are reported elsewhere.
func isNothing(n strictyaml.Node) bool {
	d, err := time.ParseDuration(n.Written())
	return err == nil && d == 0
}

// readRetry reads the total number of attempts, or {attempts, backoff, delay, max_delay}.
func readRetry(n strictyaml.Node) workflow.Retry {
	if !n.IsMap() {
		return workflow.Retry{Attempts: int(n.Int(1))}
	}
	m := n.Map()
	m.Rename("maxAttempts", "attempts")
	m.Rename("initialDelay", "delay")
	m.Rename("maxDelay", "max_delay")
	r := workflow.Retry{Attempts: m.Int("attempts", 1)}
	if word := m.Word("backoff", "fixed", "linear", "exponential"); word != "fixed" {
		r.Backoff = workflow.Backoff(word)
	}
	if delay := m.Get("delay"); delay.Exists() {
		r.Delay = readTime(delay)
	}
	if most := m.Get("max_delay"); most.Exists() {
		r.MaxDelay = readTime(most)
	}
	m.Done()
	return r
}
