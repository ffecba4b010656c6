package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"

	"github.com/hocket-dev/hocket/agent"
)

// about describes the target of a step for the log. It omits typed text, which may be a
// secret.
func (s *step) about() string {
	if s.Action == "type" {
		return s.Selector
	}
	for _, text := range []string{s.URL, s.Selector, string(s.Text), s.Name, s.Time} {
		if text != "" {
			return short(text)
		}
	}
	return ""
}

// perform performs a step and returns its result, if it has one.
func (r *runner) perform(ctx context.Context, s *step) (any, error) {
	switch s.Action {
	case "open":
		return nil, r.open(ctx, s.URL)
	case "click":
		return nil, r.session.click(ctx, s.spot())
	case "type":
		return nil, r.session.enter(ctx, s.spot(), string(s.Text), s.Submit)
	case "wait":
		return nil, r.wait(ctx, s)
	case "extract":
		return r.extract(ctx, s)
	case "text":
		return r.text(ctx, s.Selector)
	case "links":
		return r.links(ctx)
	case "screenshot":
		return r.session.screenshot(ctx, r.task, s.Name, s.Full)
	case "back":
		return nil, r.session.back(ctx)
	}
	return nil, agent.Permanentf("unknown action %q; use open, click, type, wait, extract, text, links, screenshot or back", s.Action)
}

// spot returns the element that a step is about. The text of a type step is not part of it.
func (s *step) spot() spot {
	if s.Action == "type" {
		return spot{Selector: s.Selector}
	}
	return spot{Selector: s.Selector, Text: string(s.Text)}
}

func (r *runner) open(ctx context.Context, address string) error {
	if err := r.session.navigate(ctx, address); err != nil {
		return err
	}
	at, err := call[state](ctx, r.session, "state")
	if err == nil && at.Status >= 400 {
		return &agent.Error{Kind: agent.Failed, Message: fmt.Sprintf("%s returned status %d", short(address), at.Status), Permanent: at.Status == 404 || at.Status == 410}
	}
	return err
}

func (r *runner) wait(ctx context.Context, s *step) error {
	at := s.spot()
	if at != (spot{}) {
		return r.session.found(ctx, at)
	}
	d, err := duration(s.Time, 0)
	if err != nil {
		return err
	}
	if d == 0 {
		return agent.Permanentf("wait needs a selector, a text or a time")
	}
	return r.session.idle(ctx, d)
}

func (r *runner) extract(ctx context.Context, s *step) (any, error) {
	if !s.All {
		if err := r.session.found(ctx, spot{Selector: s.Selector}); err != nil {
			return nil, err
		}
	}
	got, err := call[struct {
		Values []any `json:"values"`
		Over   bool  `json:"over"`
	}](ctx, r.session, "extract", s.Selector, s.Attribute, s.All, r.limit)
	switch {
	case err != nil:
		return nil, err
	case got.Over:
		return nil, tooMuch(r.limit)
	case s.All:
		return append([]any{}, got.Values...), nil
	case len(got.Values) == 0: // it has disappeared since
		return nil, missingError{spot{Selector: s.Selector}}
	case got.Values[0] == nil:
		return nil, agent.Errorf("the element has no attribute %q", s.Attribute)
	}
	return got.Values[0], nil
}

type pageText struct {
	Text    string `json:"text"`
	Over    bool   `json:"over"`
	Missing bool   `json:"missing"`
	Kind    string `json:"kind"` // for a document without text
}

func (r *runner) text(ctx context.Context, selector string) (any, error) {
	if selector != "" {
		if err := r.session.found(ctx, spot{Selector: selector}); err != nil {
			return nil, err
		}
	}
	got, err := call[pageText](ctx, r.session, "text", selector, r.limit)
	switch {
	case err != nil:
		return nil, err
	case got.Kind != "":
		return nil, agent.Permanentf("the page has type %s, which has no text; use an http or shell step", got.Kind)
	case got.Over:
		return nil, tooMuch(r.limit)
	}
	return got.Text, nil
}

type link struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

type pageLinks struct {
	Links []link `json:"links"`
	Over  bool   `json:"over"`
}

func (r *runner) links(ctx context.Context) (any, error) {
	got, err := call[pageLinks](ctx, r.session, "links", r.limit)
	if err != nil {
		return nil, err
	}
	if got.Over {
		return nil, tooMuch(r.limit)
	}
	list := make([]any, len(got.Links))
	for i, l := range got.Links {
		list[i] = map[string]any{"text": l.Text, "url": l.URL}
	}
	return list, nil
}

// click clicks an element with the mouse, and follows where that leads.
func (s *session) click(ctx context.Context, at spot) error {
	if err := s.found(ctx, at); err != nil {
		return err
	}
	place, err := call[struct {
		X, Y            float64
		Missing, Hidden bool
	}](ctx, s, "place", at)
	switch {
	case err != nil:
		return err
	case place.Missing:
		return missingError{at}
	case place.Hidden:
		return agent.Errorf("%s: the element is not visible", at)
	}
	s.begin()
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		event := input.DispatchMouseEventParams{Type: kind, X: place.X, Y: place.Y}
		if kind != input.DispatchMouseEventTypeMouseMoved {
			event.Button, event.ClickCount = input.MouseButtonLeft, 1
		}
		if _, err := cdp.Call(ctx, s.target, input.DispatchMouseEvent, event); err != nil {
			return err
		}
	}
	return s.follow(ctx)
}

