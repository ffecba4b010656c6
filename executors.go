package hocket

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/browser"
	agentcli "github.com/hocket-dev/hocket/agent/cli"
	"github.com/hocket-dev/hocket/agent/cli/acp"
	"github.com/hocket-dev/hocket/agent/file"
	"github.com/hocket-dev/hocket/agent/http"
	"github.com/hocket-dev/hocket/agent/llm"
	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/agent/shell"
	"github.com/hocket-dev/hocket/agent/tool"
	"github.com/hocket-dev/hocket/internal/outbound"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// executors returns all executors of a project, by the names that agents use. This is the
// only place that lists them.
func (s *snapshot) executors(root string, c project.Config, own map[string]agent.Executor, mayRead func(file string) bool) (map[string]agent.Executor, workflow.Diagnostics, error) {
	secrets, variables := secretsOf(root, c, mayRead), secretVariables(c)
	s.secrets = secrets
	prices := llm.Prices(c.Prices)
	chromium := c.Browser.Program
	if chromium != "" {
		chromium = project.Program(root, chromium)
	}
	model := llm.New(llm.Options{Providers: providersOf(c, secrets), Prices: prices, DefaultModel: c.Model})
	all := map[string]agent.Executor{
		"llm":     model,
		"file":    llm.Toolset(file.New(), model),
		"http":    llm.Toolset(http.New(http.Options{Getenv: hidden(secrets)}), model),
		"shell":   llm.Toolset(shell.New(shell.Options{Secret: variables}), model),
		"browser": llm.Toolset(browser.New(browser.Options{Path: chromium, Network: outbound.Policy{Private: c.Browser.PrivateNetwork}}), model),
		"mcp":     mcp.New(func(names []string) ([]agent.Server, error) { return namedServers(root, c, secrets, names) }, mcp.Options{Logins: s.logins()}),
	}
	maps.Copy(all, workspaceExecutors())
	for _, name := range agentcli.Builtin() {
		all[name] = agentcli.New(agentcli.Options{Builtin: name, Prices: prices, Secret: variables, Converse: acp.Converse})
	}
	manifests, found, err := agentcli.LoadManifests(root)
	if err != nil {
		return nil, nil, err
	}
	s.manifests = manifests
	for _, m := range manifests { // one with the name of a built-in CLI replaces it
		if own[m.Name] != nil {
			found = append(found, agent.ReservedName(m.Pos, "name of the CLI", m.Name))
		}
		all[m.Name] = agentcli.New(agentcli.Options{Manifest: m, Prices: prices, Secret: variables, Converse: acp.Converse})
	}
	maps.Copy(all, own) // last: no file of the project can override them
	found = append(found, s.readGenerated(root)...)
	tools, wrong, err := tool.Load(root, tool.Options{Secret: secrets.Get, Sandbox: tool.Sandbox(c.Sandbox), Generated: s.approvedTools(root)})
	s.tools, s.wrong = tools, wrong
	return all, found, err
}

// hidden looks up variables, and masks their values everywhere from then on.
func hidden(secrets *secret.Store) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := os.LookupEnv(name)
		secrets.Masker().Add(value)
		return value, ok
	}
}

// secretVariables returns the environment variables that hold the project's secrets.
func secretVariables(c project.Config) []string {
	var names []string
	for _, place := range c.Secrets {
		names = append(names, place.Env)
	}
	for _, p := range c.Providers {
		names = append(names, p.Key.Env)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }) // secrets in files
}

// providersOf returns the model providers: those of the project, and the standard ones,
// with keys from the standard variables.
func providersOf(c project.Config, secrets *secret.Store) map[string]llm.Provider {
	all := map[string]llm.Provider{}
	for name, variables := range usualKeys {
		all[name] = llm.Provider{API: apis[name], Key: usualKey(secrets, variables), KeyName: strings.Join(variables, " or ")}
	}
	for name, p := range c.Providers {
		made := llm.Provider{API: apis[p.API], BaseURL: p.BaseURL}
		if variables, ok := usualKeys[p.API]; ok {
			made.Key, made.KeyName = usualKey(secrets, variables), strings.Join(variables, " or ")
		}
		if place := secret.Place(p.Key); place != (secret.Place{}) {
			made.Key, made.KeyName, made.KeyInFile = func() (string, error) { return secrets.At(place) }, place.Env, place.File != ""
		}
		all[name] = made
	}
	return all
}

// apis are the names of APIs in config.yml.
var apis = map[string]llm.API{"anthropic": llm.Anthropic, "openai": llm.OpenAI, "openai-compatible": llm.Compatible, "google": llm.Gemini}

// usualKeys are the variables for the keys of providers, in order of preference.
var usualKeys = map[string][]string{"anthropic": {"ANTHROPIC_API_KEY"}, "openai": {"OPENAI_API_KEY"}, "google": {"GEMINI_API_KEY", "GOOGLE_API_KEY"}}

// usualKey returns the first of the variables that is set.
func usualKey(secrets *secret.Store, variables []string) func() (string, error) {
	return func() (string, error) {
		for _, name := range variables {
			if os.Getenv(name) != "" {
				return secrets.At(secret.Place{Env: name})
			}
		}
		return secrets.At(secret.Place{Env: variables[0]})
	}
}
