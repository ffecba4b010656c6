package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/process"
	"github.com/hocket-dev/hocket/workflow"
)

// Reasons to end a CLI because of its output.
var (
	errTooMuch  = errors.New("cli: the answer is too long")
	errLongLine = errors.New("cli: a line is too long")
	errStop     = errors.New("cli: a rule ended the run")
	errBudget   = errors.New("cli: the budget was exceeded")
)

// maxLine is the longest line that is read as an event. Tool results are lines too.
const maxLine = 16 << 20

// reading is what a CLI has printed so far. Its methods are called from one goroutine.
type reading struct {
	m      *Manifest
	task   *agent.Task
	log    *agent.Lines
	limit  int             // of the answer, in bytes
	budget workflow.Budget // ends the run when reported usage exceeds it
	prices agent.Prices
	before agent.Usage // of the conversation that is continued
	now    func() time.Time

	pending []byte       // an incomplete line
	stray   process.Tail // output that is not an event

	message    strings.Builder // arrives in pieces
	messageID  string
	answer     string // the last message
	result     string // what the CLI itself calls its result
	structured any
	session    string
	model      string
	noted      string // the model that was noted
	said       bool   // it has answered or called a tool
	calls      map[string]toolUse

	success bool
	failure Meaning // "" none
	reason  string  // of the failure
	status  int     // of the last HTTP response that was reported
	until   time.Time
	spent   account
}

// take is a [process.Sink] for standard output.
func (r *reading) take(piece []byte) error {
	if r.m.reply.format == "text" {
		r.log.Piece(piece)
		if r.message.Len()+len(piece) > r.limit {
			return errTooMuch
		}
		r.message.Write(piece)
		return nil
	}
	for {
		at := bytes.IndexByte(piece, '\n')
		if at < 0 || r.m.reply.format == "json" {
			break
		}
		line := piece[:at]
		if len(r.pending) > 0 {
			line = append(r.pending, line...)
			r.pending = r.pending[:0]
		}
		if err := r.line(line); err != nil {
			return err
		}
		piece = piece[at+1:]
	}
	if len(r.pending)+len(piece) > maxLine {
		return errLongLine
	}
	r.pending = append(r.pending, piece...)
	return nil
}

// end reads what follows the last line break.
func (r *reading) end() error {
	line := r.pending
	r.pending = nil
	var err error
	if len(line) > 0 {
		err = r.line(line)
	}
	r.endMessage()
	if r.m.reply.format == "text" {
		r.success, r.answer = true, strings.TrimRight(r.answer, "\r\n")
	}
	r.log.End()
	return err
}

// file reads the file that the CLI was to write, as one more event. A missing or empty file
// is ignored.
func (r *reading) file(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	defer root.Close()
	name := filepath.FromSlash(r.m.reply.file)
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxLine {
		return nil
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return fmt.Errorf("usage: %w", err)
	}
	return r.line(text)
}

func (r *reading) line(line []byte) error {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	if len(line) > maxLine {
		return errLongLine
	}
	v, ok := parseEvent(line)
	if !ok {
		_, _ = fmt.Fprintf(&r.stray, "%s\n", line)
		return nil
	}
	if list, isList := v.([]any); isList { // all events are in one document
		for _, entry := range list {
			if err := r.event(event{value: entry}); err != nil {
				return err
			}
		}
		return nil
	}
	return r.event(event{value: v})
}

// parseEvent parses a line; false if it is not an event.
func parseEvent(line []byte) (any, bool) {
	v, err := workflow.ParseJSON(line)
	return v, err == nil && utf8.Valid(line)
}

func (r *reading) event(e event) error {
	for i := range r.m.reply.rules {
		rule := &r.m.reply.rules[i]
		for _, entry := range rule.events(e) {
			if err := r.carryOut(rule, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reading) carryOut(rule *rule, e event) error {
	r.identity(rule, e)
	if err := r.words(rule, e); err != nil {
		return err
	}
	r.judgement(rule, e)
	if rule.stop {
		return errStop
	}
	if len(rule.add)+len(rule.total) > 0 {
		r.spent.count(rule, e, r.model)
		return r.withinBudget()
	}
	return nil
}

func (r *reading) identity(rule *rule, e event) {
	if session := rule.text("session", e); session != "" {
		r.session = session
	}
	if model := rule.text("model", e); model != "" && len(rule.add)+len(rule.total) == 0 {
		r.model = model
		r.noteModel(model)
	}
}

// words handles what the agent says and does.
func (r *reading) words(rule *rule, e event) error {
	if id := rule.text("message", e); id != "" && id != r.messageID {
		r.endMessage()
		r.messageID = id
	}
	if delta := rule.text("delta", e); delta != "" {
		r.said = true
		r.log.Write(delta)
		r.message.WriteString(delta)
	}
	if text := rule.text("text", e); text != "" {
		r.said = true
		if r.message.Len() == 0 { // otherwise its pieces were printed
			r.log.Write(text)
		}
		r.message.Reset()
		r.message.WriteString(text)
		r.endMessage()
	}
	if tool := rule.text("tool", e); tool != "" {
		r.said = true
		r.endMessage()
		r.log.Line("> " + agent.OneLine(tool+" "+rule.text("input", e), maxToolLine))
	}
	r.deeds(rule, e)
	if note := rule.line(e); note != "" {
		r.log.Line(agent.OneLine(r.m.Name+": "+note, maxNote))
	}
	if result := rule.take["result"].in(e); result != nil {
		r.result = workflow.FormatText(result)
	}
	if structured := rule.take["structured"].in(e); structured != nil {
		r.structured = structured
	}
	if max(r.message.Len(), len(r.answer), len(r.result)) > r.limit {
		return errTooMuch
	}
	return nil
}

// maxToolLine limits how much of a tool call the log shows, and maxNote how much of the
// CLI's own messages: what to do is often at the end.
const (
	maxToolLine = 200
	maxNote     = 2000
)

// endMessage ends a message that arrived in pieces.
func (r *reading) endMessage() {
	if r.message.Len() > 0 {
		r.answer = r.message.String()
		r.message.Reset()
		r.task.Record(agent.AssistantText{Text: r.answer})
	}
	if r.m.reply.format != "text" {
		r.log.End()
	}
}

// judgement handles what an event says about success and failure.
func (r *reading) judgement(rule *rule, e event) {
	if status, err := strconv.Atoi(rule.text("status", e)); err == nil && status > 0 {
		r.status = status
	}
	if reset := rule.text("reset", e); reset != "" {
		r.until = parseReset(reset, r.now())
	}
	reason := rule.text("error", e)
	switch rule.means {
	case "":
		if r.failure == "" && reason != "" { // this complaint may be the reason why it gives up
			r.reason = reason
		}
	case Success:
		r.success = true
	default:
		r.fail(rule.means, reason)
	}
}

// fail records a failure. A more specific one that is already known stays.
func (r *reading) fail(means Meaning, reason string) {
	if r.failure == "" || r.failure == Failure {
		r.failure = means
	}
	if reason != "" {
		r.reason = reason
	}
}

func (r *reading) withinBudget() error {
	if r.budget.Exceeded(r.spent.usage(r.prices, r.before)) {
		return errBudget
	}
	return nil
}

// output returns the answer: as a value if one was requested and given.
func (r *reading) output(structured bool) string {
	switch {
	case structured && r.structured != nil:
		return workflow.FormatJSON(r.structured)
	case r.result != "":
		return r.result
	default:
		return r.answer
	}
}
