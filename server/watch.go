package server

import (
	"context"
	"net/http"
	"time"
)

const (
	maxStreams = 400                    // open at the same time
	maxOwn     = 100                    // of one token or session
	checkEvery = 500 * time.Millisecond // whether the tokens of open streams are valid
)

// watcher is an open stream.
type watcher struct {
	token string // the hash of its secret
	end   context.CancelFunc
}

// watch counts a stream of the caller. Its context ends with the server, and when the caller's token is not valid
// any more: a stream outlives the request that was checked.
func (s *Server) watch(ctx context.Context) (open context.Context, done func(), err error) {
	who := callerOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for w := range s.watchers {
		if w.token == who.Hash {
			own++
		}
	}
	switch {
	case own >= maxOwn:
		return nil, nil, newProblem(http.StatusServiceUnavailable, "too-many-streams", "too many streams of "+quote(who.Name)+" are open")
	case len(s.watchers) >= maxStreams:
		return nil, nil, newProblem(http.StatusServiceUnavailable, "too-many-streams", "too many streams are open")
	}
	open, end := context.WithCancel(ctx)
	w := &watcher{who.Hash, end}
	s.watchers[w] = struct{}{}
	left := context.AfterFunc(s.open, end)
	return open, func() {
		left()
		end()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}, nil
}

// endRevoked ends the streams of tokens and sessions that were revoked or have expired, until ctx is done.
func (s *Server) endRevoked(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		s.mu.Lock() // first, so that the token of each stream is older than what is read
		valid, err := s.access.valid()
		for w := range s.watchers {
			if err == nil && !valid[w.token] { // if they cannot be read, requests fail, and log it
				w.end()
			}
		}
		s.mu.Unlock()
	}
}
