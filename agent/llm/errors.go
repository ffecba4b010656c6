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
	maxTries     = 4                // of one request, where an API is overloaded or not reached
	firstPause   = time.Second      // between them; each is three times the one before
	longestPause = 30 * time.Second // that an attempt itself waits
	longestHold  = 2 * time.Minute  // the same, where a conversation would be lost otherwise
	longestQuota = 24 * time.Hour   // that a task waits
)

// pauseBefore is how long to wait before another try; false: no other is worth it
// now. A limit at the first turn is told at once, so that the whole account waits;
// later, what the tools did would have to be done again.
func pauseBefore(err error, try, turn int) (time.Duration, bool) {
	pause := firstPause
	for range try - 1 {
		pause *= 3
	}
	pause += rand.N(pause / 4) // so that agents that failed together do not come back together
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

// explain says in plain words why there is no answer. The error is what the last
// try gave, before anything of an answer came.
func (c *conversation) explain(ctx context.Context, err error, tries int) *agent.Error {
	var r *refusal
	var network *url.Error
	var elsewhere *misled
	switch {
	case errors.As(err, &r):
	case errors.As(err, &elsewhere):
		return agent.Permanentf("%s %v", c.at.name, elsewhere)
	case errors.As(err, &network):
		return agent.Errorf("%s cannot be reached: %s%s; is the network up, and %s the right address?", c.at.name, plainError(err), tried(tries), c.at.address())
	case errors.Is(err, io.ErrUnexpectedEOF):
		return agent.Errorf("%s ends its answer before it has begun%s", c.at.name, tried(tries))
	default:
		return agent.Errorf("what %s answers cannot be understood: %v%s", c.at.name, err, tried(tries))
	}
	name, key := c.at.name, c.at.KeyName
	switch r.trouble() {
	case keyRefused:
		if key == "" {
			return agent.Permanentf("%s refuses access: %v", name, r)
		}
		return agent.Permanentf("%s refuses the key: %v; set %s to a valid one", name, r, key)
	case unpaid:
		return agent.Permanentf("%s does not answer without payment: %v; look at the billing of that account", name, r)
	case unknownModel:
		has, others := c.candidates(ctx)
		if has {
			return agent.Permanentf("%s refuses the request: %v; it has %s, so it may speak another API; is api: %s right?", name, r, c.model, c.at.API.word())
		}
		return agent.Permanentf("%s knows no model %q: %v%s", name, c.model, r, others)
	case tooLong:
		return agent.Permanentf("the prompt is too long for %s: %v; give the task less context or a model with a larger window", c.model, r)
	case limited:
		return quota(fmt.Sprintf("%s allows no more requests for now: %v", name, r), r.after, tries)
	case overloaded:
		if r.after > longestPause {
			return quota(fmt.Sprintf("%s is overloaded: %v", name, r), r.after, tries)
		}
		return agent.Errorf("%s is overloaded or out of order: %v%s", name, r, tried(tries))
	case unknownTrouble:
	}
	return agent.Permanentf("%s refuses the request: %v", name, r)
}

// quota is the failure of an account that must wait.
func quota(message string, after time.Duration, tries int) *agent.Error {
	if after == 0 {
		return &agent.Error{Kind: agent.Quota, Message: message + tried(tries)}
	}
	until := time.Now().Add(max(after, time.Second))
	message += "; until " + until.UTC().Format("2006-01-02 15:04:05 MST")
	if after > longestQuota {
		return agent.Permanentf("%s, and a task waits at most 24 h", message)
	}
	return &agent.Error{Kind: agent.Quota, Message: message, Until: until}
}

func tried(tries int) string {
	if tries < 2 {
		return ""
	}
	return fmt.Sprintf(" (tried %d times)", tries)
}

// brokenOff is the failure of an answer of which a part had come.
func (c *conversation) brokenOff(err error, said string) *agent.Error {
	var r *refusal
	message := plainError(err)
	if errors.As(err, &r) {
		message = r.Error()
	}
	return agent.Errorf("the answer of %s broke off in turn %d after %d characters: %s", c.at.name, c.turn, len([]rune(said)), message)
}

// plainError is an error of the network without the address, which is long and
// known, and in words.
func plainError(err error) string {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	var system *os.SyscallError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "the connection ended"
	case errors.As(err, &system):
		return system.Err.Error()
	}
	return err.Error()
}

// candidates says whether the API has the model after all, and names others, those
// first whose names are near.
func (c *conversation) candidates(ctx context.Context) (has bool, others string) {
	within, client, done := listen(ctx, c.exec.transport, 5*time.Second)
	defer done()
	names, err := c.api.models(within, client)
	if err != nil || len(names) == 0 {
		return false, fmt.Sprintf("; is %s the right address?", c.at.address())
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

// related puts the names first that begin like a name: those of its family.
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
