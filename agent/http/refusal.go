package http

import (
	"fmt"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// maxRetryAfter is the longest that a request waits when its server asks it to;
// minRetryAfter ensures a pause even if the server asks for none.
const (
	maxRetryAfter = 24 * time.Hour
	minRetryAfter = time.Second
)

// unexpected returns the error for an unexpected status.
func unexpected(where string, resp *nethttp.Response, now time.Time) *agent.Error {
	message := where + ": " + resp.Status
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as much as arrived
	if said := strings.TrimSpace(strings.ToValidUTF8(string(start), "")); said != "" {
		message += ": " + said
	}
	e := &agent.Error{Kind: agent.Failed, Message: message, Permanent: hopeless(resp.StatusCode)}
	after := resp.Header.Get("Retry-After")
	switch resp.StatusCode {
	case nethttp.StatusTooManyRequests:
		wait(e, after, now)
	case nethttp.StatusServiceUnavailable:
		if after != "" {
			wait(e, after, now)
		}
	}
	return e
}

// hopeless reports whether a retry of the same request would return the same status: the
// request is wrong, not the timing.
func hopeless(status int) bool {
	switch status {
	case nethttp.StatusRequestTimeout, nethttp.StatusTooEarly, nethttp.StatusTooManyRequests:
		return false
	case nethttp.StatusNotImplemented, nethttp.StatusHTTPVersionNotSupported:
		return true
	}
	return status >= 400 && status < 500
}

// wait turns a failure into a used-up quota that is reset at the time given by Retry-After, or adds
// why it cannot.
func wait(e *agent.Error, after string, now time.Time) {
	until, ok := retryAfter(after, now)
	switch {
	case after == "":
		e.Message += "; without Retry-After this counts as an ordinary failure"
	case !ok:
		e.Message += fmt.Sprintf("; Retry-After %.40q is invalid, so this counts as an ordinary failure", after)
	case until.Sub(now) > maxRetryAfter:
		e.Message += fmt.Sprintf("; retry after %s, but a request waits at most 24 h", until.UTC().Format("2006-01-02 15:04:05 MST"))
		e.Permanent = true
	default:
		e.Kind, e.Until = agent.Quota, later(until, now.Add(minRetryAfter))
	}
}

// retryAfter parses Retry-After, in seconds or as a date.
func retryAfter(value string, now time.Time) (time.Time, bool) {
	if date, err := nethttp.ParseTime(value); err == nil {
		return date, true
	}
	const most = 1 << 31 // in seconds, about 68 years
	seconds, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	return now.Add(time.Duration(min(seconds, most)) * time.Second), err == nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
