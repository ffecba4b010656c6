package cli

import (
	"regexp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// Quirks describe how a CLI deviates from the Agent Client Protocol, beyond what it
// announces when a conversation begins. The zero value has none.
type Quirks struct {
	Mode             string // its own mode in which it asks; "": that in which it starts
	SetsModel        bool   // the model is set in the conversation instead of by arguments
	LateReplay       bool   // a continued conversation is replayed after it is reported to be ready
	IgnoresEnd       bool   // it does not exit at the end of its input
	IgnoresCancel    bool   // a cancelled turn continues until the model answers
	NoCommandServers bool   // supports MCP servers with a URL only
	// MinuteFiles are patterns of files whose existence means that the CLI would overwrite
	// the old conversation instead of continuing it, until the minute in which it was
	// opened before is over: {minute} is that minute, {id} is the beginning of the
	// conversation's id, and $NAME is a variable of its environment.
	MinuteFiles  []string
	TitleCommand bool                      // the title of a request to run a command is the command
	Kinds        map[string]*regexp.Regexp // by protocol kind: titles of tools whose kind it does not report
	Usage        Usage                     // what its token counts refer to
	Notice       *regexp.Regexp            // messages that are not from the model; nil: none
	FailedText   *regexp.Regexp            // answers that indicate a failure; nil: none
}

// Usage is what the token counts at the end of a turn refer to.
type Usage string

// The usages. If only the last response is reported, the actual usage is higher.
const (
	UsageTurn  Usage = "turn"
	UsageTotal Usage = "total" // the whole conversation
	UsageLast  Usage = "last"  // the last response of the model
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

// toolKinds are the tool kinds of the protocol that permissions apply to.
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
