package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// API is a kind of provider.
type API string

// The APIs.
const (
	Anthropic  API = "anthropic"  // Messages
	OpenAI     API = "openai"     // Responses
	Compatible API = "compatible" // Chat Completions, as offered by Ollama, vLLM and others
	Gemini     API = "gemini"     // generateContent
)

// word returns the name of the API in config.yml.
func (a API) word() string {
	switch a {
	case Compatible:
		return "openai-compatible"
	case Gemini:
		return "google"
	case Anthropic, OpenAI:
	}
	return string(a)
}

// addresses are the default addresses of the APIs.
var addresses = map[API]string{
	Anthropic:  "https://api.anthropic.com",
	OpenAI:     "https://api.openai.com/v1",
	Gemini:     "https://generativelanguage.googleapis.com",
	Compatible: "", // anywhere
}

// Provider is an API at an address.
type Provider struct {
	API     API
	BaseURL string                 // "": the API's default; for OpenAI and Compatible it usually ends in /v1
	Key     func() (string, error) // nil: none is needed; the error says what to set
	KeyName string                 // the variable that the key comes from, for messages
	// KeyInFile means that only an attempt opens the file. Until then the key counts as
	// set.
	KeyInFile bool
	Headers   map[string]string // sent with every request
}

func (p Provider) address() string {
	if p.BaseURL != "" {
		return strings.TrimSuffix(p.BaseURL, "/")
	}
	return addresses[p.API]
}

// Options configure the available models.
type Options struct {
	Providers    map[string]Provider // by name
	Prices       agent.Prices        // nil: the list of this package
	DefaultModel string              // for agents that name none; "": there is no default
	Transport    http.RoundTripper   // nil: one of its own, closed by Close
}

// Executor executes tasks with a model. It is safe for concurrent use.
type Executor struct {
	providers map[string]Provider
	prices    agent.Prices
	fallback  string
	transport http.RoundTripper
	schema    *agent.Schema
	rest      func(context.Context, time.Duration) error // between tries
	longest   time.Duration                              // of one answer
}

var _ agent.Executor = (*Executor)(nil)

// New returns the executor.
func New(o Options) *Executor {
	e := &Executor{providers: o.Providers, prices: o.Prices, fallback: o.DefaultModel, transport: o.Transport, rest: rest, longest: longestAnswer}
	if e.prices == nil {
		e.prices = Prices(nil)
	}
	if e.transport == nil {
		e.transport = newTransport()
	}
	e.schema = agent.NewSchema(schema())
	return e
}

// Close closes idle connections.
func (e *Executor) Close() {
	if t, ok := e.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Traits describes the executor.
func (e *Executor) Traits() agent.Traits {
	return agent.Traits{
		About:      "Works with a model over its API",
		Settings:   e.schema,
		Supports:   func(*agent.Definition, string) bool { return true },
		Missing:    e.missing,
		Prompted:   true,
		CallsTools: true,
		Incomplete: e.incomplete,
		Account:    e.account,
		Unbounded:  e.unbounded,
	}
}

// account returns the name of the provider, with what distinguishes it from one of the same
// name with another address or key, which has its own quota.
func (e *Executor) account(task *agent.Task) string {
	var set settings
	if e.schema.Decode(task.Settings, &set) != nil {
		return ""
	}
	at, err := e.find(task.Agent, &set)
	if err != nil {
		return ""
	}
	key := ""
	if at.Key != nil {
		key, _ = at.Key() // the attempt reports what is wrong with it
	}
	sum := sha256.Sum256([]byte(at.address() + "\n" + key))
	return at.name + "#" + hex.EncodeToString(sum[:4])
}

// missing reports which key to set if no provider has one.
func (e *Executor) missing() string {
	if len(e.providers) == 0 {
		return "no model provider is configured; add one under providers in .hocket/config.yml"
	}
	var missing []string
	for _, name := range sorted.Keys(e.providers) {
		p := e.providers[name]
		if p.usable() {
			return ""
		}
		if unfit := p.unfit(); unfit != nil {
			return fmt.Sprintf("the key of %s cannot be used: %v", name, unfit)
		}
		missing = append(missing, cmp.Or(p.KeyName, "the key of "+name))
	}
	slices.Sort(missing)
	return "no model provider has a key; set " + strings.Join(slices.Compact(missing), " or ")
}

// unfit returns what is wrong with a key that is set; nil if none is set.
func (p Provider) unfit() error {
	if p.KeyInFile {
		return nil
	}
	_, err := p.Key()
	var hinted interface{ Hint() string }
	if !errors.As(err, &hinted) {
		return nil
	}
	names := strings.Split(p.KeyName, " or ")
	if p.KeyName == "" || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(hinted.Hint(), name) }) {
		return nil // the advice is to set it
	}
	return err
}

// Run executes the task with the model.
func (e *Executor) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	c, err := e.begin(task, log)
	if err != nil {
		return agent.Result{}, err
	}
	output, err := c.hold(ctx)
	result := agent.Result{Output: output, Usage: c.usage()}
	if err != nil && ctx.Err() != nil {
		err = agent.Interrupted(ctx)
	}
	return result, err
}

// begin finds the model of a task and prepares the request.
func (e *Executor) begin(task *agent.Task, log agent.Log) (*conversation, error) {
	c := &conversation{exec: e, task: task, log: agent.NewLines(log)}
	if err := e.schema.Decode(task.Settings, &c.set); err != nil {
		return nil, err
	}
	var err error
	if c.at, err = e.find(task.Agent, &c.set); err != nil {
		return nil, err
	}
	if c.patience, err = c.set.patience(); err != nil {
		return nil, err
	}
	if c.tools, err = newToolbox(task.Tools); err != nil {
		return nil, err
	}
	c.model = c.at.model
	if c.api, err = c.at.open(); err != nil {
		return nil, err
	}
	return c, c.prepare()
}

// open creates the client of a provider.
func (p place) open() (provider, error) {
	key := ""
	if p.Key != nil {
		var err error
		if key, err = p.Key(); err != nil {
			return nil, p.noKey(err)
		}
	}
	switch p.API {
	case Anthropic:
		return &anthropicAPI{at: p.Provider, key: key}, nil
	case OpenAI:
		return &responsesAPI{at: p.Provider, key: key}, nil
	case Compatible:
		return &chatAPI{at: p.Provider, key: key}, nil
	case Gemini:
		return &geminiAPI{at: p.Provider, key: key}, nil
	}
	return nil, agent.Permanentf("provider %s: unknown API %q; use anthropic, openai, google or openai-compatible", p.name, p.API)
}

// noKey keeps an error that says more than that a key is missing.
func (p place) noKey(err error) error {
	var known *agent.Error
	if errors.As(err, &known) {
		return err
	}
	if p.KeyName != "" && !strings.Contains(err.Error(), p.KeyName) {
		return agent.Permanentf("%s needs a key: %v; set %s", p.name, err, p.KeyName)
	}
	return agent.Permanentf("%s needs a key: %v", p.name, err)
}
