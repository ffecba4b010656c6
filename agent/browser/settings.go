package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

const (
	defaultOutputKB = 1024
	defaultTimeout  = 30 * time.Second
	maxSteps        = 200
)

type settings struct {
	Steps       []step          `json:"steps"`
	URL         string          `json:"url"`
	Extract     json.RawMessage `json:"extract"`
	Private     outbound.Policy `json:"private_network"`
	Timeout     string          `json:"timeout"`
	MaxOutputKB int             `json:"max_output_kb"`
}

// step is one action with its arguments.
type step struct {
	Action string
	arguments
	patience time.Duration
}

// arguments are the arguments of all actions.
type arguments struct {
	URL       string     `json:"url"`
	Selector  string     `json:"selector"`
	Text      agent.Text `json:"text"`
	Attribute string     `json:"attribute"`
	Name      string     `json:"name"`
	As        string     `json:"as"`
	Time      string     `json:"time"`
	Timeout   string     `json:"timeout"`
	All       bool       `json:"all"`
	Full      bool       `json:"full"`
	Submit    bool       `json:"submit"`
}

// shortForm names, for each action, the argument that a plain string stands for.
var shortForm = map[string]string{
	"open": "url", "click": "selector", "type": "", "wait": "selector", "extract": "selector", "text": "selector",
	"links": "", "screenshot": "name", "back": "",
}

// UnmarshalJSON reads "back", {"open": "…"} and {"open": {"url": "…"}}.
func (s *step) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		return json.Unmarshal(data, &s.Action)
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(data, &written); err != nil {
		return err
	}
	for action, args := range written {
		s.Action = action
		if bytes.HasPrefix(args, []byte("{")) {
			return json.Unmarshal(args, &s.arguments)
		}
		var text agent.Text
		if err := json.Unmarshal(args, &text); err != nil {
			return err
		}
		return json.Unmarshal([]byte(fmt.Sprintf(`{%q: %s}`, shortForm[action], workflow.FormatJSON(string(text)))), &s.arguments)
	}
	return nil
}

// plan is what the settings ask for.
type plan struct {
	steps   []step
	network outbound.Policy
	limit   int // limit for the output, in bytes
}

func (b *Browser) plan(task *agent.Task) (*plan, error) {
	var set settings
	if err := b.schema.Decode(task.Settings, &set); err != nil {
		return nil, err
	}
	patience, err := duration(set.Timeout, defaultTimeout)
	if err != nil {
		return nil, err
	}
	p := &plan{steps: set.Steps, network: set.Private, limit: task.Agent.OutputLimit(set.MaxOutputKB, defaultOutputKB)}
	if set.URL != "" {
		more, err := set.short()
		if err != nil {
			return nil, err
		}
		p.steps = append([]step{{Action: "open", arguments: arguments{URL: set.URL}}}, more...)
	}
	for i := range p.steps {
		if p.steps[i].patience, err = duration(p.steps[i].Timeout, patience); err != nil {
			return nil, err
		}
	}
	return p, distinct(p.steps)
}

// short returns the steps that follow the url in the short form: one extract, one for each
// name, or else the text of the page.
func (s *settings) short() ([]step, error) {
	switch {
	case len(s.Extract) == 0:
		return []step{{Action: "text"}}, nil
	case bytes.HasPrefix(s.Extract, []byte(`"`)):
		one := step{Action: "extract"}
		err := json.Unmarshal(s.Extract, &one.Selector)
		return []step{one}, err
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(s.Extract, &named); err != nil {
		return nil, err
	}
	var steps []step
	for _, name := range sorted.Keys(named) {
		one := step{}
		if err := one.UnmarshalJSON(fmt.Appendf(nil, `{"extract": %s}`, named[name])); err != nil {
			return nil, err
		}
		one.As = name
		steps = append(steps, one)
	}
	return steps, nil
}

// distinct checks that the results of the steps have different names.
func distinct(steps []step) error {
	seen := map[string]bool{}
	for _, s := range steps {
		if !s.gives() {
			continue
		}
		if seen[s.key()] {
			return agent.Permanentf("two steps return %q; give them different names with as, such as %s: {as: first, …}", s.key(), s.Action)
		}
		seen[s.key()] = true
	}
	return nil
}

// gives reports whether a step adds to the output.
func (s *step) gives() bool {
	return s.Action == "extract" || s.Action == "text" || s.Action == "links" || s.Action == "screenshot"
}

// key returns the name of the step's result.
func (s *step) key() string {
	if s.As != "" {
		return s.As
	}
	return s.Action
}

// duration parses a duration that the schema has accepted.
func duration(text string, otherwise time.Duration) (time.Duration, error) {
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, agent.Permanentf("%q is not a duration; write one such as 20s", text)
	}
	return d, nil
}

