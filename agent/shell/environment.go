package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// maxVariable is the size limit of an environment variable on Linux, which has the lowest:
// 128 KiB with the name, the equals sign and a NUL.
const maxVariable = 128<<10 - 64

// maxFeedback keeps a long complaint about an output from filling the environment.
const maxFeedback = 16 << 10

// environment returns what the command sees: base, inputs, the env setting, Hocket's own
// variables. The last value of a name counts.
func environment(base []string, task *agent.Task, set map[string]agent.Text, dir string) ([]string, error) {
	inputs, err := inputVariables(task.Inputs)
	if err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(slices.Clone(base), func(v string) bool {
		return strings.HasPrefix(v, "HOCKET_") && isOurs(v[:strings.IndexByte(v+"=", '=')])
	})
	env = append(env, inputs...)
	for _, name := range sorted.Keys(set) {
		env = append(env, name+"="+string(set[name]))
	}
	return append(env, attemptVariables(task, dir)...), nil
}

// isOurs reports whether a variable describes an attempt, or is a person's approval. If
// Hocket runs inside a step of another Hocket, it must not pass on those that it was given.
func isOurs(name string) bool {
	switch name {
	case "HOCKET_RUN", "HOCKET_WORKFLOW", "HOCKET_NODE", "HOCKET_ADDRESS", "HOCKET_ATTEMPT", "HOCKET_KEY",
		"HOCKET_PROJECT", "HOCKET_INPUTS", "HOCKET_LABELS", "HOCKET_FEEDBACK", "HOCKET_TRUST", "HOCKET_DEPTH", "HOCKET_STATE":
		return true
	}
	return strings.HasPrefix(name, inputPrefix)
}

func attemptVariables(task *agent.Task, dir string) []string {
	env := []string{
		"HOCKET_RUN=" + task.Run,
		"HOCKET_WORKFLOW=" + task.Workflow,
		"HOCKET_NODE=" + task.Node,
		"HOCKET_ADDRESS=" + task.Address,
		"HOCKET_ATTEMPT=" + strconv.Itoa(task.Attempt),
		"HOCKET_PROJECT=" + task.Dir,
		"PWD=" + dir,
	}
	if len(task.Decide) > 0 {
		env = append(env, "HOCKET_LABELS="+workflow.FormatJSON(task.Decide))
	}
	if task.Feedback != "" {
		feedback := strings.ReplaceAll(task.Feedback, "\x00", "")
		env = append(env, "HOCKET_FEEDBACK="+feedback[:min(len(feedback), maxFeedback)])
	}
	return env
}

const inputPrefix = "HOCKET_INPUT_"

// inputVariables returns the inputs, one by one and all together as JSON.
func inputVariables(inputs []agent.Input) ([]string, error) {
	all := make(map[string]any, len(inputs))
	from := make(map[string]string, len(inputs))
	var env []string
	for _, in := range inputs {
		name, text := variable(in.Name), workflow.FormatText(in.Value)
		if other, taken := from[name]; taken && other != in.Name {
			return nil, agent.Permanentf("inputs %q and %q would both become the variable %s; rename one of them", other, in.Name, name)
		}
		if strings.ContainsRune(text, 0) {
			return nil, agent.Permanentf("input %q contains a NUL character, which environment variables cannot hold; pass it with the stdin setting", in.Name)
		}
		from[name], all[in.Name] = in.Name, in.Value
		env = append(env, name+"="+text)
	}
	object := workflow.FormatJSON(all)
	if len(object) > maxVariable {
		return nil, agent.Permanentf("the inputs are %d KiB, and an environment variable can hold at most %d; pass large values with the stdin setting", len(object)>>10+1, maxVariable>>10)
	}
	return append(env, "HOCKET_INPUTS="+object), nil
}

// variable returns the name of the environment variable for an input: its own if that is
// valid and not one of Hocket's, otherwise one derived from it.
func variable(input string) string {
	legal := func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}
	name := strings.Map(legal, input)
	if name == input && name != "" && (name[0] < '0' || name[0] > '9') && !strings.HasPrefix(name, "HOCKET_") {
		return name
	}
	return inputPrefix + name
}
