package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// Entry is one entry in the transcript of an attempt: something that its agent said or did.
// It is an [AssistantText], a [ToolCall], a [ToolResult], a [FileChange] or [Truncated].
//
// A transcript is kept as JSON lines, one for each entry, in chronological order. The
// format is stable: keys may be added, and none changes its meaning.
//
//	{"type":"text","text":"I will look."}
//	{"type":"tool_call","id":"call_1","tool":"read_file","arguments":{"path":"a.txt"}}
//	{"type":"tool_result","id":"call_1","tool":"read_file","text":"no such file","error":true}
//	{"type":"file_change","path":"a.txt","change":"created","new":"Hello\n"}
//	{"type":"truncated"}
//
// The first entry of a response has the tokens that it used, as "tokens_in" and "tokens_out", if the agent knows them.
//
// Every line also has a key "at" with the time, such as "2026-11-18T09:30:00.123Z"; older
// versions did not store it. The id links a result to its call; some agents provide none. An entry that was too long
// has a key "cut" with the number of bytes missing at the end of its text. If a call was
// cut, its arguments are a string: the beginning of their JSON. A file change that was cut
// has no texts.
type Entry interface{ entry() }

// AssistantText is a message of the model, or part of one.
type AssistantText struct {
	Text string
	Cut  int // bytes missing at the end

	TokensIn, TokensOut int64 // that the response used; of its first entry
}

// ToolCall is a call of a tool by the model.
type ToolCall struct {
	ID        string // "": the agent provides none
	Tool      string
	Arguments any // as in JSON
	Cut       int // bytes missing; then Arguments is the beginning of their JSON

	TokensIn, TokensOut int64 // that the response used; of its first entry
}

// ToolResult is what a call of a tool returned.
type ToolResult struct {
	ID, Tool string // as in the call
	Text     string
	Failed   bool
	Cut      int // bytes missing at the end of Text
}

// FileChange is a change to a file that the agent reported. Changes by shell commands are
// not reported.
type FileChange struct {
	Path     string // relative to the project if inside it, with slashes
	Change   ChangeKind
	Old, New string // the text that was replaced, and the text that replaced it; both "": the agent does not say
	Cut      int    // bytes of Old and New, if they were too long
}

// Truncated ends a transcript that reached its limit.
type Truncated struct{}

func (AssistantText) entry() {}
func (ToolCall) entry()      {}
func (ToolResult) entry()    {}
func (FileChange) entry()    {}
func (Truncated) entry()     {}

// ChangeKind is what happened to a file.
type ChangeKind string

// The kinds of changes.
const (
	Created  ChangeKind = "created"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
	Written  ChangeKind = "written" // created or modified: the agent does not say which
)

// Record adds an entry to the transcript of the attempt.
func (t *Task) Record(e Entry) {
	if t.KeepEntry == nil {
		return
	}
	if change, ok := e.(FileChange); ok {
		change.Path = t.inProject(change.Path)
		e = change
	}
	t.KeepEntry(e)
}

