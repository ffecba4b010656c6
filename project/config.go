package project

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Config is the content of a project's config.yml.
type Config struct {
	// Agent is the default agent, for tasks that do not name one. If "", see [agent.Set].
	Agent string
	// Driver stores and drives runs. "" means on this machine.
	Driver string
	// Temporal says where runs are if the driver uses Temporal.
	Temporal Temporal
	// Model is the default model of agents that use an API.
	Model string
	// Providers are the model providers, by name.
	Providers map[string]Provider
	// Prices of models override the built-in ones.
	Prices map[string]agent.Price
	// Secrets are the locations of secret values, by name.
	Secrets map[string]Place
	// Servers are the MCP servers, in the order of the file.
	Servers []Server
	// Parallel limits concurrent attempts of agents with a model, in total and by
	// account.
	Parallel map[string]int
	// Context limits what a prompt contains besides the task.
	Context Context
	// Browser configures the browser.
	Browser Browser
	// Workspace configures the workspaces of steps that have their own.
	Workspace Workspace
	// Sandbox says whether permissions of tool programs are enforced: "" means if the
	// system supports it; otherwise it is "required" or "none".
	Sandbox string
	// Autonomy is "full" if the user lets agents do anything without asking, in every
	// project. If "", a project needs trust for that.
	Autonomy string
	// Retention limits which runs are kept when one has ended. Zero means all.
	Retention Retention
	// Handoff configures work that agents hand off to each other.
	Handoff Handoff
	// MCP configures what clients of the MCP server can do.
	MCP MCP
	// Notify is whom a server tells what about runs.
	Notify []Notification
	// Telemetry says where spans and figures of runs are sent to.
	Telemetry Telemetry
	// Limits are the default limits of a run.
	Limits workflow.Limits
	// Generated are the limits of a workflow that a model wrote.
	Generated workflow.Limits
	// MaxNesting is how many runs may be inside of each other, because an attempt of one starts
	// the next. Only a user can set it.
	MaxNesting int
}

// AllAccounts is the key of [Config.Parallel] for all accounts together.
const AllAccounts = "all"

// Provider is a model provider.
type Provider struct {
	API     string // its protocol
	BaseURL string // "": the official one
	Key     Place  // zero: the standard variable of its API
	User    bool   // it is defined in the user's own config.yml
}

// Place is the location of a secret. Exactly one field is set.
type Place struct{ Env, File string }

// Value is a text, or a prefix and the name of a secret.
type Value struct{ Text, Secret, Prefix string }

// Server is an MCP server: a command or a URL.
type Server struct {
	Name    string
	Command []string
	Env     map[string]Value
	URL     string
	Headers map[string]Value
	Login   Login         // how people log in
	Start   time.Duration // timeout until the first response; zero: the default
	Call    time.Duration // timeout of a call; zero: the default
}

// HasKey reports whether the configuration of a server has a key, so that no login is
// needed.
func (s *Server) HasKey() bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(s.Headers)), func(name string) bool { return strings.EqualFold(name, "Authorization") })
}

// Login configures how people log in to a server. The zero value uses what the server
// announces.
type Login struct {
	ClientID     string   // of Hocket; "": it registers itself
	ClientSecret string   // the name of a secret; "": none
	Scopes       []string // to request; none: those that the server announces
	Port         int      // for the redirect from the browser; zero: any
}

// Context limits what a prompt contains besides the task.
type Context struct {
	MaxBytes int // of a whole prompt
	Memories int // maximum number
}

// Retention limits which runs are kept. The zero value means all.
type Retention struct {
	Age  time.Duration // since they ended
	Runs int
	Size int64 // total bytes
}

// Workspace configures the workspaces of steps that have their own.
type Workspace struct {
	Include []string // patterns of ignored files that a workspace gets nevertheless
	Setup   string   // a command that prepares a workspace, such as one that installs packages
	// SetupKey are the files that decide what the command makes. As long as they are the same, that is copied.
	SetupKey []string
}

// Browser configures the browser.
type Browser struct {
	Program        string // "": the first one found
	PrivateNetwork bool   // allow addresses of this machine and its network
}

// Handoff configures work that agents hand off to each other.
type Handoff struct {
	Dir         string // of all sessions, with slashes, relative to the project
	Parallel    int    // sessions at the same time
	SessionOnly bool   // deliverables must be in the directory of their session
	Advisory    bool   // agents are only told limits on writing that this machine cannot enforce
	Required    bool   // prose without a request is refused, except for a SPIKE
	Tmux        bool   // sessions work in tmux
	Test        string // the command that must succeed before the work of a TDD handoff is accepted
}

