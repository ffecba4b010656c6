package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

const (
	toolText   = 16 << 10 // characters of a page that a model sees at once
	toolLinks  = 32 << 10 // characters of a list of links
	toolFields = 100      // fields and buttons that a model sees
	maxText    = 2 << 20  // characters of a page that can be read at all
)

// tools returns what a model needs to work in a browser: it opens, reads, clicks, types,
// goes back, lists links and fields, and takes screenshots. The tools share one browser,
// which starts with the first call and ends with done. The agent's permissions say which
// pages may be opened; by default all public ones.
func (b *Browser) tools(task *agent.Task) ([]agent.Tool, func(), error) {
	permitted, err := task.Permitted()
	if err != nil {
		return nil, nil, err
	}
	if permitted.Never(agent.MayReach) {
		return nil, func() {}, nil
	}
	d := &desk{browser: b, task: task, permitted: permitted, approved: map[string]bool{}}
	own := map[string]any{}
	for _, name := range []string{"private_network", "timeout"} {
		if value, given := task.Settings[name]; given {
			own[name] = value
		}
	}
	if err := agent.DecodeArguments(own, &d.set); err != nil {
		return nil, nil, agent.Permanentf("%v", err)
	}
	if d.patience, err = duration(d.set.Timeout, defaultTimeout); err != nil {
		return nil, nil, err
	}
	return d.tools(), d.close, nil
}

// desk is the browser of a model, which does one thing at a time.
type desk struct {
	browser   *Browser
	task      *agent.Task
	set       settings
	patience  time.Duration
	permitted agent.Permissions

	mu      sync.Mutex // held during a call
	session *session

	approving sync.Mutex // guards approved, which is read while a page loads
	approved  map[string]bool
}

type toolRequest struct {
	URL      string `json:"url"`
	Selector string `json:"selector"`
	Text     string `json:"text"`
	Name     string `json:"name"`
	From     int    `json:"from"`
	Submit   bool   `json:"submit"`
	Full     bool   `json:"full"`
}

type toolDo func(ctx context.Context, s *session, in *toolRequest) (string, error)

func (d *desk) tools() []agent.Tool {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	yes := func(about string) map[string]any { return map[string]any{"type": "boolean", "description": about} }
	tool := func(name, about string, do toolDo, properties map[string]any, required ...any) agent.Tool {
		return agent.Tool{Name: "browser_" + name, Description: about, Call: d.call(do), Input: map[string]any{
			"type": "object", "additionalProperties": false, "properties": properties, "required": append([]any{}, required...),
		}}
	}
	selector := text("CSS selector.")
	return []agent.Tool{
		tool("open", "Opens a page and returns the beginning of its text.", d.open, map[string]any{"url": text("http:// or https:// address.")}, "url"),
		tool("read", "Returns the text of the page or of an element.", d.read,
			map[string]any{"selector": selector, "from": map[string]any{"type": "integer", "minimum": 0, "description": "Number of characters to skip. Default: 0."}}),
		tool("links", "Lists the links of the page.", d.links, map[string]any{}),
		tool("fields", "Lists the fields and buttons of the page, with a selector for each.", d.fields, map[string]any{}),
		tool("click", "Clicks an element and returns the beginning of the resulting page.", d.click,
			map[string]any{"text": text("Visible text of the element."), "selector": selector}),
		tool("type", "Replaces the content of a field. In a list, selects an option.", d.enter,
			map[string]any{"selector": selector, "text": text("Text to type."), "submit": yes("Press Enter afterwards.")}, "selector", "text"),
		tool("back", "Goes back to the previous page.", d.back, map[string]any{}),
		tool("screenshot", "Saves a screenshot of the page and returns its path.", d.picture,
			map[string]any{"name": map[string]any{"type": "string", "pattern": fileNamePattern, "description": "Name of the file, such as result.png."}, "full": yes("Capture the whole page, not only the visible part.")}, "name"),
	}
}

// call performs one action in the browser, which it starts if necessary.
func (d *desk) call(do toolDo) func(context.Context, map[string]any, *agent.Task, agent.Log) (string, error) {
	return func(ctx context.Context, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
		return d.do(ctx, do, args, task, log)
	}
}

