package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/workflow"
)

const (
	maxTries     = 4                // for one request, if an API is overloaded or unreachable
	firstPause   = time.Second      // between them; each is three times the previous one
	longestPause = 30 * time.Second // longest wait within an attempt
	longestHold  = 2 * time.Minute  // the same, if a conversation would otherwise be lost
	longestQuota = 24 * time.Hour   // longest wait of a task
)

// pauseBefore returns how long to wait before another try; false if none is worthwhile now.
// A limit at the first turn is reported immediately, so that the whole account waits;
// later, the work of the tools would have to be repeated.
func pauseBefore(err error, try, turn int) (time.Duration, bool) {
	pause := firstPause
	for range try - 1 {
		pause *= 3
	}
	pause += rand.N(pause / 4) // so that agents that failed together do not retry together
	var r *refusal
	var elsewhere *misled
	switch {
	case errors.As(err, &elsewhere):
		return 0, false
	case !errors.As(err, &r):
		return pause, true // not reached at all
	}
	switch r.trouble() {
	case overloaded:
		return max(pause, r.after), r.after <= longestPause
	case limited:
		return max(pause, r.after), r.after == 0 || turn > 1 && r.after <= longestHold
	case unknownTrouble, keyRefused, unpaid, unknownModel, tooLong:
	}
	return 0, false
}

// rest waits, or ends with the context.
func rest(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// explain describes why there is no answer. The error is that of the last try, before any
// part of an answer arrived.
func (c *conversation) explain(ctx context.Context, err error, tries int) *agent.Error {
	var r *refusal
	var network *url.Error
	var elsewhere *misled
	switch {
	case errors.As(err, &r):
	case errors.As(err, &elsewhere):
		return agent.Permanentf("%s %v", c.at.name, elsewhere)
	case errors.As(err, &network):
		return agent.Errorf("cannot reach %s: %s%s; check the network and the address %s", c.at.name, plainError(err), tried(tries), c.at.address())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return agent.Errorf("%s closed the connection before it answered%s", c.at.name, tried(tries))
	default:
		return agent.Errorf("cannot understand the response of %s: %v%s", c.at.name, err, tried(tries))
	}
	name, key := c.at.name, c.at.KeyName
	switch r.trouble() {
	case keyRefused:
		if key == "" {
			return agent.Permanentf("%s denied access: %v", name, r)
		}
		return agent.Permanentf("%s rejected the key: %v; set %s to a valid one", name, r, key)
	case unpaid:
		return agent.Permanentf("%s requires payment: %v; check the billing of the account", name, r)
	case unknownModel:
		has, others := c.candidates(ctx)
		if has {
			return agent.Permanentf("%s rejected the request: %v; it has %s, so it may use another API; is api: %s correct?", name, r, c.model, c.at.API.word())
		}
		return agent.Permanentf("%s does not know the model %q: %v%s", name, c.model, r, others)
	case tooLong:
		return agent.Permanentf("the prompt is too long for %s: %v; give the task less context or a model with a larger window", c.model, r)
	case limited:
		return quota(fmt.Sprintf("%s is rate-limiting requests: %v", name, r), r.after, tries)
	case overloaded:
		if r.after > longestPause {
			return quota(fmt.Sprintf("%s is overloaded: %v", name, r), r.after, tries)
		}
		return agent.Errorf("%s is overloaded or unavailable: %v%s", name, r, tried(tries))
	case unknownTrouble:
	}
	return agent.Permanentf("%s rejected the request: %v", name, r)
}

// quota returns the error for an account that must wait.
func quota(message string, after time.Duration, tries int) *agent.Error {
	if after == 0 {
		return &agent.Error{Kind: agent.Quota, Message: message + tried(tries)}
	}
	until := time.Now().Add(max(after, time.Second))
	message += "; until " + until.UTC().Format("2006-01-02 15:04:05 MST")
	if after > longestQuota {
		return agent.Permanentf("%s, but a task waits at most 24 h", message)
	}
	return &agent.Error{Kind: agent.Quota, Message: message, Until: until}
}

func tried(tries int) string {
	if tries < 2 {
		return ""
	}
	return fmt.Sprintf(" (tried %d times)", tries)
}

// brokenOff returns the error for an answer that was cut off after some of it had arrived.
func (c *conversation) brokenOff(err error, said string) *agent.Error {
	var r *refusal
	message := plainError(err)
	if errors.As(err, &r) {
		message = r.Error()
	}
	return agent.Errorf("the answer of %s was interrupted in turn %d after %d characters: %s", c.at.name, c.turn, len([]rune(said)), message)
}

// plainError describes a network error without the address, which is long and known.
func plainError(err error) string {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	var system *os.SyscallError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.As(err, &system):
		return system.Err.Error()
	}
	return err.Error()
}

// candidates checks whether the API has the model after all, and lists others, similar
// names first.
func (c *conversation) candidates(ctx context.Context) (has bool, others string) {
	within, client, done := listen(ctx, c.exec.transport, 5*time.Second)
	defer done()
	names, err := c.api.models(within, client)
	if err != nil || len(names) == 0 {
		return false, fmt.Sprintf("; check the address %s", c.at.address())
	}
	if slices.Contains(names, c.model) {
		return true, ""
	}
	slices.Sort(names)
	const most = 12
	more := ""
	if len(names) > most {
		names, more = related(c.model, names)[:most], ", …"
	}
	all := strings.Join(names, ", ") + more
	if near := workflow.Nearest(c.model, names); near != "" {
		return false, fmt.Sprintf("; did you mean %s? It has %s", near, all)
	}
	return false, "; it has " + all
}

// related puts names with the same beginning first: those of the same family.
func related(name string, names []string) []string {
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return common(b, name) - common(a, name) })
	return sorted
}

func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
