package llm

import (
	"context"
	"net/http"

	"github.com/hocket-dev/hocket/agent"
)

// provider talks to one API. It is used by one attempt.
type provider interface {
	// answer requests the next answer, and streams its text piece by piece. If there is an
	// error, the answer holds what arrived before it. The error is a *refusal if the API
	// itself returned one.
	answer(ctx context.Context, r *request, text func(piece string)) (answer, error)
	// models lists the models of the API.
	models(ctx context.Context, client *http.Client) ([]string, error)
}

// request is what a model is asked.
type request struct {
	client    *http.Client
	model     string
	system    string // "": none
	messages  []message
	tools     []agent.Tool
	schema    map[string]any // that the API itself should enforce for the answer; nil: none
	maxTokens int64          // limit for the answer; 0: the API's
	set       *settings
}

// message is one of three: input for the model, its answer, or the results of its calls.
type message struct {
	told     string
	answered *answer
	results  []result // not empty
}

// answer is one answer of a model.
type answer struct {
	model   string // as reported by the API; "": not reported
	text    string
	final   string // the part of the text that the API marks as the answer; "": all of it
	calls   []call
	tokens  agent.Tokens
	counted bool // the API reported the token counts
	stop    stop
	why     string // for a refusal, if the API reports it
	native  any    // the answer in the form in which the API expects it back

	recorded bool // its text is in the transcript, with its tokens
}

// stop is the reason for which an answer ended.
type stop int

const (
	finished stop = iota
	cutOff        // reached its token limit
	refused
	contextFull
	stopped // stopped by the API for its own reasons
	garbled // the API could not parse a tool call
)

// call is a tool call of a model.
type call struct {
	id, name string
	args     string // JSON, or what the model believes to be JSON
}

// nothing is sent if there is no text: some APIs reject an empty one.
const nothing = "(nothing)"

// ownCallID is the prefix of ids for calls to which the API gave none.
const ownCallID = "call-"

// result is the result of a call.
type result struct {
	call   call
	text   string
	failed bool
}
