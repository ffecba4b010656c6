package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/hocket-dev/hocket/agent"
)

//go:embed page.js
var pageJS string

const (
	// stragglers is how long a page may continue to load images and scripts after its text
	// has loaded, before we stop waiting.
	stragglers = 5 * time.Second
	// pause is the time between two checks of a page that does not yet have what is needed.
	pause = 50 * time.Millisecond
)

// state is where the page is.
type state struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Status int    `json:"status"`
}

// call evaluates a function in the page.
func call[T any](ctx context.Context, s *session, name string, args ...any) (v T, err error) {
	data, err := s.again(ctx, func() ([]byte, error) { return s.callOnce(ctx, name, args...) })
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	return v, err
}

// again retries until there is a response: if a document is replaced meanwhile, its
// successor is queried.
func (s *session) again(ctx context.Context, ask func() ([]byte, error)) ([]byte, error) {
	for {
		data, err := ask()
		var protocol *cdproto.Error
		if !errors.As(err, &protocol) {
			return data, err
		}
		if err := s.pause(ctx); err != nil {
			return nil, err
		}
	}
}

func (s *session) callOnce(ctx context.Context, name string, args ...any) ([]byte, error) {
	world, err := cdp.Call(ctx, s.target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: s.frame, WorldName: "hocket"})
	if err != nil {
		return nil, err
	}
	yes := true
	params := runtime.CallFunctionOnParams{FunctionDeclaration: pageJS, ExecutionContextID: world.ExecutionContextID, ReturnByValue: &yes}
	for _, arg := range append([]any{name}, args...) {
		data, err := json.Marshal(arg)
		if err != nil {
			return nil, err
		}
		params.Arguments = append(params.Arguments, &runtime.CallArgument{Value: data})
	}
	result, err := cdp.Call(ctx, s.target, runtime.CallFunctionOn, params)
	if err != nil {
		return nil, err
	}
	if result.ExceptionDetails != nil {
		return nil, exception(result.ExceptionDetails)
	}
	if result.Result == nil || len(result.Result.Value) == 0 {
		return nil, agent.Errorf("the page did not respond")
	}
	return result.Result.Value, nil
}

// exception converts an exception of the page's functions, which is about a selector.
func exception(e *runtime.ExceptionDetails) error {
	text := e.Text
	if e.Exception != nil && e.Exception.Description != "" {
		text, _, _ = strings.Cut(e.Exception.Description, "\n")
	}
	if strings.Contains(text, "not a valid selector") {
		return agent.Permanentf("invalid selector; write a CSS selector such as h1, #name or .price a")
	}
	return agent.Errorf("the page: %.300s", text)
}

// pause waits a moment.
func (s *session) pause(ctx context.Context) error { return s.idle(ctx, pause) }

// idle waits for a duration.
func (*session) idle(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// navigate opens a URL and waits for the page.
func (s *session) navigate(ctx context.Context, address string) error {
	if err := s.allowed(address); err != nil {
		return agent.Permanentf("%v", err)
	}
	s.begin()
	result, err := cdp.Call(ctx, s.target, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		return err
	}
	if result.IsDownload {
		return agent.Permanentf("%s is a download, which the browser does not support; use an http or shell step", short(address))
	}
	if result.ErrorText != "" {
		s.change(func() { s.loading = false })
		return s.unloaded(address, result.ErrorText)
	}
	return s.settle(ctx)
}

// begin resets what was seen before the next action.
func (s *session) begin() {
	s.change(func() { s.opened, s.blocked, s.unreachable = "", nil, "" })
	s.proxy.forget()
}

// settle waits until the page has finished loading, and returns an error if it may not be
// read.
func (s *session) settle(ctx context.Context) error {
	var late <-chan time.Time
	for {
		s.mu.Lock()
		loading, ready, changed := s.loading, s.ready, s.changed
		s.mu.Unlock()
		if !loading {
			return s.outcome()
		}
		if ready && late == nil {
			timer := time.NewTimer(stragglers)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-changed:
		case <-late:
			s.logf("the page is still loading; continuing with what has loaded")
			return s.outcome()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// outcome returns why the page cannot be read; nil if it can.
func (s *session) outcome() error {
	s.mu.Lock()
	blocked, unreachable := s.blocked, s.unreachable
	s.mu.Unlock()
	if blocked != nil {
		return agent.Permanentf("%v", blocked)
	}
	if unreachable != "" {
		return s.unloaded(unreachable, "")
	}
	return nil
}

// unloaded explains why a URL could not be opened.
func (s *session) unloaded(address, reason string) error {
	s.mu.Lock()
	blocked := s.blocked
	s.mu.Unlock()
	if blocked != nil {
		return agent.Permanentf("%v", blocked)
	}
	refused := s.proxy.why()
	switch {
	case refused != nil && (reason == "" || strings.Contains(reason, "ERR_SOCKS_CONNECTION")):
		return agent.Permanentf("%v; the setting private_network allows such pages", refused)
	case strings.Contains(reason, "ERR_TOO_MANY_REDIRECTS"):
		return agent.Permanentf("%s redirects endlessly", short(address))
	case strings.Contains(reason, "ERR_UNSAFE_REDIRECT"):
		return agent.Permanentf("%s redirects to an address that may not be opened: %v", short(address), errScheme)
	case strings.Contains(reason, "ERR_SOCKS_CONNECTION"):
		return agent.Errorf("could not reach %s", short(address))
	case reason != "":
		return agent.Errorf("could not open %s: %s", short(address), netError(strings.TrimPrefix(reason, "net::")))
	}
	return agent.Errorf("could not open %s", short(address))
}

// netError translates an error code of the browser into words.
func netError(code string) string {
	switch {
	case strings.HasPrefix(code, "ERR_CERT_"):
		return "its certificate is invalid (" + code + ")"
	case strings.HasPrefix(code, "ERR_SSL_"):
		return "could not establish a secure connection (" + code + ")"
	case code == "ERR_INVALID_AUTH_CREDENTIALS":
		return "it requires a user name and a password"
	case code == "ERR_ABORTED":
		return "it returned no page"
	case code == "ERR_EMPTY_RESPONSE":
		return "it did not respond"
	case strings.HasPrefix(code, "ERR_CONNECTION_"):
		return "the connection was lost (" + code + ")"
	}
	return code
}

// found waits until an element exists. It returns the same error whether the time runs out
// between two checks or during one, once the page has responded at all.
func (s *session) found(ctx context.Context, at spot) error {
	for looked := false; ; looked = true {
		n, err := call[int](ctx, s, "count", at)
		if err != nil && looked && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return missingError{at}
		}
		if n > 0 || err != nil {
			return err
		}
		if err := s.pause(ctx); err != nil {
			return missingError{at}
		}
	}
}

// missingError returns the error for an element that does not exist.
type missingError struct{ spot }

func (n missingError) Error() string { return fmt.Sprintf("nothing on the page matches %s", n.spot) }

// spot identifies an element of a page: by a selector, or by its visible text.
type spot struct {
	Selector string `json:"selector,omitempty"`
	Text     string `json:"text,omitempty"`
}

func (s spot) String() string {
	if s.Selector != "" {
		return fmt.Sprintf("the selector %q", s.Selector)
	}
	return fmt.Sprintf("the text %q", s.Text)
}
