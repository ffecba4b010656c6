package llm

import (
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// place is a model at a provider.
type place struct {
	Provider
	name  string // of the provider
	model string
}

// families are the models that belong to an API by the beginning of their names.
var families = []struct {
	prefix string
	api    API
}{
	{"claude-", Anthropic}, {"gpt-", OpenAI}, {"chatgpt-", OpenAI}, {"codex-", OpenAI}, {"o1", OpenAI}, {"o3", OpenAI}, {"o4", OpenAI}, {"gemini-", Gemini},
}

// find returns the model and provider that a task means. The name of a model may contain
// slashes: the part before the first one is a provider only if one of that name exists.
func (e *Executor) find(def *agent.Definition, set *settings) (place, error) {
	model := set.Model
	if model == "" && def != nil {
		model = def.Model
	}
	if model == "" {
		model = e.fallback
	}
	if model == "" {
		return place{}, agent.Permanentf("no model is named; set model on the agent, or a default model such as claude-sonnet-5-5 in .hocket/config.yml")
	}
	name := set.Provider
	if before, after, ok := strings.Cut(model, "/"); ok && after != "" {
		if _, known := e.providers[before]; known && (name == "" || name == before) {
			name, model = before, after
		}
	}
	if name == "" {
		var err error
		if name, err = e.providerOf(model); err != nil {
			return place{}, err
		}
	}
	p, ok := e.providers[name]
	if !ok {
		return place{}, agent.Permanentf("unknown provider %q%s", name, e.choice(name))
	}
	return place{Provider: p, name: name, model: model}, nil
}

// incomplete reports that no model is named, or one whose provider is unknown.
func (e *Executor) incomplete(task *agent.Task) string {
	var set settings
	if e.schema.Decode(task.Settings, &set) != nil || strings.Contains(set.Model+set.Provider, "${") {
		return ""
	}
	if _, err := e.find(task.Agent, &set); err != nil {
		return err.Error()
	}
	return ""
}

// providerOf finds the provider of a model that is named without one.
func (e *Executor) providerOf(model string) (string, error) {
	for _, f := range families {
		if !strings.HasPrefix(model, f.prefix) {
			continue
		}
		if p, ok := e.providers[string(f.api)]; ok && p.API == f.api {
			return string(f.api), nil
		}
		speaking := e.names(func(p Provider) bool { return p.API == f.api })
		if len(speaking) > 1 {
			speaking = e.names(func(p Provider) bool { return p.API == f.api && p.usable() })
		}
		if len(speaking) == 1 {
			return speaking[0], nil
		}
	}
	if names := e.names(Provider.usable); len(names) == 1 {
		return names[0], nil
	}
	if before, after, ok := strings.Cut(model, "/"); ok && after != "" {
		return "", agent.Permanentf("unknown provider %q, and no known provider for the model %q%s", before, model, e.choice(before))
	}
	return "", agent.Permanentf("no known provider for the model %q; write provider/%s%s", model, model, e.choice(""))
}

// usable reports whether a key is set, or none is needed.
func (p Provider) usable() bool {
	if p.Key == nil || p.KeyInFile {
		return true
	}
	_, err := p.Key()
	return err == nil
}

func (e *Executor) names(which func(Provider) bool) []string {
	return slices.DeleteFunc(sorted.Keys(e.providers), func(name string) bool { return !which(e.providers[name]) })
}

// choice lists the providers, beginning with the one that may be meant.
func (e *Executor) choice(written string) string {
	names := sorted.Keys(e.providers)
	if len(names) == 0 {
		return "; none is configured, add one under providers in .hocket/config.yml"
	}
	if near := workflow.Nearest(written, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; the providers are " + strings.Join(names, ", ")
}
