package project

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Config is what a project sets for all its workflows, in config.yml.
type Config struct {
	// Agent does the tasks that name none. "": see [agent.Set].
	Agent string
	// Driver is what keeps and drives runs. "": this machine.
	Driver string
	// Model is that of agents over an API that name none.
	Model string
	// Providers are where models are reached, by name.
	Providers map[string]Provider
	// Prices are those of models, over the known ones.
	Prices map[string]agent.Price
	// Secrets are where values are found that nobody may see, by name.
	Secrets map[string]Place
	// Servers are where tools are found over MCP, in the order of the file.
	Servers []Server
	// Parallel bounds attempts of agents that think, in all and by account.
	Parallel map[string]int
	// Context bounds what an agent is told besides its task.
	Context Context
	// Browser is how pages are opened.
	Browser Browser
	// Sandbox is whether the programs of tools are held to their permissions: "" where
	// the system can, "required" or "none".
	Sandbox string
	// Autonomy is "full" where the user lets agents do everything without asking, in every
	// project; "": who wants that has to be trusted.
	Autonomy string
	// Retention is which runs are kept when one has ended. Zero: all.
	Retention Retention
	// Limits are those of a run whose workflow sets none of its own.
	Limits workflow.Limits
	// Generated are the limits of a workflow that was made by an AI.
	Generated workflow.Limits
}

// AllAccounts is the key of [Config.Parallel] for all accounts together.
const AllAccounts = "all"

// Provider is where models are reached.
type Provider struct {
	API     string // its protocol
	BaseURL string // "": that of the provider itself
	Key     Place  // zero: the usual variable of its API
	User    bool   // the user's own file says so
}

// Place is where a secret is found: one of its fields.
type Place struct{ Env, File string }

// Value is a text, or the name of a secret in place of one, behind a prefix.
type Value struct{ Text, Secret, Prefix string }

// Server is where tools are found over MCP: a command, or an address.
type Server struct {
	Name    string
	Command []string
	Env     map[string]Value
	URL     string
	Headers map[string]Value
	Login   Login         // how people log in
	Start   time.Duration // longest time until it has answered for the first time; zero: the usual
	Call    time.Duration // longest time of a call; zero: the usual
}

// HasKey says whether the settings of a server say who asks: then nobody logs in.
func (s *Server) HasKey() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.Headers)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// Login is how people log in to a server. The zero value: as the server says.
type Login struct {
	ClientID     string   // that Hocket has there; "": it registers itself
	ClientSecret string   // the name of a secret; "": it has none
	Scopes       []string // to ask for; none: those that the server names
	Port         int      // to which the browser comes back; zero: any
}

// Context bounds what an agent is told besides its task.
type Context struct {
	MaxBytes int // of a whole prompt
	Memories int // how many at most
}

// Retention is which runs are kept. The zero value: all.
type Retention struct {
	Age  time.Duration // since they ended
	Runs int
	Size int64 // bytes that all of them take
}

// Browser is how pages are opened.
type Browser struct {
	Program        string // "": the first that is found
	PrivateNetwork bool   // addresses of this machine and its network may be opened
}

// codeUser is the code of what only a user may set, and codeLink of a file of the project
// that is not opened.
const (
	codeUser = "config-user-only"
	codeLink = "project-link"
)

// codeConfig is the code of the mistakes in config.yml that are not mistakes in its
// YAML.
const codeConfig = "config-invalid"

// The APIs that a provider may speak.
var apis = []string{"anthropic", "openai", "openai-compatible", "google"}

// defaultConfig is what holds where config.yml says nothing.
func defaultConfig() Config {
	return Config{
		Context:   Context{MaxBytes: 400 << 10, Memories: 5},
		Limits:    check.Defaults(),
		Generated: workflow.Limits{Steps: 10, Parallel: 3, Depth: 1, Runtime: 5 * time.Minute},
	}
}