func (d *desk) do(ctx context.Context, do toolDo, args map[string]any, task *agent.Task, log agent.Log) (string, error) {
	var in toolRequest
	if err := agent.DecodeArguments(args, &in); err != nil {
		return "", err
	}
	if in.URL != "" {
		if err := d.permit(ctx, in.URL, task); err != nil {
			return "", err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s, err := d.running(ctx, log)
	if err != nil {
		return "", err
	}
	within, cancel := s.within(ctx, d.patience)
	defer cancel()
	said, err := do(within, s, &in)
	if err != nil {
		return "", explain(ctx, within, "the browser", d.patience, err)
	}
	return said, nil
}

// permit asks whether a page may be opened, before the timeout starts.
func (d *desk) permit(ctx context.Context, address string, task *agent.Task) error {
	if err := task.Permit(ctx, d.permitted.For(agent.MayReach, address), agent.MayReach, address); err != nil {
		return err
	}
	d.approving.Lock()
	defer d.approving.Unlock()
	d.approved[agent.Address(address)] = true // a browser normalizes it
	return nil
}

// mayOpen reports whether the page may go to a URL without asking, as after a click.
func (d *desk) mayOpen(address string) error {
	d.approving.Lock()
	defer d.approving.Unlock()
	if d.approved[agent.Address(address)] || d.permitted.For(agent.MayReach, address) == agent.Allow {
		return nil
	}
	return fmt.Errorf("%s needs permission; open it directly", short(address))
}

// running returns the browser, or a new one if the last one has exited.
func (d *desk) running(ctx context.Context, log agent.Log) (*session, error) {
	if d.session != nil && d.session.broken.Err() == nil {
		return d.session, nil
	}
	d.shut()
	own := *d.task
	// Commands that run at the same time end processes that carry their key.
	own.Key += "#browser"
	s, err := d.browser.start(ctx, &own, d.set.Private, d.mayOpen, log)
	if err == nil {
		d.session = s
	}
	return s, err
}

func (d *desk) shut() {
	if d.session != nil {
		d.session.close()
		d.session = nil
	}
}

// close ends the browser.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut()
}

func (d *desk) open(ctx context.Context, s *session, in *toolRequest) (string, error) {
	if err := s.navigate(ctx, in.URL); err != nil {
		return "", err
	}
	return d.look(ctx, s)
}

func (d *desk) click(ctx context.Context, s *session, in *toolRequest) (string, error) {
	at := spot{Selector: in.Selector, Text: in.Text}
	if at == (spot{}) || in.Selector != "" && in.Text != "" {
		return "", errors.New("give either text or selector")
	}
	if err := s.click(ctx, at); err != nil {
		return "", err
	}
	return d.look(ctx, s)
}

func (d *desk) enter(ctx context.Context, s *session, in *toolRequest) (string, error) {
	if err := s.enter(ctx, spot{Selector: in.Selector}, in.Text, in.Submit); err != nil {
		return "", err
	}
	if !in.Submit {
		return "typed", nil
	}
	return d.look(ctx, s)
}

func (d *desk) back(ctx context.Context, s *session, _ *toolRequest) (string, error) {
	if err := s.back(ctx); err != nil {
		return "", err
	}
	return d.look(ctx, s)
}

// look returns where the page is now and its beginning.
func (d *desk) look(ctx context.Context, s *session) (string, error) {
	at, err := call[state](ctx, s, "state")
	if err != nil {
		return "", err
	}
	text, err := d.read(ctx, s, &toolRequest{})
	head := at.URL + "\n" + at.Title
	if at.Status >= 400 {
		head += fmt.Sprintf("\n(status %d)", at.Status)
	}
	return head + "\n\n" + text, err
}

func (d *desk) read(ctx context.Context, s *session, in *toolRequest) (string, error) {
	got, err := call[pageText](ctx, s, "text", in.Selector, maxText)
	if err != nil {
		return "", err
	}
	if got.Missing {
		return "", missingError{spot{Selector: in.Selector}}
	}
	if got.Kind != "" {
		return fmt.Sprintf("(no text: the page has type %s)", got.Kind), nil
	}
	runes := []rune(got.Text)
	from := min(max(in.From, 0), len(runes))
	to := min(from+toolText, len(runes))
	text := string(runes[from:to])
	if to < len(runes) {
		text += fmt.Sprintf("\n(%d more characters; continue with browser_read from: %d)", len(runes)-to, to)
	}
	if text == "" {
		return "(no text)", nil
	}
	return text, nil
}

func (d *desk) links(ctx context.Context, s *session, _ *toolRequest) (string, error) {
	got, err := call[pageLinks](ctx, s, "links", toolLinks)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, l := range got.Links {
		fmt.Fprintf(&out, "%s\t%s\n", l.Text, l.URL)
	}
	if got.Over {
		out.WriteString("(and more)")
	}
	if out.Len() == 0 {
		return "(no links)", nil
	}
	return out.String(), nil
}

func (d *desk) fields(ctx context.Context, s *session, _ *toolRequest) (string, error) {
	got, err := call[[]struct{ Kind, Label, Selector string }](ctx, s, "fields", toolFields)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, f := range got {
		fmt.Fprintf(&out, "%s\t%s\t%s\n", f.Kind, f.Label, f.Selector)
	}
	if out.Len() == 0 {
		return "(no fields)", nil
	}
	return out.String(), nil
}

func (d *desk) picture(ctx context.Context, s *session, in *toolRequest) (string, error) {
	if !fileName().MatchString(in.Name) {
		return "", errors.New("invalid file name; use letters, digits, dots and dashes, such as result.png")
	}
	return s.screenshot(ctx, d.task, in.Name, in.Full)
}
