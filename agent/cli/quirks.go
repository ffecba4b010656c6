package cli

import (
	"regexp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// Quirks are how a CLI keeps to the Agent Client Protocol in its own way, beyond what it
// says of itself when a conversation begins. The zero value has none.
type Quirks struct {
	Mode             string // its own mode in which it asks; "" that in which it starts
	SetsModel        bool   // the model is set in the conversation, and not by arguments
	LateReplay       bool   // a conversation that is taken up is repeated after it is said to be ready
	IgnoresEnd       bool   // the end of its input does not end it
	IgnoresCancel    bool   // a turn goes on, after it was cancelled, until the model answers
	NoCommandServers bool   // takes servers of tools by their address only
	// MinuteFiles are patterns of files that are there when the CLI would begin a
	// conversation anew, over the old one, as long as the minute lasts in which it was
	// opened before: {minute} is that minute, {id} begins the conversation's id, and $NAME is
	// a variable of its environment.
	MinuteFiles  []string
	TitleCommand bool                      // what it asks for in order to run a command has the command as its title
	Kinds        map[string]*regexp.Regexp // by kinds of the protocol: titles of tools of which it does not tell the kind
	Usage        Usage                     // what the tokens that it tells are about
	Notice       *regexp.Regexp            // messages that are not the model's; nil: none
	FailedText   *regexp.Regexp            // answers that stand for a failure; nil: none
}

// Usage is what the tokens that an agent tells at the end of a turn are about.
type Usage string

// The usages. What is told of the last answer only is less than what was used.
const (
	UsageTurn  Usage = "turn"
	UsageTotal Usage = "total" // the whole conversation
	UsageLast  Usage = "last"  // the last answer of the model
)

func (r *reader) quirks(m *strictyaml.Map) Quirks {
	q := Quirks{
		Mode: m.String("mode"), SetsModel: m.Bool("sets_model"), LateReplay: m.Bool("late_replay"), IgnoresEnd: m.Bool("ignores_end"),
		IgnoresCancel: m.Bool("ignores_cancel"), NoCommandServers: m.Bool("no_command_servers"),
		MinuteFiles: m.Strings("minute_files"), TitleCommand: m.Bool("title_command"), Kinds: r.kinds(m.Get("kinds")),
	}
	if n := m.Get("notice"); n.Exists() {
		q.Notice = r.pattern(n)
	}
	if n := m.Get("failed_text"); n.Exists() {
		q.FailedText = r.pattern(n)
	}
	q.Usage = Usage(m.Word("usage", string(UsageTurn), string(UsageTotal), string(UsageLast)))
	return q
}

// toolKinds are those of the protocol that permissions are about.
var toolKinds = []string{"execute", "edit", "delete", "move", "read", "search", "fetch"}

func (r *reader) kinds(n strictyaml.Node) map[string]*regexp.Regexp {
	m, out := n.Map(), map[string]*regexp.Regexp{}
	for _, kind := range toolKinds {
		if title := m.Get(kind); title.Exists() {
			if pattern := r.pattern(title); pattern != nil {
				out[kind] = pattern
			}
		}
	}
	m.Done()
	return out
}