// follow waits for the effects of an action. If it would have opened a window, the target
// is opened in the page.
func (s *session) follow(ctx context.Context) error {
	// The response of the page arrives after the events of the action.
	if _, err := call[state](ctx, s, "state"); err != nil {
		return err
	}
	s.mu.Lock()
	opened := s.opened
	s.mu.Unlock()
	if opened != "" && fromWeb(opened) && opened != blank {
		return s.navigate(ctx, opened)
	}
	return s.settle(ctx)
}

// enter replaces the content of a field.
func (s *session) enter(ctx context.Context, at spot, text string, submit bool) error {
	if err := s.found(ctx, at); err != nil {
		return err
	}
	field, err := call[struct {
		Missing, Hidden, Locked, Unfit, Done bool
		Options                              []string
		Wants                                string
	}](ctx, s, "focus", at, text)
	switch {
	case err != nil:
		return err
	case field.Missing:
		return missingError{at}
	case field.Hidden:
		return agent.Errorf("%s: the element is not visible", at)
	case field.Locked:
		return agent.Errorf("%s: the field cannot be changed", at)
	case field.Unfit:
		return agent.Errorf("%s: this element does not accept text", at)
	case field.Wants != "":
		return agent.Errorf("%s: the field requires %s, not %q", at, wanted(field.Wants), text)
	case field.Options != nil:
		return agent.Errorf("%s: there is no option %q; the options are: %s", at, text, strings.Join(field.Options, ", "))
	}
	s.begin()
	if !field.Done {
		if err := s.insert(ctx, text); err != nil {
			return err
		}
	}
	if submit {
		if err := s.press(ctx, "Enter", "\r", 13); err != nil {
			return err
		}
	}
	return s.follow(ctx)
}

// wanted describes the values that a field of a type accepts.
func wanted(kind string) string {
	if like, ok := map[string]string{
		"number": "a number", "range": "a number within its limits", "date": "a date such as 2026-01-31", "time": "a time such as 14:30",
		"datetime-local": "a time such as 2026-01-31T14:30", "month": "a month such as 2026-01", "week": "a week such as 2026-W05", "color": "a colour such as #ff8800",
	}[kind]; ok {
		return like
	}
	return "a " + kind
}

// insert types over the selection; an empty text deletes it.
func (s *session) insert(ctx context.Context, text string) error {
	if text == "" {
		return s.press(ctx, "Backspace", "", 8)
	}
	_, err := cdp.Call(ctx, s.target, input.InsertText, input.InsertTextParams{Text: text})
	return err
}

// press presses and releases a key.
func (s *session) press(ctx context.Context, key, text string, code int64) error {
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		event := input.DispatchKeyEventParams{Type: kind, Key: key, Code: key, Text: text, WindowsVirtualKeyCode: code}
		if kind == input.DispatchKeyEventTypeKeyUp {
			event.Text = ""
		}
		if _, err := cdp.Call(ctx, s.target, input.DispatchKeyEvent, event); err != nil {
			return err
		}
	}
	return nil
}

// back goes to the previous page.
func (s *session) back(ctx context.Context) error {
	history, err := cdp.Call(ctx, s.target, page.GetNavigationHistory, cdp.Empty{})
	if err != nil {
		return err
	}
	before := history.CurrentIndex - 1
	if before < 0 || before >= int64(len(history.Entries)) || history.Entries[before].URL == blank {
		return agent.Permanentf("there is no previous page")
	}
	s.begin()
	s.change(func() { s.loading = true })
	if _, err := cdp.Call(ctx, s.target, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: history.Entries[before].ID}); err != nil {
		return err
	}
	return s.settle(ctx)
}

// maxHeight limits a screenshot of a whole page, in pixels.
const maxHeight = 16384

// screenshot saves a screenshot of the page and returns the name of the file.
func (s *session) screenshot(ctx context.Context, task *agent.Task, name string, full bool) (string, error) {
	if task.Artifacts == "" {
		return "", agent.Permanentf("screenshots cannot be saved, because there is no directory for artifacts")
	}
	if !strings.HasSuffix(name, ".png") {
		name += ".png"
	}
	picture, err := s.again(ctx, func() ([]byte, error) { return s.capture(ctx, full) })
	if err != nil {
		return "", err
	}
	return keep(task, name, picture)
}

// capture takes a screenshot of the page.
func (s *session) capture(ctx context.Context, full bool) ([]byte, error) {
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng}
	if full {
		size, err := cdp.Call(ctx, s.target, page.GetLayoutMetrics, cdp.Empty{})
		if err != nil {
			return nil, err
		}
		if size.CSSContentSize != nil {
			yes := true
			params.CaptureBeyondViewport = &yes
			params.Clip = &page.Viewport{Width: min(size.CSSContentSize.Width, maxHeight), Height: min(size.CSSContentSize.Height, maxHeight), Scale: 1}
		}
	}
	picture, err := cdp.Call(ctx, s.target, page.CaptureScreenshot, params)
	return picture.Data, err
}

// keep writes an artifact and returns its path, relative to the project if it is inside.
func keep(task *agent.Task, name string, data []byte) (string, error) {
	if err := os.MkdirAll(task.Artifacts, 0o700); err != nil {
		return "", agent.Errorf("artifacts: %v", err)
	}
	root, err := os.OpenRoot(task.Artifacts)
	if err != nil {
		return "", agent.Errorf("artifacts: %v", err)
	}
	defer root.Close()
	if err := root.WriteFile(name, data, 0o600); err != nil {
		return "", agent.PathError(name, err)
	}
	full := filepath.Join(task.Artifacts, name)
	if inside, err := filepath.Rel(task.Dir, full); err == nil && filepath.IsLocal(inside) {
		return filepath.ToSlash(inside), nil
	}
	return full, nil
}
