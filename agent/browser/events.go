package browser

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// happened handles events of the browser. It is called by the reader of the connection, in
// order, and must not wait for a response: anything that needs one runs on its own
// goroutine.
func (s *session) happened(e event) {
	s.mu.Lock()
	begun := s.target != nil
	s.mu.Unlock()
	if !begun {
		return
	}
	params := []byte(e.message.Params)
	switch string(e.message.Method) {
	case "Target.targetCreated":
		if in := decode[target.EventTargetCreated](params); e.session == "" && in.TargetInfo != nil && in.TargetInfo.OpenerID != "" {
			s.aside(func() { s.closeWindow(in.TargetInfo.TargetID) })
		}
	case "Page.windowOpen":
		if in := decode[page.EventWindowOpen](params); in.UserGesture {
			s.change(func() { s.opened = in.URL })
		}
	case "Page.javascriptDialogOpening":
		in := decode[page.EventJavascriptDialogOpening](params)
		s.aside(func() { s.answer(in) })
	case "Fetch.requestPaused":
		in := decode[fetch.EventRequestPaused](params)
		s.aside(func() { s.judge(in) })
	case "Page.frameNavigated":
		if in := decode[page.EventFrameNavigated](params); in.Frame != nil {
			s.arrived(in.Frame)
		}
	case "Inspector.targetCrashed":
		s.fail(errCrashed)
	default:
		s.progress(string(e.message.Method), params)
	}
}

var (
	errCrashed = errors.New("the page crashed in the browser")
	errEnded   = errors.New("the browser exited unexpectedly")
)

// progress tracks how far the page has loaded.
func (s *session) progress(method string, params []byte) {
	switch method {
	case "Page.frameStartedLoading", "Page.frameStartedNavigating", "Page.frameStoppedLoading", "Page.frameRequestedNavigation":
		in := decode[struct {
			FrameID     cdp.FrameID                      `json:"frameId"`
			LoaderID    cdp.LoaderID                     `json:"loaderId"`
			Disposition page.ClientNavigationDisposition `json:"disposition"`
		}](params)
		if in.FrameID != s.frame || in.Disposition != "" && in.Disposition != page.ClientNavigationDispositionCurrentTab {
			return
		}
		stopped := method == "Page.frameStoppedLoading"
		s.change(func() {
			s.loading, s.ready = !stopped, stopped
			if in.LoaderID != "" {
				s.loader = in.LoaderID
			}
		})
	case "Page.domContentEventFired":
		s.change(func() { s.ready = true })
	}
}

// arrived checks the current URL of a frame. A frame, or the page itself, that shows
// something not from the web is cleared: data, file and browser URLs are not intercepted on
// all paths that lead to them.
func (s *session) arrived(frame *cdp.Frame) {
	main := frame.ID == s.frame
	if main {
		s.change(func() {
			s.unreachable = frame.UnreachableURL
			// The error page may arrive when the next page is already loading.
			if s.unreachable != "" && frame.LoaderID == s.loader {
				s.loading, s.ready = false, true
			}
		})
	}
	if fromWeb(frame.URL) {
		return
	}
	if main {
		s.change(func() { s.blocked = schemeError(frame.URL) })
	}
	s.aside(func() {
		_, _ = cdp.Call(s.ctx, s.target, page.Navigate, page.NavigateParams{URL: blank, FrameID: frame.ID})
	})
}

const blank = "about:blank"

// fromWeb reports whether a frame may show a URL: from the web, empty, or the browser's own
// error page.
func fromWeb(address string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return scheme == "http" || scheme == "https" || scheme == "about" || scheme == "chrome-error" || scheme == ""
}

// judge allows or rejects a request for a document.
func (s *session) judge(in fetch.EventRequestPaused) {
	if in.Request == nil {
		return
	}
	var err error
	if in.FrameID == s.frame {
		err = s.allowed(in.Request.URL)
	} else if !fromWeb(in.Request.URL) {
		err = errScheme
	}
	if err == nil {
		_, _ = cdp.Call(s.ctx, s.target, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: in.RequestID})
		return
	}
	if in.FrameID == s.frame {
		s.change(func() { s.blocked = err })
	}
	_, _ = cdp.Call(s.ctx, s.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: in.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
}

// answer dismisses a dialog, but never lets a page keep us from leaving.
func (s *session) answer(in page.EventJavascriptDialogOpening) {
	s.logf("the page showed a dialog (%s): %.200q", in.Type, in.Message)
	leave := in.Type == page.DialogTypeBeforeunload
	_, _ = cdp.Call(s.ctx, s.target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave})
}

// closeWindow closes a window that the page has opened: there is only one page. The target
// of a click is opened in it.
func (s *session) closeWindow(id target.ID) {
	_, _ = chromedp.CallBrowser(s.ctx, target.CloseTarget, target.CloseTargetParams{TargetID: id})
}

// aside runs something that waits for a response of the browser.
func (s *session) aside(do func()) { s.work.Go(do) }

// change updates what is known about the page, and wakes waiters.
func (s *session) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// decode decodes an event. An event that cannot be decoded counts as empty: another version
// of the browser may use a different format.
func decode[T any](params []byte) T {
	var v T
	_ = json.Unmarshal(params, &v)
	return v
}