// MCP configures what clients of the MCP server can do.
type MCP struct {
	// Workflows are the names of those that are tools of their own.
	Workflows []string
	// Answers are the questions that may be put to the user of a client: "none", "all", or, if "",
	// gates that do not require a person. A project cannot set it.
	Answers string
}

// codeUser is the code of settings that a project cannot set, and codeLink of files that
// are not opened.
const (
	codeUser = "config-user-only"
	codeLink = "project-link"
)

// codeConfig is the code of mistakes in config.yml other than those in its YAML.
const codeConfig = "config-invalid"

// apis are the supported APIs of providers.
var apis = []string{"anthropic", "openai", "openai-compatible", "google"}

// defaultConfig returns the defaults.
func defaultConfig() Config {
	return Config{
		Context:   Context{MaxBytes: 400 << 10, Memories: 5},
		Handoff:   Handoff{Dir: "docs/.scratch/sessions", Parallel: 4},
		Limits:    check.Defaults(),
		Generated: workflow.Limits{Steps: 10, Parallel: 3, Depth: 1, Runtime: 5 * time.Minute},

		MaxNesting: 3,
	}
}

// readConfig reads a config.yml. Invalid parts are reported, and valid parts still apply. It
// adds the positions of what needs trust, such as mcp.NAME, to at.
func readConfig(file string, text []byte, at map[string]workflow.Pos) (Config, workflow.Diagnostics) {
	c := defaultConfig()
	doc := strictyaml.Read(file, text)
	root := doc.Root().Map()
	c.Agent = root.Name("agent")
	at["driver"] = root.Peek("driver").Pos()
	c.Driver = root.Name("driver")
	c.Temporal.read(root.Map("temporal"))
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
	at["workspace"] = root.Peek("workspace").Pos()
	c.Workspace = readWorkspace(root.Map("workspace"))
	at["handoff"] = root.Peek("handoff").Pos()
	c.Handoff.read(root.Map("handoff"))
	server := root.Map("mcp_server")
	c.MCP.Workflows = server.Strings("workflows")
	server.Refuse("answers", codeUser, userOnly, "a project cannot decide who answers its questions")
	server.Done()
	c.Notify = readNotifications(root.Get("notify"), c.Secrets, at)
	at["telemetry"] = root.Peek("telemetry").Pos()
	c.Telemetry.read(root.Get("telemetry"), c.Secrets)
	tools := root.Map("tools")
	if c.Sandbox = tools.Word("sandbox", "required", "none"); c.Sandbox == "none" {
		tools.Peek("sandbox").Errorf(codeUser, userOnly, "a project cannot disable the sandbox")
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

// readProviders reads the providers. In the user's own file, keys may be sent anywhere.
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
				e.Value.Key().Errorf(codeConfig, "add one, such as `api: openai-compatible`", "provider %q: missing api", e.Name)
			}
		}
		if provider.API == "openai-compatible" && provider.BaseURL == "" {
			e.Value.Key().Errorf(codeConfig, "add one, such as `base_url: http://127.0.0.1:11434/v1`", "provider %q: missing base_url", e.Name)
		}
		if !user && provider.standing() {
			p.Peek("base_url").Errorf(codeUser, "use a separate key, such as `key: {env: "+variableFor(e.Name)+"}`; or define the provider in your own ~/.config/hocket/config.yml",
				"a project cannot send your key to another address")
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

// readPlace reads the location of a secret. The secret itself does not belong here.
func readPlace(n strictyaml.Node) Place {
	if !n.Exists() {
		return Place{}
	}
	if n.IsScalar() {
		n.Errorf(codeConfig, "write `{env: VARIABLE}` or `{file: PATH}`; the value itself does not belong in a shared file", "config.yml must not contain the value of a secret")
		return Place{}
	}
	m := n.Map()
	p := Place{Env: m.Name("env"), File: readPath(m, "file")}
	unknown := m.Done()
	if (p.Env == "") == (p.File == "") && unknown == 0 && n.IsMap() {
		n.Errorf(codeConfig, "write either `env: VARIABLE` or `file: PATH`", "invalid location of a secret: expected exactly one of env and file")
	}
	return p
}

// readPath reads the path of a file, and replaces ~/ at its beginning by the home directory: what needs trust is the
// file that is read.
func readPath(m *strictyaml.Map, key string) string {
	file := m.String(key)
	below, ok := strings.CutPrefix(file, "~/")
	if !ok {
		return file
	}
	home, err := os.UserHomeDir()
	if err != nil {
		m.Peek(key).Errorf(codeConfig, "set HOME, or write the path without ~", "%q is in the home directory, which is unknown", file)
		return file
	}
	return filepath.Join(home, below)
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
			e.Value.Key().Errorf(codeConfig, "add `command: [PROGRAM, ARGUMENT…]` or `url`, but not both", "MCP server %q: expected exactly one of command and url", e.Name)
		}
		if login := s.Peek("login"); login.Exists() {
			switch {
			case server.URL == "" && len(server.Command) > 0:
				login.Key().Errorf(codeConfig, "remove it; if the server needs a key, set it under `env`", "MCP server %q: stdio servers do not support login", e.Name)
			case server.HasKey():
				login.Key().Errorf(codeConfig, "keep one of them", "MCP server %q has both a login and an Authorization header", e.Name)
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
			n.Errorf(codeConfig, "write `{secret: NAME}`, and define NAME under `secrets`; the value itself does not belong in a shared file", "config.yml must not contain the value of a secret")
		} else {
			l.ClientSecret = readSecret(n.Map(), secrets)
		}
		if l.ClientID == "" {
			n.Key().Errorf(codeConfig, "add the `client_id`", "client_secret without client_id")
		}
	}
	if l.Port > 65535 {
		m.Get("port").Errorf(codeConfig, "use a port between 1024 and 65535", "invalid port %d", l.Port)
	}
	m.Done()
	return l
}

