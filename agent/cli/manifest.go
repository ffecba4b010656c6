package cli

import (
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Manifest describes a CLI. [ReadManifest] documents the format.
type Manifest struct {
	Name        string
	Description string
	Programs    []string // the first one on the PATH counts
	Install     string   // how to install it, as a sentence
	Login       string   // how to log in or set a key, as a sentence
	Account     string   // whose quota it uses
	Oldest      string   // oldest tested version; "": any
	Keys        []string // variables of its own, such as its key; a trailing * makes one a prefix
	// ProjectFiles are where it looks for settings in a project: hooks, servers, plugins.
	// They are paths relative to the working directory and those above it.
	ProjectFiles []string
	Pos          workflow.Pos

	root        string // of the project that the manifest belongs to; "": it is built in
	meaning     any    // the normalized content of a project's manifest
	versionArgs []string
	headless    bool // it can be run without a conversation
	roams       bool // then it continues one that took place in another directory
	args        []argument
	stdin       template
	env         []variable
	userFiles   []template // what it writes for its user: settings, sessions, caches
	files       []file
	permissions map[Mode]values
	telemetry   telemetry
	mounts      []string // modes in which it confines its commands with mounts
	powers      map[agent.Power]means
	words       map[string]values // how an entry of allow or deny is passed; none: as the list
	chosen      []choice
	serverForms map[string]form // by "command" and "url": the format of an MCP server
	newServers  bool            // a continued conversation keeps the servers that it began with
	reply       reply
	exits       map[int]Meaning
	errors      []errorRule
	complaints  []errorRule // for lines on standard error after which waiting is pointless
	acp         *acp
	uses        map[string]bool // values that are named anywhere
	usesAlone   map[string]bool // of these, those used without a conversation
	usesTalking map[string]bool // and those used in a conversation
}

// allPrograms returns the programs for a run and for a conversation.
func (m *Manifest) allPrograms() []string {
	if m.acp == nil {
		return m.Programs
	}
	return slices.Concat(m.Programs, m.acp.programs)
}

// means describes how a CLI is told about a power.
type means struct {
	told    map[agent.Permission]values // for everything of its kind; ask: that it must always ask
	some    values                      // if patterns allow some of it
	pattern template                    // the format of a pattern in the lists allow and deny; nil: patterns are not supported
}

// variable is an environment variable.
type variable struct {
	name  string
	value template
	unset bool // it must not be set
}

// choice is a value that exists only if another one does.
type choice struct {
	name, when string
	is         form
}

// telemetry describes how the CLI is told to export spans, if those of its attempt are exported.
type telemetry struct {
	joins bool // its spans are in the trace that TRACEPARENT names, otherwise in one of their own
	args  []argument
	env   []variable
}

// file is a file that is written before a run, into its own directory.
type file struct {
	id      string // the value of that name is its path
	name    string
	when    string // a value that must exist; "": none
	content form   // text if it is a template that yields text, otherwise JSON
}

// acp describes how the CLI is started for a conversation in the Agent Client Protocol.
type acp struct {
	programs []string // none: the same as for the CLI itself
	install  string
	args     []argument
	env      []variable
	meta     form                 // further parameters for opening a conversation; nil: none
	asks     map[agent.Power]bool // what it asks about
	quirks   Quirks
	files    []string // as ProjectFiles; nil: the same
}

// Mode is how much an agent may do.
type Mode string

// The modes. A CLI enforces them by its own means; the page of the manifest says what it cannot
// prevent.
const (
	ReadOnly Mode = "read-only" // look at files
	Edit     Mode = "edit"      // may also change files of the project: the default
	Full     Mode = "full"      // whatever the user may do
	AskFirst Mode = "ask"       // a person is asked before each action that is not allowed
)

// Meaning is what an event, an exit status or an error message says about a run.
type Meaning string

// The meanings. All except Success are failures.
const (
	Success Meaning = "success"
	Failure Meaning = "failure"
	Quota   Meaning = "quota"   // no more requests until later
	Login   Meaning = "login"   // not logged in, or the key was refused
	Model   Meaning = "model"   // there is no such model
	Limit   Meaning = "limit"   // the maximum number of turns or cost was reached
	Session Meaning = "session" // the conversation to resume does not exist
)

var meanings = []string{string(Success), string(Failure), string(Quota), string(Login), string(Model), string(Limit), string(Session)}

// Headless reports whether the CLI can be run without a conversation.
func (m *Manifest) Headless() bool { return m.headless }

// Converses reports whether the CLI can be run in a conversation.
func (m *Manifest) Converses() bool { return m.acp != nil }

// Resumes reports whether the CLI can resume its own conversations.
func (m *Manifest) Resumes() bool { return m.uses["resume"] }

// builtinValues are the values that every manifest may name, with their descriptions.
var builtinValues = map[string]string{
	"prompt":        "the prompt",
	"system":        "the system prompt",
	"model":         "the model",
	"dir":           "the working directory, absolute",
	"tmp":           "the directory for the files of this run",
	"resume":        "id of the conversation to continue",
	"session":       "id for a new conversation, generated by Hocket",
	"schema":        "JSON Schema of the answer",
	"strict_schema": "JSON Schema of the answer, if it is strict enough for OpenAI",
	"servers":       "MCP servers by name, each in the format of `servers`",
	"allow":         "list of what is allowed without asking, in the CLI's own syntax",
	"deny":          "list of what is not allowed, in the CLI's own syntax",
	"max_turns":     "maximum number of model responses",
	"effort":        "reasoning effort of the model",
	"temperature":   "sampling temperature of the model",
	"top_p":         "nucleus sampling threshold (top_p)",
	"max_cost_usd":  "maximum cost",
	"extra":         "list of additional arguments from the settings",
	"telemetry":     "list of arguments of `telemetry`, if the CLI exports spans",
	"otlp_endpoint": "URL to which the CLI exports spans",
	"otlp_base":     "the same without /v1/traces, for a CLI that adds it; missing if it does not end with that",
	"isolated":      "1 if the CLI must ignore the project's own settings, because the project is not trusted",
}

// Events reports whether the CLI prints events. Otherwise its whole output is the answer.
func (m *Manifest) Events() bool { return m.reply.format != "text" }
