package protocol

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/workflow"
)

// json reads an answer that is a JSON object, or contains one in a fenced block. It reports whether
// there is one.
func (a *answer) json() bool {
	own, around := strings.TrimSpace(a.text), ""
	object, ok := jsonObject(own)
	if !ok {
		if own, around, ok = fencedObject(a.text); !ok {
			return false
		}
		object, _ = jsonObject(own)
	}
	a.Form, a.Own, a.Summary = JSONForm, json.RawMessage(own), around
	if s := plain(object["summary"]); s != "" {
		a.Summary = s
	}
	if word := plain(object["status"]); word == Completed || word == Failed { // any other word has its own meaning for the agent
		a.Status = word
	}
	if id := plain(object["session_id"]); sessionID().MatchString(id) {
		a.SessionID = id
	}
	for _, f := range listed(object["files"], []string{"path", "file", "name"}) {
		if f.For == "" {
			f.For, f.Text = f.Text, ""
		}
		a.addFile(workflow.Pos{}, f.For, f.Text)
	}
	a.Decisions = answers(object["decisions"])
	a.Reports = answers(object["reports"])
	a.Errors = plains(object["errors"])
	a.Recommendations = plains(object["recommendations"])
	var next []block
	for _, text := range plains(object["next"]) {
		if !isRequest(text) {
			a.report(workflow.Errorf(workflow.Pos{}, CodeResponse, "write it as a string with an <"+root+">", "a request in next was ignored: %s", short(text)))
			continue
		}
		next = append(next, block{text: []byte(text)})
	}
	a.requests(next)
	return true
}

// jsonObject reads an object with its keys.
func jsonObject(text string) (object map[string]json.RawMessage, ok bool) {
	return object, strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &object) == nil
}

// fencedObject returns the last object in a fenced block that is a response rather than just an
// example in the answer, and the text around it.
func fencedObject(text string) (own, rest string, ok bool) {
	all := blocks([]byte(text), func(content string) bool {
		object, ok := jsonObject(strings.TrimSpace(content))
		return ok && (object["summary"] != nil || object["decisions"] != nil || object["reports"] != nil)
	})
	if len(all) == 0 {
		return "", "", false
	}
	last := all[len(all)-1]
	return strings.TrimSpace(string(last.text)), around([]byte(text), all[len(all)-1:]), true
}

// The keys that say what an answer is for, and those that contain its text.
var (
	questions = []string{"for", "question", "decision", "report", "name", "title", "id"}
	contents  = []string{"text", "answer", "description", "summary", "content", "value", "result"}
)

// answers reads decisions or reports.
func answers(raw json.RawMessage) []Answer {
	return slices.DeleteFunc(listed(raw, questions), func(a Answer) bool { return a.Text == "" })
}

// listed reads texts with a name: a list of texts or objects, or an object of texts by name.
func listed(raw json.RawMessage, names []string) []Answer {
	var all []Answer
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil:
		for _, item := range list {
			all = append(all, namedText(item, names))
		}
	case json.Unmarshal(raw, &object) == nil:
		for _, name := range sorted.Keys(object) {
			all = append(all, Answer{name, plain(object[name])})
		}
	default:
		all = append(all, Answer{Text: plain(raw)})
	}
	return slices.DeleteFunc(all, func(a Answer) bool { return a.Text == "" && a.For == "" })
}

// namedText reads one text, which may have a name. If there is only a name, it is the text.
func namedText(raw json.RawMessage, names []string) Answer {
	object, ok := jsonObject(string(raw))
	if !ok {
		return Answer{Text: plain(raw)}
	}
	first := func(keys []string) string {
		for _, key := range keys {
			if text := plain(object[key]); text != "" {
				return text
			}
		}
		return ""
	}
	switch name, text := first(names), first(contents); {
	case text != "":
		return Answer{name, text}
	case name != "":
		return Answer{Text: name}
	}
	return Answer{Text: plain(raw)}
}

// plains reads a list of texts, or a single one.
func plains(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var texts []string
	for _, item := range list {
		addText(&texts, plain(item))
	}
	return texts
}

// plain returns a string, or any other value as JSON. It returns "" for null, a missing value, and
// an empty list or object.
func plain(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil { // null is ""
		return strings.TrimSpace(text)
	}
	var b bytes.Buffer
	_ = json.Compact(&b, raw) // it has been read already
	if b.String() == "{}" || b.String() == "[]" {
		return ""
	}
	return b.String()
}
