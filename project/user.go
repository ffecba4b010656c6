package project

import (
	"cmp"
	"maps"
	"net/url"
	"slices"

	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// userOnly says where a user can set what a project cannot.
const userOnly = "remove it here; a user can set it in ~/.config/hocket/config.yml (or $XDG_CONFIG_HOME/hocket/config.yml)"

// readUser reads the user's own config.yml, with settings that a project cannot set:
//
//	tools       {sandbox: none or required}
//	autonomy    full: agents of every project may do anything without asking
//	retention   as in a project
//	max_nesting how many runs may be inside of each other
//	providers   as in a project; here the user's own keys may be sent anywhere
//	mcp_server  {answers: none or all}: the questions that clients may put to the user
//
// It takes precedence over the project.
func (c *Config) readUser(file string, text []byte) workflow.Diagnostics {
	doc := strictyaml.Read(file, text)
	root := doc.Root().Map()
	tools := root.Map("tools")
	if word := tools.Word("sandbox", "required", "none"); word != "" {
		c.Sandbox = word
	}
	tools.Done()
	c.Autonomy = root.Word("autonomy", "full")
	server := root.Map("mcp_server")
	c.MCP.Answers = server.Word("answers", "none", "all")
	server.Done()
	readRetention(root.Map("retention"), &c.Retention)
	c.MaxNesting = cmp.Or(root.Int("max_nesting", 1), c.MaxNesting)
	own := readProviders(root.Map("providers"), map[string]workflow.Pos{}, true)
	if c.Providers == nil {
		c.Providers = own
	}
	maps.Copy(c.Providers, own)
	root.Done()
	return doc.Diagnostics()
}

// official are the hosts of the providers that the APIs are named after.
var official = map[string]string{"anthropic": "api.anthropic.com", "openai": "api.openai.com", "google": "generativelanguage.googleapis.com"}

// standing reports whether a provider would receive a key that belongs to another provider: the
// standard provider of its API, or one whose key is in a well-known variable.
func (p Provider) standing() bool {
	host, known := official[p.API]
	if u, err := url.Parse(p.BaseURL); p.BaseURL == "" || known && err == nil && u.Scheme == "https" && u.Host == host {
		return false
	}
	if p.Key == (Place{}) {
		return known
	}
	return slices.Contains(secret.Variables, p.Key.Env)
}

// variableFor suggests a name for the variable of a provider's key.
func variableFor(provider string) string {
	name := []byte(provider)
	for i, c := range name {
		switch {
		case c >= 'a' && c <= 'z':
			name[i] = c - 'a' + 'A'
		case c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		default:
			name[i] = '_'
		}
	}
	if slices.Contains(secret.Variables, string(name)+"_API_KEY") {
		return "MY_" + string(name) + "_KEY"
	}
	return string(name) + "_KEY"
}