// readConfig reads a config.yml. What is wrong with it is in the diagnostics,
// what is right counts. At is given the places of what needs trust, such as mcp.NAME.
func readConfig(file string, text []byte, at map[string]workflow.Pos) (Config, workflow.Diagnostics) {
	c := defaultConfig()
	doc := strictyaml.Read(file, text)
	root := doc.Root().Map()
	c.Agent = root.Name("agent")
	c.Driver = root.Name("driver")
	c.Model = root.Name("model")
	c.Providers = readProviders(root.Map("providers"), at, false)
	root.Refuse("autonomy", codeUser, userOnly, "a project cannot set its own autonomy")
	c.Prices = readPrices(root.Map("prices"))
	c.Secrets = readSecrets(root.Map("secrets"), at)
	c.Servers = readServers(root.Map("mcp"), c.Secrets, at)
	c.Parallel = readParallel(root.Map("parallel"))
	c.Context.read(root.Map("context"))
	readRetention(root.Map("retention"), &c.Retention)
	at["browser"] = root.Peek("browser").Pos()
	c.Browser = readBrowser(root.Map("browser"))
	tools := root.Map("tools")
	if c.Sandbox = tools.Word("sandbox", "required", "none"); c.Sandbox == "none" {
		tools.Peek("sandbox").Errorf(codeUser, userOnly, "a project cannot switch the sandbox off")
		c.Sandbox = ""
	}
	tools.Done()
	w := root.Map("workflows")
	c.Limits = check.Override(c.Limits, workflow.Limits{Depth: w.Int("max_depth", 1)})
	c.Limits = check.Override(c.Limits, readBudgets(w.Map("budgets")))
	c.Generated = check.Override(c.Generated, readBudgets(w.Map("ai_generated_budgets")))
	w.Done()
	root.Done()
	return c, doc.Diagnostics()
}

func readBudgets(m *strictyaml.Map) workflow.Limits {
	l := workflow.Limits{
		Steps:    m.Int("max_steps", 1),
		Parallel: m.Int("max_parallel", 1),
		Runtime:  time.Duration(m.Float("max_runtime_mins") * float64(time.Minute)),
		CostUSD:  m.Float("max_cost_usd"),
		Tokens:   m.Get("max_tokens").Int(1),
	}
	m.Done()
	return l
}

// readProviders reads where models are reached; in the user's own file their keys may go
// anywhere.
func readProviders(m *strictyaml.Map, at map[string]workflow.Pos, user bool) map[string]Provider {
	all := map[string]Provider{}
	for e := range m.All() {
		p := e.Value.Map()
		at["providers."+e.Name] = e.Key.Pos()
		provider := Provider{User: user, API: p.Word("api", apis...), BaseURL: p.String("base_url"), Key: readPlace(p.Get("key"))}
		p.Done()
		if provider.API == "" {
			provider.API = e.Name // for the providers that the APIs are named after
			if !slices.Contains(apis, e.Name) && !p.Peek("api").Exists() {
				e.Value.Key().Errorf(codeConfig, "write under api what it speaks, e.g. `api: openai-compatible`", "provider %q has no api", e.Name)
			}
		}
		if provider.API == "openai-compatible" && provider.BaseURL == "" {
			e.Value.Key().Errorf(codeConfig, "write its address, e.g. `base_url: http://127.0.0.1:11434/v1`", "provider %q has no base_url", e.Name)
		}
		if !user && provider.standing() {
			p.Peek("base_url").Errorf(codeUser, "give it a key of its own, e.g. `key: {env: "+variableFor(e.Name)+"}`; or write the provider to ~/.config/hocket/config.yml, which is yours",
				"a project cannot send your own key to another address")
			continue
		}
		all[e.Name] = provider
	}
	return all
}

func readPrices(m *strictyaml.Map) map[string]agent.Price {
	all := map[string]agent.Price{}
	for e := range m.All() {
		p := e.Value.Map()
		all[e.Name] = agent.Price{Input: p.Float("input"), Output: p.Float("output"), CacheRead: p.Float("cache_read"), CacheWrite: p.Float("cache_write")}
		p.Done()
	}
	return all
}

func readSecrets(m *strictyaml.Map, at map[string]workflow.Pos) map[string]Place {
	all := map[string]Place{}
	for e := range m.All() {
		at["secrets."+e.Name] = e.Key.Pos()
		all[e.Name] = readPlace(e.Value)
	}
	return all
}

// readPlace reads where a secret is. A secret itself does not belong here.
func readPlace(n strictyaml.Node) Place {
	if !n.Exists() {
		return Place{}
	}
	if n.IsScalar() {
		n.Errorf(codeConfig, "write `{env: VARIABLE}` or `{file: PATH}`; the value itself does not belong into a file that is shared", "a secret stands here by its value")
		return Place{}
	}
	m := n.Map()
	p := Place{Env: m.Name("env"), File: m.String("file")}
	unknown := m.Done()
	if (p.Env == "") == (p.File == "") && unknown == 0 && n.IsMap() {
		n.Errorf(codeConfig, "write either `env: VARIABLE` or `file: PATH`", "it is not clear where the secret is")
	}
	return p
}

