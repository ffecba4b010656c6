package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/outbound"
)

// session is a browser with one page, for one attempt. It is not safe for concurrent use,
// because the page is shared.
type session struct {
	proxy    *proxy
	chromium *chromium
	permit   func(address string) error // decides whether a page may be opened; nil: always
	log      agent.Log

	ctx    context.Context // of the protocol, until close
	cancel context.CancelFunc
	work   sync.WaitGroup  // handlers of events
	broken context.Context // done when the page crashed or the browser has exited
	fail   context.CancelCauseFunc
	target *chromedp.Target // set once, under mu
	frame  cdp.FrameID      // of the page; set with target

	mu          sync.Mutex
	changed     chan struct{} // closed and replaced when one of the following changes
	loading     bool
	loader      cdp.LoaderID // of the latest load
	ready       bool         // set while it loads, once its text is available
	opened      string       // where the page wanted to open a window
	blocked     error        // why the page may not go where it wanted to
	unreachable string       // what could not be loaded
}

// launch holds the parameters for starting a session.
type launch struct {
	path    string
	policy  outbound.Policy
	permit  func(address string) error
	key     string
	sandbox bool
}

// start returns a session with an empty page. The caller must close it.
func start(ctx context.Context, l launch, log agent.Log) (_ *session, err error) {
	s := &session{permit: l.permit, log: log, changed: make(chan struct{})}
	s.broken, s.fail = context.WithCancelCause(context.Background())
	if s.proxy, err = startProxy(l.policy); err != nil {
		return nil, agent.Errorf("cannot start the proxy for the browser: %v", err)
	}
	s.chromium = &chromium{path: l.path, proxy: s.proxy.address(), key: l.key, sandbox: l.sandbox}
	if err = s.chromium.start(s.happened, func() { s.fail(errEnded) }); err != nil {
		s.proxy.Close()
		return nil, agent.Errorf("the browser did not start: %v", err)
	}
	if !l.sandbox {
		s.logf("the browser runs without its sandbox, because Hocket runs as root")
	}
	root, stop := chromedp.NewAllocatorContext(context.WithoutCancel(ctx), s.chromium)
	s.ctx, s.cancel = chromedp.NewContext(root, chromedp.WithBrowserOption(chromedp.WithBrowserErrorf(func(string, ...any) {})))
	cancel := s.cancel
	s.cancel = func() { cancel(); stop() }
	// A deadline of ctx has no effect until the first response.
	defer context.AfterFunc(ctx, func() { s.chromium.stop() })()
	if err = s.prepare(); err != nil {
		s.close()
		if ctx.Err() != nil {
			return nil, agent.Interrupted(ctx)
		}
		return nil, agent.Errorf("the browser %q did not start: %s", l.path, firstOf(s.chromium.said.Last(), err.Error()))
	}
	return s, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// Allocate lets a chromium act as the allocator of its own protocol client.
func (c *chromium) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	return chromedp.NewBrowserTransport(ctx, c.wire, opts...)
}

// Wait does nothing: it is for allocators whose processes exit by themselves.
func (c *chromium) Wait() {}

// prepare attaches to the page and sets the rules.
func (s *session) prepare() error {
	if err := chromedp.Do(s.ctx); err != nil {
		return err
	}
	s.change(func() {
		s.target = chromedp.FromContext(s.ctx).Target
		s.frame = cdp.FrameID(s.target.TargetID)
	})
	yes := true
	_, err := chromedp.CallBrowser(s.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorDeny})
	for _, command := range []struct {
		method string
		params any
	}{
		{target.CommandSetAutoAttach, target.SetAutoAttachParams{Flatten: &yes}},
		{page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true, Cancel: &yes}},
		{fetch.CommandEnable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*", ResourceType: network.ResourceTypeDocument}}}},
	} {
		if err == nil {
			err = s.target.Call(s.ctx, command.method, command.params, nil)
		}
	}
	return err
}

// close ends the browser and everything that it started.
func (s *session) close() {
	s.chromium.stop()
	s.cancel()
	s.chromium.close()
	s.proxy.Close()
	s.work.Wait()
}

func (s *session) logf(format string, args ...any) {
	s.log([]byte(fmt.Sprintf(format, args...) + "\n"))
}

var errScheme = errors.New("only http and https addresses may be opened")

func schemeError(address string) error { return fmt.Errorf("%q: %w", short(address), errScheme) }

// allowed checks whether the page may go to a URL.
func (s *session) allowed(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" && (u.Scheme == "http" || u.Scheme == "https"):
		return fmt.Errorf("invalid address %q", short(address))
	case u.Scheme != "http" && u.Scheme != "https":
		return schemeError(address)
	case s.permit != nil:
		return s.permit(address)
	}
	return nil
}

// short returns the beginning of a URL, which may contain a whole document.
func short(address string) string {
	const most = 200
	if len(address) > most {
		return strings.ToValidUTF8(address[:most], "") + "…"
	}
	return address
}
