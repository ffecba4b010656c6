package llm

import (
	"context"
	"net/http"

	"github.com/hocket-dev/hocket/agent"
)

// provider speaks one API. It is used by one attempt.
type provider interface {
	// answer asks for the next answer, and hands on its text piece by piece as it
	// comes. The answer counts also beside an error: as far as it came. The error
	// is a *refusal where the API itself gave one.
	answer(ctx context.Context, r *request, text func(piece string)) (answer, error)
	// models names the models that the API knows.
	models(ctx context.Context, client *http.Client) ([]string, error)
}

// request is what a model is asked.
type request struct {
	client    *http.Client
	model     string
	system    string // "": none
	messages  []message
	tools     []agent.Tool
	schema    map[string]any // that the API itself should hold the answer to; nil: none
	maxTokens int64          // of the answer; 0: as many as the API gives
	set       *settings
}

// message is one of three: what the model is told, what it answered, or what its
// calls gave.
type message struct {
	told     string
	answered *answer
	results  []result // not empty
}

// answer is one answer of a model.
type answer struct {
	model   string // that the API says answered; "": it does not say
	text    string
	final   string // the part of the text that the API marks as the answer itself; "": all of it
	calls   []call
	tokens  agent.Tokens
	counted bool // the API said how many tokens those were
	stop    stop
	why     string // of a refusal, as far as the API says
	native  any    // the answer in the form in which its API wants it back
}

// stop is why an answer ended.
type stop int

const (
	finished stop = iota
	cutOff        // by the limit of its tokens
	refused
	contextFull
	stopped // by the API, for a reason of its own
	garbled // by a call of a tool that the API itself could not read
)

// call is what a model wants to have done.
type call struct {
	id, name string
	args     string // JSON, or what the model takes for it
}

// nothing is told where there are no words: some APIs take no empty text.
const nothing = "(nothing)"

// ownCallID begins the ids of calls to which the API gave none.
const ownCallID = "call-"

// result is what a call gave.
type result struct {
	call   call
	text   string
	failed bool
}
