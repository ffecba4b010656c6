package server

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
)

// Event is an entry in the history of a run: something that was recorded, or a fact that follows from
// it.
type Event struct {
	ID        string          `json:"id" doc:"Its position in the history of the run"`
	Time      time.Time       `json:"time"`
	Type      string          `json:"type" doc:"The kind of the fact; for a recorded event, recorded"`
	Address   string          `json:"address,omitempty" doc:"Of the step"`
	Node      string          `json:"node,omitempty"`
	Workflow  string          `json:"workflow,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Attempt   int             `json:"attempt,omitempty"`
	Items     int             `json:"items,omitempty" doc:"How many items a for_each has"`
	Status    string          `json:"status,omitempty"`
	Text      string          `json:"text,omitempty"`
	Branch    *Branch         `json:"branch,omitempty" doc:"Of a step that decided: which of its edges were taken"`
	Until     *time.Time      `json:"until,omitempty"`
	Output    any             `json:"output,omitempty"`
	Long      bool            `json:"long,omitempty" doc:"The output is long: get it on its own"`
	CostUSD   *float64        `json:"cost_usd,omitempty"`
	TokensIn  int64           `json:"tokens_in,omitempty"`
	TokensOut int64           `json:"tokens_out,omitempty"`
	Recorded  json.RawMessage `json:"recorded,omitempty" doc:"The event as the journal has it"`
}

// Branch is what a step decided for.
type Branch struct {
	On   string `json:"on" doc:"The kind of the edges that were taken" enum:"label,when,else,error,timeout"`
	Case string `json:"case,omitempty" doc:"Their label or condition"`
}

// recordedType is the type of an entry that is a recorded event.
const recordedType = "recorded"

func eventOf(e hocket.Entry) (*Event, error) {
	out := &Event{ID: e.ID.String(), Time: e.Time}
	if e.Fact == nil {
		out.Type = recordedType
		data, err := engine.Encode(e.Envelope)
		if len(data) > maxInline { // its facts say the same
			data, out.Long = nil, true
		}
		out.Recorded = data
		return out, err
	}
	f := e.Fact
	out.Type, out.Address, out.Node, out.Workflow, out.Agent = string(f.Kind), f.Address, f.Node, f.Workflow, f.Agent
	out.Attempt, out.Items, out.Status, out.Text = f.Attempt, f.Items, string(f.Status), f.Text
	out.Output, out.Long = inline(f.Output)
	if f.Branch != nil {
		out.Branch = &Branch{string(f.Branch.On), f.Branch.Case}
	}
	if !f.Until.IsZero() {
		out.Until = &f.Until
	}
	if f.Usage != (engine.Usage{}) {
		out.CostUSD, out.TokensIn, out.TokensOut = costOf(f.Usage), f.Usage.TokensIn, f.Usage.TokensOut
	}
	return out, nil
}

// feed reads the history of a run once, however many clients follow it. It keeps the entries of the
// run as they are sent.
type feed struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	entries []entry
	dropped hocket.EventID // the last entry that is not kept any more
	most    int            // how many bytes are kept
	size    int
	grown   chan struct{} // closed when there is more, or no more will come
	err     error
	over    bool
	users   int
}

type entry struct {
	id   hocket.EventID
	data []byte // JSON
}

// maxFeed is how many bytes of entries a feed keeps. Older ones are read again for a client that needs
// them.
const maxFeed = 16 << 20

// follow returns the feed of a run. The caller must call the function when it needs it no more.
func (s *Server) follow(p served, r *hocket.Run) (*feed, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := p.name + "/" + r.ID()
	f := s.feeds[key]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{cancel: cancel, most: maxFeed, grown: make(chan struct{})}
		s.feeds[key] = f
		go f.read(ctx, r)
	}
	f.users++
	return f, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if f.users--; f.users == 0 {
			f.cancel()
			if s.feeds[key] == f {
				delete(s.feeds, key)
			}
		}
	}
}

func (f *feed) read(ctx context.Context, r *hocket.Run) {
	var err error
	for e, wrong := range r.Events(ctx, hocket.EventID{}) {
		if err = wrong; err != nil {
			break
		}
		var data []byte
		one, wrong := eventOf(e)
		if wrong == nil {
			data, wrong = json.Marshal(one)
		}
		if err = wrong; err != nil {
			break
		}
		f.add(entry{e.ID, data})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.over = err, true
	close(f.grown)
}

func (f *feed) add(e entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries = append(f.entries, e)
	if f.size += len(e.data); f.size > f.most {
		half := len(f.entries) / 2
		for _, old := range f.entries[:half] {
			f.size -= len(old.data)
			f.dropped = old.id
		}
		f.entries = append([]entry(nil), f.entries[half:]...)
	}
	close(f.grown)
	f.grown = make(chan struct{})
}

// after returns the entries after an id. missing means that the feed does not keep them all any more.
// more is closed when there are further ones; over means that none will come.
func (f *feed) after(id hocket.EventID) (found []entry, missing bool, more <-chan struct{}, over bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	low, high := 0, len(f.entries)
	for low < high {
		if mid := (low + high) / 2; later(f.entries[mid].id, id) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return f.entries[low:], later(f.dropped, id), f.grown, f.over, f.err
}

// first returns the id of the first entry that is kept.
func (f *feed) first() hocket.EventID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.entries[0].id
}

func later(a, b hocket.EventID) bool { return a.Seq > b.Seq || a.Seq == b.Seq && a.Index > b.Index }
