package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/lazy"
)

// loginCode is the error of the protocol for an agent that is not logged in.
const loginCode = -32000

// httpStatus matches the ways in which agents report the status of a model's response.
var httpStatus = lazy.Regexp(`(?i)\b(?:API Error|status|code|HTTP)["']?[: =]+(\d{3})\b`)

// refused returns the error for a request that the agent answered with an error.
func (t *talk) refused(e *acp.RequestError) error {
	if errors.Is(e, errSilent) || strings.Contains(e.Error(), errSilent.Error()) {
		return t.start.Failure(fmt.Sprintf("it did not open a conversation within %v; %s", startPatience, t.words.Last()), 0)
	}
	words, status := wordsOf(e), 0
	switch {
	case e.Code == loginCode:
		status = 401
	case e.Code >= 400 && e.Code < 600: // gemini
		status = e.Code
	default:
		if found := httpStatus().FindStringSubmatch(words); found != nil {
			status, _ = strconv.Atoi(found[1])
		}
	}
	failure := t.start.Failure(words, status)
	if t.session == "" && t.resumes() && failure.Kind == agent.Failed && !failure.Permanent {
		return agent.Permanentf("%s no longer has the conversation: %s", t.start.Manifest.Name, words)
	}
	return failure
}

// wordsOf returns the text of an error: its message, and what its data add to it.
func wordsOf(e *acp.RequestError) string {
	words := innermost(e.Message)
	switch data := e.Data.(type) {
	case string:
		words = join(words, innermost(data))
	case map[string]any:
		for _, key := range []string{"details", "message", "error"} {
			if text, isText := data[key].(string); isText {
				words = join(words, innermost(text))
			}
		}
	}
	return words
}

func join(words, more string) string {
	if more == "" || strings.Contains(words, more) {
		return words
	}
	return words + ": " + more
}

// innermost returns the message inside a text that is a model's error in JSON.
func innermost(text string) string {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(text), &body) == nil && body.Error.Message != "" {
		return body.Error.Message
	}
	return text
}
