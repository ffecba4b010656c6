package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of an exporter.
const (
	maxQueue   = 4096             // spans that wait; more are dropped
	maxBatch   = 512              // spans of a request
	maxBytes   = 2 << 20          // of the texts in a request, about
	pause      = time.Second      // between requests, so that spans come together
	metricsGap = 10 * time.Second // between exports of figures
	firstWait  = time.Second      // before a request is repeated; then twice as long, and so on
	lastWait   = 30 * time.Second
	patience   = 5 * time.Minute // how long a request is repeated
	maxAnswer  = 64 << 10        // bytes of a response
)

// Exporter sends spans and figures to a collector, on its own goroutine. Nothing waits for it: if the collector is slow or
// gone, spans are dropped. It is safe for concurrent use.
type Exporter struct {
	c       *Config
	traces  *http.Client
	metrics *http.Client
	figures *figures
	wake    chan struct{} // there is something to send
	hurry   chan struct{} // somebody waits for it
	stop    context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	queue   []Span
	flight  int             // spans that are being sent
	waiting []chan struct{} // those who wait, see Flush
	report  Report
	counted time.Time // when figures were exported last
}

// Report is what an exporter has done.
type Report struct {
	Sent     int    // spans that the collector has accepted
	Rejected int    // spans that it has rejected
	Dropped  int    // spans that were not sent
	Problem  string // the last one, as a sentence; ""
}

// NewExporter returns an exporter. The caller must close it.
func NewExporter(c *Config) *Exporter {
	ctx, stop := context.WithCancel(context.Background())
	x := &Exporter{
		c: c, traces: client(&c.Traces), metrics: client(&c.Metrics), figures: newFigures(time.Now()),
		wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), stop: stop, ended: make(chan struct{}),
	}
	go x.run(ctx)
	return x
}

// client returns a client that goes only where it is told to: a redirection would take the headers elsewhere.
func client(t *Target) *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: t.TLS, MaxIdleConns: 1, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	return &http.Client{Transport: transport, Timeout: t.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Count takes spans only for the figures.
func (x *Exporter) Count(spans []Span) {
	for i := range spans {
		x.figures.count(&spans[i])
	}
	notify(x.wake)
}

// Send takes spans. It never waits.
func (x *Exporter) Send(spans []Span) {
	x.Count(spans)
	if x.c.Traces.URL != "" {
		x.mu.Lock()
		fit := min(len(spans), maxQueue-len(x.queue))
		x.queue = append(x.queue, spans[:fit]...)
		x.report.Dropped += len(spans) - fit
		x.mu.Unlock()
	}
	notify(x.wake)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Flush waits until everything was sent, or the collector does not accept it now, or ctx is done.
func (x *Exporter) Flush(ctx context.Context) {
	done := make(chan struct{})
	x.mu.Lock()
	x.waiting = append(x.waiting, done)
	x.mu.Unlock()
	notify(x.hurry)
	select {
	case <-done:
	case <-ctx.Done():
	case <-x.ended:
	}
}

// Report returns what the exporter has done.
func (x *Exporter) Report() Report {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.report
	waiting := len(x.queue) + x.flight
	switch {
	case r.Problem != "":
	case waiting > 0:
		r.Problem = "no answer yet from " + x.c.Traces.Place()
	case r.Dropped > 0:
		r.Problem = fmt.Sprintf("more than %d were waiting for %s", maxQueue, x.c.Traces.Place())
	}
	r.Dropped += waiting
	return r
}

// Close ends the exporter. What was not sent is lost.
func (x *Exporter) Close() {
	x.stop()
	<-x.ended
	x.traces.CloseIdleConnections()
	x.metrics.CloseIdleConnections()
}

func (x *Exporter) run(ctx context.Context) {
	defer close(x.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-x.wake:
			select { // more may follow
			case <-time.After(pause):
			case <-x.hurry:
				notify(x.hurry)
			case <-ctx.Done():
				return
			}
		case <-x.hurry:
		}
		waiting := x.waiters()
		for x.sendBatch(ctx, &waiting) {
		}
		x.sendFigures(ctx, len(waiting) > 0)
		release(waiting)
	}
}

// waiters returns those who wait until now.
func (x *Exporter) waiters() []chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.waiting
	x.waiting = nil
	return list
}

func release(list []chan struct{}) {
	for _, done := range list {
		close(done)
	}
}

// sendBatch sends the oldest spans, and repeats that as long as it makes sense. If it does not succeed at once, those who
// wait do not wait any longer. It returns false if there is nothing to send.
func (x *Exporter) sendBatch(ctx context.Context, waiting *[]chan struct{}) bool {
	batch := x.take()
	if len(batch) == 0 || ctx.Err() != nil {
		return false
	}
	body := x.c.encode(&x.c.Traces, x.c.traces(batch))
	began := time.Now()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.flight = 0
	}()
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		*waiting = append(*waiting, x.waiters()...)
		rejected, again, err := post(ctx, x.traces, &x.c.Traces, x.c.Version, body)
		x.note(len(batch), rejected, again != nil && time.Since(began) < patience, err)
		if again == nil || time.Since(began) >= patience {
			return ctx.Err() == nil
		}
		release(*waiting)
		*waiting = nil
		if !x.rest(ctx, max(wait, *again), *again > 0) {
			x.note(len(batch), rejection{}, false, err)
			return false
		}
	}
}