// fileNamePattern matches valid names of screenshots.
const fileNamePattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"

var fileName = lazy.Regexp(fileNamePattern)

// schema describes the settings in the package comment.
func schema() map[string]any {
	text := func(about string) map[string]any {
		return map[string]any{"description": about, "type": "string", "minLength": 1}
	}
	yes := func(about string) map[string]any { return map[string]any{"description": about, "type": "boolean"} }
	// either is the schema of an action that takes a string or named arguments.
	either := func(about string, taken map[string]any, required ...any) map[string]any {
		schema := map[string]any{"description": about, "type": []any{"string", "object"}, "minLength": 1, "properties": taken, "additionalProperties": false}
		if len(required) > 0 {
			schema["required"] = required
		}
		return schema
	}
	span := map[string]any{"description": "Duration, such as 20s.", "type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`}
	address := map[string]any{"description": "http or https address of a page.", "type": "string", "pattern": "^https?://."}
	selector, as := text("CSS selector."), text("Name of the step's result in the output.")
	extract := map[string]any{"selector": selector, "attribute": text("Attribute to return instead of the text."), "all": yes("Return all matching elements, as a list."), "as": as, "timeout": span}
	spotOr := func(more map[string]any) map[string]any {
		all := map[string]any{"selector": selector, "text": map[string]any{"description": "Visible text of the element.", "type": []any{"string", "number"}}, "timeout": span}
		maps.Copy(all, more)
		return all
	}
	fileName := map[string]any{"description": "Name of the file: letters, digits, dots, dashes.", "type": "string", "pattern": fileNamePattern}
	open := either("Opens a page.", map[string]any{"url": address, "timeout": span}, "url")
	open["pattern"] = "^https?://."
	screenshot := either("Saves a screenshot of the page.", map[string]any{"name": fileName, "full": yes("Capture the whole page, not only the visible part."), "as": as}, "name")
	screenshot["pattern"] = fileName["pattern"]
	actions := map[string]any{
		"open":       open,
		"click":      either("Clicks an element.", spotOr(nil)),
		"type":       map[string]any{"description": "Types into a field.", "type": "object", "properties": spotOr(map[string]any{"submit": yes("Press Enter afterwards.")}), "required": []any{"selector", "text"}, "additionalProperties": false},
		"wait":       either("Waits for an element or a duration.", spotOr(map[string]any{"time": span})),
		"extract":    either("Returns the text or an attribute of an element.", extract, "selector"),
		"text":       either("Returns the text of the page or of an element.", map[string]any{"selector": selector, "as": as}),
		"links":      either("Returns the links of the page.", map[string]any{"as": as}),
		"screenshot": screenshot,
		"back":       map[string]any{"description": "Goes back to the previous page.", "type": "object", "properties": map[string]any{}, "additionalProperties": false},
	}
	delete(actions["links"].(map[string]any), "minLength")
	actions["links"].(map[string]any)["type"] = "object"
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"oneOf":                []any{map[string]any{"required": []any{"steps"}}, map[string]any{"required": []any{"url"}}},
		"properties": map[string]any{
			"steps": map[string]any{
				"description": "What to do in the browser, in order.", "type": "array", "minItems": 1, "maxItems": maxSteps,
				"items": map[string]any{
					"description": "One action: open, click, type, wait, extract, text, links, screenshot or back", "type": []any{"string", "object"}, "pattern": "^(text|links|back)$",
					"properties": actions, "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
				},
			},
			"url": address,
			"extract": map[string]any{
				"description": "With url: what to extract from the page, as a selector or as a map of names to selectors. Default: its text.",
				"type":        []any{"string", "object"}, "minLength": 1, "minProperties": 1,
				"additionalProperties": either("CSS selector, or {selector, attribute, all}.", without(extract, "as"), "selector"),
			},
			"private_network": map[string]any{
				"description": "Whether pages may be in private networks: true, or a list of hosts.",
				"type":        []any{"boolean", "array"}, "items": text("Host, such as intranet.example or localhost:8080."),
			},
			"timeout":       map[string]any{"description": "Duration for each step, such as 20s. Default: 30s.", "type": "string", "pattern": span["pattern"]},
			"max_output_kb": map[string]any{"description": "Maximum size of the output, in KiB. Default: 1024.", "type": "integer", "minimum": 1, "maximum": 1 << 20},
		},
		"if":   map[string]any{"required": []any{"steps"}},
		"then": map[string]any{"properties": map[string]any{"extract": false}},
	}
}

func without(properties map[string]any, name string) map[string]any {
	rest := maps.Clone(properties)
	delete(rest, name)
	return rest
}