// inProject returns a path relative to the project if it is inside it.
func (t *Task) inProject(path string) string {
	if filepath.IsAbs(path) {
		if rel, err := filepath.Rel(t.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return filepath.ToSlash(path)
}

// The limits of a transcript, in bytes.
const (
	maxEntry      = 64 << 10 // of one line
	maxTranscript = 10 << 20 // of all lines
	maxName       = 1 << 10  // of an id, a name or a path
)

// Transcript returns a function that writes entries as JSON lines, within the limits of
// a transcript. It is safe for concurrent use.
func Transcript(keep func(line []byte)) func(Entry) {
	var mu sync.Mutex
	size, full := 0, false
	return func(e Entry) {
		mu.Lock()
		defer mu.Unlock()
		line := encodeEntry(e, time.Now())
		if full {
			return
		}
		if size += len(line); size > maxTranscript {
			full, line = true, encodeEntry(Truncated{}, time.Now())
		}
		keep(line)
	}
}

// entryLine is the JSON form of all kinds of entries.
type entryLine struct {
	Type      string     `json:"type"`
	ID        string     `json:"id,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Arguments any        `json:"arguments,omitempty"`
	Text      string     `json:"text,omitempty"`
	Error     bool       `json:"error,omitempty"`
	Path      string     `json:"path,omitempty"`
	Change    ChangeKind `json:"change,omitempty"`
	Old       string     `json:"old,omitempty"`
	New       string     `json:"new,omitempty"`
	Cut       int        `json:"cut,omitempty"`
	TokensIn  int64      `json:"tokens_in,omitempty"`
	TokensOut int64      `json:"tokens_out,omitempty"`
	At        time.Time  `json:"at,omitzero"`
}

func lineOf(e Entry) entryLine {
	switch e := e.(type) {
	case AssistantText:
		return entryLine{Type: "text", Text: e.Text, Cut: e.Cut, TokensIn: e.TokensIn, TokensOut: e.TokensOut}
	case ToolCall:
		return entryLine{Type: "tool_call", ID: e.ID, Tool: e.Tool, Arguments: e.Arguments, Cut: e.Cut, TokensIn: e.TokensIn, TokensOut: e.TokensOut}
	case ToolResult:
		return entryLine{Type: "tool_result", ID: e.ID, Tool: e.Tool, Text: e.Text, Error: e.Failed, Cut: e.Cut}
	case FileChange:
		return entryLine{Type: "file_change", Path: e.Path, Change: e.Change, Old: e.Old, New: e.New, Cut: e.Cut}
	case Truncated:
	}
	return entryLine{Type: "truncated"}
}

// ParseEntry reads a line of a transcript.
func ParseEntry(line []byte) (Entry, error) {
	e, _, err := ParseEntryAt(line)
	return e, err
}

// ParseEntryAt also returns when the entry was added, zero if that is not known.
func ParseEntryAt(line []byte) (Entry, time.Time, error) {
	var l entryLine
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&l); err != nil {
		return nil, time.Time{}, fmt.Errorf("agent: invalid transcript entry: %w", err)
	}
	switch l.Type {
	case "text":
		return AssistantText{Text: l.Text, Cut: l.Cut, TokensIn: l.TokensIn, TokensOut: l.TokensOut}, l.At, nil
	case "tool_call":
		return ToolCall{ID: l.ID, Tool: l.Tool, Arguments: l.Arguments, Cut: l.Cut, TokensIn: l.TokensIn, TokensOut: l.TokensOut}, l.At, nil
	case "tool_result":
		return ToolResult{ID: l.ID, Tool: l.Tool, Text: l.Text, Failed: l.Error, Cut: l.Cut}, l.At, nil
	case "file_change":
		return FileChange{Path: l.Path, Change: l.Change, Old: l.Old, New: l.New, Cut: l.Cut}, l.At, nil
	case "truncated":
		return Truncated{}, l.At, nil
	}
	return nil, time.Time{}, fmt.Errorf("agent: unknown transcript entry type %q", l.Type)
}

// encodeEntry returns the line for an entry at a time, cut if it is too long.
func encodeEntry(e Entry, at time.Time) []byte {
	l := lineOf(e)
	l.At = at.UTC().Truncate(time.Millisecond)
	l.ID, l.Tool, l.Path = prefix(l.ID, maxName), prefix(l.Tool, maxName), prefix(l.Path, maxName)
	line, err := l.encode()
	if err != nil { // the arguments are not JSON
		l.Arguments = fmt.Sprint(l.Arguments)
		line, _ = l.encode()
	}
	if len(line) <= maxEntry {
		return line
	}
	if texts := len(l.Old) + len(l.New); texts > 0 { // the beginnings of both would differ where the files do not
		l.Old, l.New, l.Cut = "", "", texts
		line, _ = l.encode()
		return line
	}
	long := l.Text
	set := func(text string) { l.Text = text }
	if l.Arguments != nil {
		isText := false
		if long, isText = l.Arguments.(string); !isText {
			long = workflow.FormatJSON(l.Arguments)
		}
		set = func(text string) { l.Arguments = text }
	}
	for text := prefix(long, maxEntry); len(line) > maxEntry; {
		set(text)
		l.Cut = len(long) - len(text)
		line, _ = l.encode()
		// Escaping makes text longer in JSON, so the limit is scaled in proportion.
		text = prefix(text, len(text)*maxEntry/(len(line)+maxName))
	}
	return line
}

func (l *entryLine) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return b.Bytes(), err
}

// prefix returns the beginning of a text, in whole characters.
func prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// MaskEntry masks secrets in an entry.
func MaskEntry(e Entry, mask func(text string) string) Entry {
	switch e := e.(type) {
	case AssistantText:
		e.Text = mask(e.Text)
		return e
	case ToolCall:
		e.ID, e.Tool, e.Arguments = mask(e.ID), mask(e.Tool), maskValue(e.Arguments, mask)
		return e
	case ToolResult:
		e.ID, e.Tool, e.Text = mask(e.ID), mask(e.Tool), mask(e.Text)
		return e
	case FileChange:
		e.Path, e.Old, e.New = mask(e.Path), mask(e.Old), mask(e.New)
		return e
	case Truncated:
	}
	return e
}

// maskValue masks secrets in a JSON value, including its keys and numbers.
func maskValue(v any, mask func(text string) string) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		return mask(v)
	case []any:
		masked := make([]any, len(v))
		for i := range v {
			masked[i] = maskValue(v[i], mask)
		}
		return masked
	case map[string]any:
		masked := make(map[string]any, len(v))
		for key, value := range v {
			masked[mask(key)] = maskValue(value, mask)
		}
		return masked
	}
	text := workflow.FormatJSON(v)
	if masked := mask(text); masked != text {
		return masked
	}
	return v
}
