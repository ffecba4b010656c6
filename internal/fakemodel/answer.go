package fakemodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// answer is a step prepared for one request.
type answer struct {
	Step
	id    string // of this turn; a prefix of call ids
	text  string
	calls []call
	usage Usage
}

// model returns the model that claims to answer.
func (a *answer) model(req *Request) string { return cmp.Or(a.Model, req.Model) }

type call struct {
	id    string
	name  string
	space string
	args  map[string]any
	plain bool // it takes text instead of arguments
	text  string
}

func (c call) arguments() string {
	data, err := json.Marshal(c.args)
	if err != nil {
		panic(fmt.Sprintf("fakemodel: arguments: %v", err)) // they came from JSON, or the test is wrong
	}
	return string(data)
}

// prepare finds the tools that a step means. A client that offers none, for example when it
// asks for a title, gets text.
func prepare(s Step, req *Request, id string) (answer, error) {
	a := answer{Step: s, id: id, text: s.Text, usage: Usage{In: 1000, Out: 50}}
	if s.Usage != nil {
		a.usage = *s.Usage
	}
	if s.Repeat > 1 {
		a.text = repeat(s.Text, s.Repeat)
	}
	steps := s.Calls
	if s.Tool != "" {
		steps = append([]Step{s}, steps...)
	}
	if s.JSON != nil {
		text, calls := s.structured(req)
		a.text, steps = text, append(steps, calls...)
	}
	if len(req.Tools) == 0 && len(steps) > 0 {
		a.text = "no tools"
		return a, nil
	}
	for i, step := range steps {
		c, err := makeCall(step, req, fmt.Sprintf("%s-%d", id, i))
		if err != nil {
			return a, err
		}
		a.calls = append(a.calls, c)
	}
	return a, nil
}

// repeat numbers what it repeats: some programs stop a model that repeats itself.
func repeat(text string, times int) string {
	var out strings.Builder
	for i := range times {
		out.WriteString(strings.ReplaceAll(text, "{i}", strconv.Itoa(i)))
	}
	return out.String()
}

// structured returns an answer by schema as text, or as a call of the tool that the program
// has for such answers.
func (s Step) structured(req *Request) (text string, calls []Step) {
	if args, isObject := s.JSON.(map[string]any); isObject {
		for _, name := range []string{"StructuredOutput", "structured_output"} {
			if slices.ContainsFunc(req.Tools, func(t Tool) bool { return t.Name == name }) {
				return s.Text, []Step{{Tool: name, Args: args}}
			}
		}
	}
	data, err := json.Marshal(s.JSON)
	if err != nil {
		panic(fmt.Sprintf("fakemodel: answer: %v", err)) // it came from JSON, or the test is wrong
	}
	return string(data), nil
}

func makeCall(s Step, req *Request, id string) (call, error) {
	name, loose := strings.CutPrefix(s.Tool, "$")
	for _, tool := range req.Tools {
		if loose && name == "shell" && isShell(tool.Name) {
			return call{id: id, name: tool.Name, space: tool.Space, args: shellArguments(tool, s)}, nil
		}
		full := tool.Space + tool.Name
		if full == name || tool.Name == name || loose && strings.HasSuffix(tool.Name, name) {
			args := s.Args
			if args == nil {
				args = map[string]any{}
			}
			return call{id: id, name: tool.Name, space: tool.Space, args: args, plain: tool.Plain, text: s.Cmd}, nil
		}
	}
	if !loose { // a model may call a tool that does not exist
		return call{id: id, name: name, args: s.Args}, nil
	}
	var names []string
	for _, tool := range req.Tools {
		names = append(names, tool.Space+tool.Name)
	}
	return call{}, fmt.Errorf("the script calls %s; the tools are %s", s.Tool, strings.Join(names, ", "))
}

func isShell(name string) bool {
	switch name {
	case "Bash", "bash", "shell", "exec_command", "shell_command", "run_shell_command", "developer__shell":
		return true
	}
	return false
}

// shellArguments fills in what the tool requires in addition to the command.
func shellArguments(tool Tool, s Step) map[string]any {
	args := map[string]any{}
	properties, _ := tool.Schema["properties"].(map[string]any)
	required, _ := tool.Schema["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		property, _ := properties[name].(map[string]any)
		args[name] = filler(property)
	}
	for _, name := range []string{"command", "cmd"} {
		property, ok := properties[name].(map[string]any)
		if !ok {
			continue
		}
		args[name] = s.Cmd
		if property["type"] == "array" {
			args[name] = []any{"/bin/sh", "-c", s.Cmd}
		}
	}
	maps.Copy(args, s.Args)
	return args
}

func filler(property map[string]any) any {
	switch property["type"] {
	case "boolean":
		return false
	case "integer", "number":
		return 1
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return "as the script says"
}

// pieces returns the text as it is streamed.
func (a answer) pieces() []string {
	if a.text == "" {
		return nil
	}
	if a.Pieces <= 0 {
		return strings.SplitAfter(a.text, " ")
	}
	runes, out := []rune(a.text), []string{}
	n := min(a.Pieces, len(runes))
	for i := range n {
		out = append(out, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return out
}