// take takes the spans of a request.
func (x *Exporter) take() []Span {
	x.mu.Lock()
	defer x.mu.Unlock()
	n, size := 0, 0
	for n < len(x.queue) && n < maxBatch && (n == 0 || size < maxBytes) {
		for _, a := range x.queue[n].Attributes {
			if text, ok := a.Value.(string); ok {
				size += len(text)
			}
		}
		n++
	}
	batch := x.queue[:n:n]
	x.queue, x.flight = x.queue[n:], n
	return batch
}

// rest waits before a request is repeated, or until somebody waits for it, unless the collector asked for the time. It returns
// false if the exporter ends.
func (x *Exporter) rest(ctx context.Context, wait time.Duration, asked bool) bool {
	over := time.After(wait)
	for {
		select {
		case <-over:
			return true
		case <-ctx.Done():
			return false
		case <-x.hurry:
			if !asked {
				return true
			}
			release(x.waiters())
		}
	}
}

// note records what became of a request.
func (x *Exporter) note(spans int, r rejection, again bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.report.Problem = err.Error()
		if !again {
			x.report.Dropped += spans
		}
		return
	}
	rejected := min(max(int(r.count), 0), spans)
	x.report.Sent += spans - rejected
	x.report.Rejected += rejected
	if r.message != "" || rejected > 0 {
		x.report.Problem = fmt.Sprintf("%s rejected %d of %d spans: %s", x.c.Traces.Place(), rejected, spans, oneLine(r.message))
	}
}

// sendFigures exports the figures, if it is time to or somebody waits.
func (x *Exporter) sendFigures(ctx context.Context, now bool) {
	if x.c.Metrics.URL == "" || !now && time.Since(x.counted) < metricsGap {
		return
	}
	request, undo := x.figures.export(x.c, time.Now())
	if request == nil {
		return
	}
	x.counted = time.Now()
	r, _, err := post(ctx, x.metrics, &x.c.Metrics, x.c.Version, x.c.encode(&x.c.Metrics, request))
	if err != nil {
		undo()
	} else if r.count > 0 || r.message != "" {
		err = fmt.Errorf("%s rejected %d figures: %s", x.c.Metrics.Place(), r.count, oneLine(r.message))
	}
	if err != nil {
		x.mu.Lock()
		if x.report.Dropped+x.report.Rejected == 0 { // why spans are missing matters more
			x.report.Problem = err.Error()
		}
		x.mu.Unlock()
	}
}

// encode encodes a request.
func (c *Config) encode(t *Target, m message) []byte {
	var data []byte
	if t.JSON {
		data = appendJSON(nil, m)
	} else {
		data = appendProto(nil, m)
	}
	if !t.Gzip {
		return data
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// Place returns the address of a target for people: without a password, and without what may be one.
func (t *Target) Place() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "the collector"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// post makes a request. If it failed and may be repeated, again is how long the collector wants to be left alone, 0 if it
// does not say.
func post(ctx context.Context, c *http.Client, t *Target, version string, body []byte) (r rejection, again *time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return r, nil, fmt.Errorf("cannot export to %s: invalid URL", t.Place())
	}
	req.Header.Set("User-Agent", strings.TrimSuffix("OTel-OTLP-Exporter-hocket/"+version, "/"))
	req.Header.Set("Content-Type", "application/x-protobuf")
	if t.JSON {
		req.Header.Set("Content-Type", "application/json")
	}
	if t.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range t.Headers {
		req.Header.Set(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		var wrong *url.Error
		if errors.As(err, &wrong) { // it shows the whole URL
			err = wrong.Err
		}
		return r, new(time.Duration), fmt.Errorf("cannot export to %s: %w", t.Place(), err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode/100 == 2 && err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"):
		r, _ = readRejectionJSON(data) // the spans were accepted, whatever else it says
		return r, nil, nil
	case res.StatusCode/100 == 2 && err == nil:
		r, _ = readRejection(data)
		return r, nil, nil
	case res.StatusCode/100 == 2:
		return r, nil, nil
	}
	err = fmt.Errorf("cannot export to %s: %s", t.Place(), res.Status)
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait := retryAfter(res.Header.Get("Retry-After"), time.Now())
		return r, &wait, err
	}
	return r, nil, err
}

// retryAfter reads how long to wait: seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	var wait time.Duration
	if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), patience)
}

// oneLine makes a text of a collector fit for people.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}
