package cli

import (
	"slices"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

// Manifest is what there is to know about a CLI. See [ReadManifest] for how one is
// written.
type Manifest struct {
	Name        string
	Description string
	Programs    []string // the first that is on the PATH counts
	Install     string   // how to get it, as a sentence
	Login       string   // how to log in or give it a key, as a sentence
	Account     string   // whose quota it uses
	Oldest      string   // version that is known to work; "" every one
	Keys        []string // variables of its own, such as its key; one that ends with * is the beginning of a name
	// ProjectFiles are where it looks for settings in a project: hooks, servers,
	// plugins. They are paths, seen from the working directory and those above it.
	ProjectFiles []string
	Pos          workflow.Pos

	root        string // of the project whose manifest it is; "" it is built in
	meaning     any    // all that a project's file says, without how it is written
	versionArgs []string
	headless    bool // it can be run without a conversation
	args        []argument
	stdin       template
	env         []variable
	files       []file
	permissions map[Mode]values
	powers      map[agent.Power]means
	words       map[string]values // how a word of allow or deny is told; none: the list is
	chosen      []choice
	serverForms map[string]form // by "command" and "url": how a server of tools is written
	newServers  bool            // a conversation that is taken up has those that it began with
	reply       reply
	exits       map[int]Meaning
	errors      []errorRule
	complaints  []errorRule // of lines on standard error, after which there is nothing to wait for
	acp         *acp
	uses        map[string]bool // values that are named anywhere
	usesAlone   map[string]bool // of these, what a run without a conversation is told
	usesTalking map[string]bool // and what one in a conversation is
}

// allPrograms are those for a run and for a conversation.
func (m *Manifest) allPrograms() []string {
	if m.acp == nil {
		return m.Programs
	}
	return slices.Concat(m.Programs, m.acp.programs)
}

// means are how a CLI is told about a power.
type means struct {
	told    map[agent.Permission]values // about all of its kind; ask: that everything of it is to be asked for
	some    values                      // where patterns allow some of it
	pattern template                    // how a pattern is written in the lists allow and deny; nil: it keeps to none
}

// variable is one of the environment.
type variable struct {
	name  string
	value template
	unset bool // it must not be there
}

// choice is a value that is there only if another one is.
type choice struct {
	name, when string
	is         form
}

// file is one that is written before a run, into a directory of its own.
type file struct {
	id      string // the value of that name is its path
	name    string
	when    string // a value that must be there; "" none
	content form   // text if it is a template that gives text, else JSON
}

// acp says how the CLI is started for a conversation in the Agent Client Protocol.
type acp struct {
	programs []string // none: as for the CLI itself
	install  string
	args     []argument
	env      []variable
	meta     form                 // what a conversation is opened with besides; nil nothing
	asks     map[agent.Power]bool // what it asks for
	quirks   Quirks
	files    []string // as ProjectFiles; nil: the same
}

// Mode is how much an agent may do.
type Mode string

// The modes. A CLI carries them out by its own means; what it cannot keep an agent
// from is on the page of the manifest.
const (
	ReadOnly Mode = "read-only" // look at files
	Edit     Mode = "edit"      // change files of the project too: the default
	Full     Mode = "full"      // whatever the user may do
	AskFirst Mode = "ask"       // a person is asked before each thing that is not allowed
)

// Meaning is what an event, an exit status or the words of an error say about a run.
type Meaning string

// The meanings. Every one but Success is a failure.
const (
	Success Meaning = "success"
	Failure Meaning = "failure"
	Quota   Meaning = "quota"   // nothing more until later
	Login   Meaning = "login"   // not logged in, or the key was refused
	Model   Meaning = "model"   // there is no such model
	Limit   Meaning = "limit"   // most turns or most cost reached
	Session Meaning = "session" // the conversation to take up is not there
)

var meanings = []string{string(Success), string(Failure), string(Quota), string(Login), string(Model), string(Limit), string(Session)}

// Headless says whether the CLI can be run without a conversation.
func (m *Manifest) Headless() bool { return m.headless }

// Converses says whether the CLI can be run in a conversation.
func (m *Manifest) Converses() bool { return m.acp != nil }

// Resumes says whether the CLI can take up a conversation of its own.
func (m *Manifest) Resumes() bool { return m.uses["resume"] }

// builtinValues are the values that every manifest may name, with what they are.
var builtinValues = map[string]string{
	"prompt":        "the prompt",
	"system":        "the system prompt",
	"model":         "the model",
	"dir":           "the working directory, absolute",
	"tmp":           "the directory of the files of this run",
	"resume":        "id of the conversation to take up",
	"session":       "id for a new conversation, made up by Hocket",
	"schema":        "JSON Schema of the answer",
	"strict_schema": "JSON Schema of the answer, if it is strict enough for OpenAI",
	"servers":       "servers of tools, by their names, each in the form of `servers`",
	"allow":         "list of what is allowed without asking, in the CLI's own words",
	"deny":          "list of what is not allowed, in the CLI's own words",
	"max_turns":     "most answers of the model",
	"effort":        "how much the model thinks",
	"temperature":   "randomness of the model",
	"top_p":         "share of the likely words that the model chooses from",
	"max_cost_usd":  "most that it may cost",
	"extra":         "list of further arguments from the settings",
	"isolated":      "1 where the CLI is not to use the project's own settings, as nobody has trusted the project",
}

// Events says whether the CLI prints events. Else its whole output is the answer.
func (m *Manifest) Events() bool { return m.reply.format != "text" }