// readSecret reads the name of a secret that the project defines.
func readSecret(m *strictyaml.Map, secrets map[string]Place) string {
	name := m.Get("secret")
	m.Done()
	if _, ok := secrets[name.Name()]; name.Exists() && !ok {
		name.Errorf(codeConfig, "define it under `secrets`, such as `"+name.Name()+": {env: VARIABLE}`", "unknown secret %q", name.Name())
	}
	return name.Name()
}

// readValues reads texts or references to secrets.
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

// readRetention reads which runs are kept, and overrides what was set before.
func readRetention(m *strictyaml.Map, r *Retention) {
	mb := m.Get("max_mb")
	size := mb.Int(1)
	if size > math.MaxInt64>>20 {
		mb.Errorf(codeConfig, "use a smaller number, or remove it for no limit", "max_mb is too large")
		size = 0
	}
	r.Age = cmp.Or(m.Get("max_days").Days(), r.Age)
	r.Runs = cmp.Or(m.Int("max_runs", 1), r.Runs)
	r.Size = cmp.Or(size<<20, r.Size)
	m.Done()
}

func (h *Handoff) read(m *strictyaml.Map) {
	if dir := m.Get("directory"); dir.Exists() {
		clean := path.Clean(dir.Text())
		if !filepath.IsLocal(filepath.FromSlash(clean)) || clean == "." || strings.Contains(clean, `\`) {
			dir.Errorf(codeConfig, "write a directory below that of the project, such as docs/.scratch/sessions", "the directory of sessions cannot be %q", clean)
		} else {
			h.Dir = clean
		}
	}
	h.Parallel = cmp.Or(m.Int("parallel", 1), h.Parallel)
	h.SessionOnly = m.Word("deliverables", "project", "session") == "session"
	h.Advisory = m.Word("write_limits", "enforced", "told") == "told"
	h.Required = m.Bool("required")
	h.Tmux = m.Bool("tmux")
	h.Test = m.String("test")
	m.Done()
}

func readWorkspace(m *strictyaml.Map) Workspace {
	w := Workspace{Include: m.Strings("include"), Setup: m.String("setup"), SetupKey: m.Strings("setup_key")}
	if w.Setup == "" && len(w.SetupKey) > 0 {
		m.Peek("setup_key").Key().Errorf(codeConfig, "add the command as setup", "setup_key has no meaning without setup")
	}
	for i, file := range w.SetupKey {
		if !filepath.IsLocal(filepath.FromSlash(file)) || strings.Contains(file, `\`) {
			m.Peek("setup_key").Errorf(codeConfig, "write files below the directory of the project", "the file %q of setup_key is not in the project", w.SetupKey[i])
		}
	}
	m.Done()
	return w
}

func readBrowser(m *strictyaml.Map) Browser {
	b := Browser{Program: m.String("program"), PrivateNetwork: m.Bool("private_network")}
	m.Done()
	return b
}
