package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket"
)

const (
	maxFollowed = 20                    // runs in one stream
	quiet       = 15 * time.Second      // then a comment shows that the server is there
	pace        = 10 * time.Millisecond // between two writes: what happens meanwhile is sent together
)

func (a *api) addStreams() {
	const tag = "Events"
	add(a, op{id: "list-events", method: http.MethodGet, path: "/projects/{project}/runs/{run}/history", scope: Read, tag: tag, summary: "List what happened in a run, oldest first", errors: []int{404}},
		func(ctx context.Context, in *struct {
			InRun
			After string `query:"after" doc:"The id of an event" maxLength:"50"`
			Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
		}) (*reply[page[Event]], error) {
			p, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			after, err := eventID(in.After)
			if err != nil {
				return nil, err
			}
			found, more, err := a.history(ctx, p, r, after, in.Limit)
			if err != nil {
				return nil, err
			}
			out := page[Event]{Items: found}
			if more {
				out.Next = found[len(found)-1].ID
			}
			return say(out), nil
		})
	add(a, op{id: "follow-run", method: http.MethodGet, path: "/projects/{project}/runs/{run}/events", scope: Read, tag: tag, summary: "Follow a run as server-sent events",
		detail: "Each message has the id of an event and its JSON. A client that sends Last-Event-ID gets what came after it. The message end follows the last event of the run.",
		stream: "Messages: event, end", errors: []int{404, 503}},
		func(ctx context.Context, in *struct {
			InRun
			After string `query:"after" doc:"Begin after this event" maxLength:"50"`
			Last  string `header:"Last-Event-ID" maxLength:"50"`
		}) (*streamed, error) {
			p, r, err := a.run(ctx, &in.InRun)
			if err != nil {
				return nil, err
			}
			if in.Last != "" {
				in.After = in.Last
			}
			after, err := eventID(in.After)
			if err != nil {
				return nil, err
			}
			return a.stream(ctx, func(ctx context.Context, out *messages) error {
				err := out.send(ctx, nil, a.entriesOf(&followedRun{p, r, after}, false))
				if err == nil {
					out.put("end", "", []byte("{}"))
				}
				return err
			})
		})
	add(a, op{id: "follow-all", method: http.MethodGet, path: "/events", scope: Read, tag: tag, summary: "Follow all projects, and some runs, as server-sent events",
		detail: "A message change has a run in its new state, as in the list of runs. For each run that is named, there are messages event, too. One stream is enough for a browser, which has few connections. The id of a message says how far each project and each named run has been sent: a client that sends it as Last-Event-ID gets what changed after it. The message reset says that this is not known for a project, whose lists must be read again.",
		stream: "Messages: change, deleted, event, reset", errors: []int{404, 503}},
		func(ctx context.Context, in *struct {
			Runs  []string `query:"run,explode" doc:"PROJECT/RUN, or PROJECT/RUN@EVENT to begin after an event" maxItems:"20"`
			Facts bool     `query:"facts" doc:"Leave out recorded events, from which the facts follow"`
			New   bool     `query:"new" doc:"Leave out the runs that exist already, until they change"`
			Last  string   `header:"Last-Event-ID" maxLength:"20000"`
		}) (*streamed, error) {
			seen, _ := url.ParseQuery(in.Last) // what cannot be read is sent again
			followed, err := a.followed(ctx, in.Runs, seen)
			if err != nil {
				return nil, err
			}
			sources, at, err := a.changes(ctx, seen, in.New)
			if err != nil {
				return nil, err
			}
			return a.stream(ctx, func(ctx context.Context, out *messages) error {
				return a.sendAll(ctx, out, sources, at, followed, in.Facts)
			})
		})
	add(a, op{id: "read-log", method: http.MethodGet, path: "/projects/{project}/runs/{run}/steps/{address}/attempts/{attempt}/{stream}", scope: Read, tag: tag, summary: "Read what an attempt printed, its prompt or its transcript",
		detail: "Offsets count bytes of what the attempt wrote. Of a long output, only the beginning and the end are kept; the header Hocket-Pieces lists the parts in the body as OFFSET+LENGTH. A negative offset counts from the end.", errors: []int{404}},
		a.readLog)
}

func eventID(text string) (hocket.EventID, error) {
	if text == "" {
		return hocket.EventID{}, nil
	}
	id, err := hocket.ParseEventID(text)
	if err != nil {
		return id, invalidRequest(http.StatusUnprocessableEntity, err.Error())
	}
	return id, nil
}

// messages writes server-sent events.
type messages struct {
	buf  bytes.Buffer
	w    io.Writer
	http *http.ResponseController
}