func readServers(m *strictyaml.Map, secrets map[string]Place, at map[string]workflow.Pos) []Server {
	var all []Server
	for e := range m.All() {
		at["mcp."+e.Name] = e.Key.Pos()
		s := e.Value.Map()
		server := Server{
			Name: e.Name, URL: s.String("url"), Env: readValues(s.Map("env"), secrets), Headers: readValues(s.Map("headers"), secrets),
			Start: s.Duration("start_timeout"), Call: s.Duration("call_timeout"), Login: readLogin(s.Map("login"), secrets),
		}
		for _, word := range s.Get("command").OneOrMany() {
			server.Command = append(server.Command, word.Name())
		}
		unknown := s.Done()
		if (len(server.Command) == 0) == (server.URL == "") && unknown == 0 && e.Value.IsMap() {
			e.Value.Key().Errorf(codeConfig, "write its `command: [PROGRAM, ARGUMENT…]`, or the `url` at which it answers", "MCP server %q needs a command or a url", e.Name)
		}
		if login := s.Peek("login"); login.Exists() {
			switch {
			case server.URL == "" && len(server.Command) > 0:
				login.Key().Errorf(codeConfig, "remove it; give the program a key under `env`", "MCP server %q is a program, to which nobody logs in", e.Name)
			case server.HasKey():
				login.Key().Errorf(codeConfig, "keep one of them", "MCP server %q has a login and an Authorization header", e.Name)
			}
		}
		all = append(all, server)
	}
	return all
}

func readLogin(m *strictyaml.Map, secrets map[string]Place) Login {
	l := Login{ClientID: m.Name("client_id"), Scopes: m.Strings("scopes"), Port: m.Int("port", 1)}
	if n := m.Get("client_secret"); n.Exists() {
		if n.IsScalar() {
			n.Errorf(codeConfig, "write `{secret: NAME}`, and under `secrets` where it is; the value itself does not belong into a file that is shared", "a secret stands here by its value")
		} else {
			l.ClientSecret = readSecret(n.Map(), secrets)
		}
		if l.ClientID == "" {
			n.Key().Errorf(codeConfig, "write the `client_id` that it belongs to", "a client_secret has no client_id")
		}
	}
	if l.Port > 65535 {
		m.Get("port").Errorf(codeConfig, "write one between 1024 and 65535", "there is no port %d", l.Port)
	}
	m.Done()
	return l
}

// readSecret reads the name of a secret, which has to be one of the project's.
func readSecret(m *strictyaml.Map, secrets map[string]Place) string {
	name := m.Get("secret")
	m.Done()
	if _, ok := secrets[name.Name()]; name.Exists() && !ok {
		name.Errorf(codeConfig, "say under `secrets` where it is found, e.g. `"+name.Name()+": {env: VARIABLE}`", "there is no secret %q", name.Name())
	}
	return name.Name()
}

// readValues reads texts, in place of which a secret may be named.
func readValues(m *strictyaml.Map, secrets map[string]Place) map[string]Value {
	if m.Len() == 0 {
		return nil
	}
	all := map[string]Value{}
	for e := range m.All() {
		if e.Value.IsScalar() {
			all[e.Name] = Value{Text: e.Value.Name()}
			continue
		}
		v := e.Value.Map()
		prefix := v.String("prefix")
		all[e.Name] = Value{Secret: readSecret(v, secrets), Prefix: prefix}
	}
	return all
}

func readParallel(m *strictyaml.Map) map[string]int {
	all := map[string]int{}
	for e := range m.All() {
		all[e.Name] = int(e.Value.Int(1))
	}
	return all
}

func (c *Context) read(m *strictyaml.Map) {
	if kb := m.Int("max_kb", 1); kb > 0 {
		c.MaxBytes = kb << 10
	}
	if n := m.Get("memories"); n.Exists() {
		c.Memories = int(n.Int(0))
	}
	m.Done()
}

// readRetention reads which runs are kept, over what was said before.
func readRetention(m *strictyaml.Map, r *Retention) {
	mb := m.Get("max_mb")
	size := mb.Int(1)
	if size > math.MaxInt64>>20 {
		mb.Errorf(codeConfig, "write a smaller number, or leave it out", "max_mb is more than any disk has")
		size = 0
	}
	r.Age = cmp.Or(m.Get("max_days").Days(), r.Age)
	r.Runs = cmp.Or(m.Int("max_runs", 1), r.Runs)
	r.Size = cmp.Or(size<<20, r.Size)
	m.Done()
}

func readBrowser(m *strictyaml.Map) Browser {
	b := Browser{Program: m.String("program"), PrivateNetwork: m.Bool("private_network")}
	m.Done()
	return b
}
