package tool

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/workflow"
)

// call is a call in progress.
type call struct {
	*Manifest
	args    map[string]any
	secrets map[string]string // values by name
	hide    *secret.Masker    // of these values
	dir     string            // the project
	key     string            // marks the processes of the call
	env     []string
	log     agent.Log
	allowed *agent.Permissions // of the agent, if it chose the address; nil: it did not
	task    *agent.Task        // nil: none

	sandbox  Sandbox
	enforced Enforcement
}

// call makes one call: it checks the arguments before and the result after. Errors and
// outputs contain no secrets.
func (s *Set) call(ctx context.Context, m *Manifest, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
	if m.needs != "" {
		return "", agent.Permanentf("%s", m.needs)
	}
	args, err := m.arguments(args)
	if err != nil {
		return "", err
	}
	values, err := s.secretsOf(m)
	if err != nil {
		return "", err
	}
	if m.Generated() {
		dir, err := m.unpack()
		defer os.RemoveAll(dir)
		if err != nil {
			return "", err
		}
		own := *m
		own.Dir, m = dir, &own
	}
	c := &call{Manifest: m, args: args, secrets: values, hide: &secret.Masker{}, dir: s.dir(task), key: s.key(task), env: s.options.Env, task: task}
	c.hide.Add(slices.Collect(maps.Values(values))...)
	write, flush := c.hide.Stream(log)
	c.log = write
	defer flush()
	if _, ok := m.Work.(*Command); ok {
		c.sandbox, c.enforced = s.options.Sandbox, s.Enforcement()
		c.tellOnce(&s.told, attemptOf(task))
	}
	if err := c.permit(ctx, task); err != nil {
		return "", err
	}
	within, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	output, err := c.do(within)
	switch {
	case err == nil:
		output = c.hide.Mask(output)
		return output, m.checkOutput(output)
	case ctx.Err() != nil:
		return "", agent.Interrupted(ctx)
	case within.Err() != nil:
		return "", &agent.Error{Kind: agent.TimedOut, Message: fmt.Sprintf("tool %s timed out after %s", m.Name, workflow.FormatDuration(m.Timeout))}
	}
	return "", c.masked(err)
}

func (c *call) do(ctx context.Context) (string, error) {
	switch w := c.Work.(type) {
	case *Request:
		return c.request(ctx, w)
	case *Search:
		return c.search(ctx, w)
	case *Command:
		return c.command(ctx, w)
	}
	return "", agent.Permanentf("tool %s: its file is invalid; run `hocket tools check` for details", c.Name)
}

// arguments returns the arguments of a call with defaults, once they match the inputs.
func (m *Manifest) arguments(args map[string]any) (map[string]any, error) {
	if m.inputs == nil {
		return nil, agent.Permanentf("tool %s: its inputs are invalid; run `hocket tools check` for details", m.Name)
	}
	all, err := workflow.Normalize(m.withDefaults(args))
	if err != nil {
		return nil, agent.Permanentf("tool %s: the arguments are not valid JSON: %v", m.Name, err)
	}
	if wrong := m.inputs.Mistakes(all); len(wrong) > 0 {
		return nil, agent.Permanentf("tool %s: the arguments do not match its inputs:\n- %s", m.Name, strings.Join(wrong, "\n- "))
	}
	return all.(map[string]any), nil
}

// checkOutput checks the result of a tool against its outputs.
func (m *Manifest) checkOutput(output string) error {
	if m.Outputs == nil {
		return nil
	}
	value, err := workflow.ParseJSON([]byte(output))
	if err != nil {
		return &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("tool %s did not return valid JSON: %s", m.Name, shorten(output))}
	}
	if wrong := m.outputs.Mistakes(value); len(wrong) > 0 {
		return &agent.Error{Kind: agent.BadOutput, Message: fmt.Sprintf("the result of tool %s does not match its outputs:\n- %s", m.Name, strings.Join(wrong, "\n- "))}
	}
	return nil
}

// secretsOf returns the values of the secrets that a tool may use.
func (s *Set) secretsOf(m *Manifest) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range m.Permissions.Secrets {
		if s.options.Secret == nil {
			return nil, agent.Permanentf("tool %s needs the secret %s, and no secrets are configured", m.Name, name)
		}
		value, err := s.options.Secret(name)
		if err != nil {
			return nil, agent.Permanentf("tool %s needs the secret %s: %v", m.Name, name, err)
		}
		if value == "" {
			return nil, agent.Permanentf("tool %s needs the secret %s, which is empty", m.Name, name)
		}
		values[name] = value
	}
	return values, nil
}

// masked returns an error without the values of secrets.
func (c *call) masked(err error) error {
	return agent.Reworded(err, fmt.Sprintf("tool %s: %s", c.Name, c.hide.Mask(err.Error())))
}

// limit returns the maximum size of a result in bytes.
func (c *call) limit() int { return c.MaxOutputKB << 10 }

func (c *call) tooMuch() error {
	return agent.Permanentf("the output exceeds %d KiB; ask for less, or raise max_output_kb", c.MaxOutputKB)
}