// put adds a message. One without a kind only tells the client its id.
func (m *messages) put(kind, id string, data []byte) {
	if id != "" {
		m.buf.WriteString("id: " + id + "\n")
	}
	if kind == "" {
		m.buf.WriteString("\n")
		return
	}
	m.buf.WriteString("event: " + kind + "\ndata: ")
	m.buf.Write(data) // JSON has no line break
	m.buf.WriteString("\n\n")
}

// flush sends what was put. A client that does not read is dropped, and can continue later.
func (m *messages) flush() error {
	if m.buf.Len() == 0 {
		return nil
	}
	_, err := m.w.Write(m.buf.Bytes())
	m.buf.Reset()
	if err == nil {
		err = m.http.Flush()
	}
	return err
}

// stream returns a response that send writes until the client has gone.
func (s *Server) stream(ctx context.Context, send func(ctx context.Context, out *messages) error) (*streamed, error) {
	ctx, done, err := s.watch(ctx)
	if err != nil {
		return nil, err
	}
	return &streamed{Body: func(w http.ResponseWriter, r *http.Request) {
		defer done()
		if from := r.Header; callerOf(ctx).Browser && from.Get("Origin") == "" && from.Get("Sec-Fetch-Site") != "same-origin" {
			// Nothing says that one of our pages asks. The guard has checked an origin.
			fail(w, newProblem(http.StatusForbidden, "foreign-origin", "a stream needs the origin of this server"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		// When a page closes a stream, Chromium may otherwise read from it for five more seconds, to use the connection
		// again, and has one less for what a person clicks.
		w.Header().Set("Connection", "close")
		w.Header().Set("X-Accel-Buffering", "no")
		out := &messages{w: w, http: http.NewResponseController(w)}
		_ = out.http.SetReadDeadline(time.Time{}) // the request was read
		out.buf.WriteString("retry: 1000\n\n")
		if out.flush() != nil {
			return
		}
		if err := send(ctx, out); err != nil && ctx.Err() == nil {
			if data, err := json.Marshal(s.Explain(r.Context(), err)); err == nil {
				out.put("problem", "", data)
			}
		}
		_ = out.flush() // the client may have gone
	}}, nil
}

// message is something to send.
type message struct {
	kind, id string
	data     []byte
}

// source produces messages until it has no more, or emit returns false.
type source func(ctx context.Context, emit func(message) bool) error

// send sends what the sources produce, until all have ended or one fails. If note is not nil, it
// returns the id under which a message is sent.
func (out *messages) send(ctx context.Context, note func(message) string, sources ...source) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	news, ended := make(chan message, 256), make(chan error, len(sources))
	emit := func(m message) bool {
		select {
		case news <- m:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for _, produce := range sources {
		go func() { ended <- produce(ctx, emit) }()
	}
	put := func(m message) {
		if note != nil {
			m.id = note(m)
		}
		out.put(m.kind, m.id, m.data)
	}
	alive := time.NewTicker(quiet)
	defer alive.Stop()
	for left := len(sources); left > 0 || len(news) > 0; {
		select {
		case m := <-news:
			put(m)
			for len(news) > 0 && out.buf.Len() < 1<<20 {
				put(<-news)
			}
			if err := out.flush(); err != nil {
				return err
			}
			select {
			case <-time.After(pace):
			case <-ctx.Done():
			}
		case err := <-ended:
			if left--; err != nil {
				return err
			}
		case <-alive.C:
			out.buf.WriteString(": \n\n")
			if err := out.flush(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// entriesOf is a source of the entries of a run, or only of its facts, until it is over.
func (s *Server) entriesOf(f *followedRun, facts bool) source {
	return func(ctx context.Context, emit func(message) bool) error {
		feed, end := s.follow(f.p, f.r)
		defer end()
		for after := f.after; ; {
			found, missing, more, over, wrong := feed.after(after)
			if missing {
				var err error
				if found, err = reread(ctx, f.r, after, feed.first()); err != nil {
					return err
				}
			}
			for _, e := range found {
				if after = e.id; facts && after.Index == 0 {
					continue
				}
				if !emit(message{"event", e.id.String(), e.data}) {
					return ctx.Err()
				}
			}
			switch {
			case missing:
			case over:
				return wrong
			default:
				select {
				case <-more:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}
}

// changes are sources of the changes of each project, after those that a client has seen, and where each begins. With
// fresh, they leave out the runs as they are now: a page shows them, and there may be many.
func (s *Server) changes(ctx context.Context, seen url.Values, fresh bool) (sources []source, at url.Values, err error) {
	at = url.Values{}
	for _, p := range s.projects {
		since, unknown := strconv.ParseInt(seen.Get(p.name), 10, 64)
		if unknown != nil && (fresh || len(seen) > 0) { // what changes from here on is reported, even before the stream is open
			counts, err := p.Count(ctx, time.Now())
			if err != nil {
				return nil, nil, err
			}
			since = counts.Version
		}
		at.Set(p.name, strconv.FormatInt(since, 10))
		if unknown != nil && len(seen) > 0 {
			sources = append(sources, func(_ context.Context, emit func(message) bool) error {
				emit(reset(p, since))
				return nil
			})
		}
		sources = append(sources, changesOf(p, since))
	}
	return sources, at, nil
}

// reset tells a client that it cannot learn what changed in a project before a version.
func reset(p served, version int64) message {
	data, _ := json.Marshal(map[string]string{"project": p.name})
	return message{"reset", positionOf(p, version), data}
}

func positionOf(p served, version int64) string { return fmt.Sprintf("%s@%d", p.name, version) }

// changesOf is a source of the changes of all runs of a project since a version.
func changesOf(p served, since int64) source {
	return func(ctx context.Context, emit func(message) bool) error {
		for c, err := range p.WatchSince(ctx, since) {
			if err != nil {
				return err
			}
			m := message{kind: "change", id: positionOf(p, c.Version)}
			switch c.Kind {
			case hocket.WatchReset:
				m = reset(p, c.Version)
			case hocket.RunDeleted:
				m.kind = "deleted"
				m.data, err = json.Marshal(map[string]string{"project": p.name, "run_id": c.Run})
			default:
				m.data, err = json.Marshal(lineOf(p.name, c.Info))
			}
			if err != nil {
				return err
			}
			if !emit(m) {
				break
			}
		}
		return ctx.Err()
	}
}

// reread reads entries that a feed does not keep any more.
func reread(ctx context.Context, r *hocket.Run, after, before hocket.EventID) ([]entry, error) {
	var found []entry
	for e, err := range r.History(ctx, after) {
		if err != nil {
			return nil, err
		}
		if !later(before, e.ID) || len(found) == 1000 {
			break
		}
		one, err := eventOf(e)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		found = append(found, entry{e.ID, data})
	}
	return found, nil
}

// followedRun is a run in a stream of several.
type followedRun struct {
	p     served
	r     *hocket.Run
	after hocket.EventID // what the client has seen
}

func (f *followedRun) key() string { return f.p.name + "/" + f.r.ID() }

// followed finds the runs that a client wants to follow. seen is how far it has seen some of them.
func (s *Server) followed(ctx context.Context, names []string, seen url.Values) ([]*followedRun, error) {
	if len(names) > maxFollowed {
		return nil, invalidRequest(http.StatusUnprocessableEntity, fmt.Sprintf("at most %d runs can be followed in one stream", maxFollowed))
	}
	var all []*followedRun
	for _, name := range names {
		name, at, _ := strings.Cut(name, "@")
		project, run, _ := strings.Cut(name, "/")
		p, r, err := s.run(ctx, &InRun{InProject{project}, run})
		if err != nil {
			return nil, err
		}
		if v := seen.Get(name); v != "" {
			at = v
		}
		after, err := eventID(at)
		if err != nil {
			return nil, err
		}
		all = append(all, &followedRun{p, r, after})
	}
	return all, nil
}

// sendAll sends the changes of all projects and the entries of some runs. The id of a message says how
// far each project and each run has been sent; at is where they begin.
func (s *Server) sendAll(ctx context.Context, out *messages, sources []source, at url.Values, followed []*followedRun, facts bool) error {
	for _, f := range followed {
		at.Set(f.key(), f.after.String())
		entries := s.entriesOf(f, facts)
		sources = append(sources, func(ctx context.Context, emit func(message) bool) error {
			return entries(ctx, func(m message) bool { return emit(message{m.kind, f.key() + "@" + m.id, within(f, m.data)}) })
		})
	}
	out.put("", at.Encode(), nil)
	if err := out.flush(); err != nil {
		return err
	}
	return out.send(ctx, func(m message) string {
		name, id, _ := strings.Cut(m.id, "@")
		at.Set(name, id)
		return at.Encode()
	}, sources...)
}

// within adds the project and the run to the JSON object of an event.
func within(f *followedRun, data []byte) []byte {
	head, _ := json.Marshal(struct {
		Project string `json:"project"`
		Run     string `json:"run_id"`
	}{f.p.name, f.r.ID()})
	return append(append(head[:len(head)-1], ','), data[1:]...)
}
