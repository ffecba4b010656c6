package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/handoff"
	"github.com/hocket-dev/hocket/notify"
	"github.com/hocket-dev/hocket/trigger"
)

// Options configure [New].
type Options struct {
	// Projects are served. Each is known by the name of its directory.
	Projects []*hocket.Project
	// Access decides who may use the server.
	Access *Access
	// Listen is the address that the server listens on.
	Listen net.Addr
	// TLS says that connections are encrypted.
	TLS bool
	// Public is the address at which people and programs reach the server; nil: that of Listen, and for people on the
	// same machine a name of its own.
	Public *url.URL
	// Version is that of the program.
	Version string
	// Sessions opens the sessions of a project, for handoffs; nil: the usual ones.
	Sessions func(p *hocket.Project) *handoff.Sessions
	// Pages adds the pages for people; nil: "/" leads to the description of the API.
	Pages func(s *Server, add AddPage)
	// MCP serves MCP clients; nil: they are not served.
	MCP ServeMCP
	// Log is for the operator; nil: none.
	Log *slog.Logger
}

// AddPage adds a page to a server. Its handler is called only for callers with the scope.
type AddPage func(pattern string, scope Scope, handle http.HandlerFunc)

const (
	maxBody        = 4 << 20 // of a request
	largeBody      = 256 << 10
	maxHeavy       = 1 // request with a large body that is handled at a time
	maxBodies      = 8 // large bodies in memory at a time
	maxHeader      = 32 << 10
	maxConnections = 1000
	headerTimeout  = 10 * time.Second
	bodyTimeout    = time.Minute
	idleTimeout    = 2 * time.Minute
	writePiece     = 64 << 10 // of a response
)

// writeTimeout is how long a client may take to read a piece of a response.
var writeTimeout = 20 * time.Second

// bodyWait is how long a request with a large body waits until it is read.
var bodyWait = 10 * time.Second

// farewell is how long open attempts may take when the server stops.
var farewell = 30 * time.Second

// Server serves projects over HTTP.
type Server struct {
	access   *Access
	links    links
	bodies   chan struct{} // one for each large body in memory
	doors    string        // the directory of redirect files; "": there are none
	place    place
	projects []served
	version  string
	handoffs func(p *hocket.Project) *handoff.Sessions
	log      *slog.Logger
	handler  http.Handler
	states   states
	ahead    ahead
	hooks    chan struct{} // one for each request to a webhook that is checked
	large    chan struct{} // one for each large one that is read
	heavy    chan struct{} // one for each request with a large body that is handled
	texts    chan struct{} // one for each text of a client that is read

	smallTexts chan struct{} // the same for short ones
	shown      shownRuns

	mu       sync.Mutex
	feeds    map[string]*feed // by project and run
	watchers map[*watcher]struct{}
	leave    []func() // ends what serves MCP clients

	open  context.Context // done when the server stops: then streams end, and nothing starts any more
	close context.CancelFunc
}

// served is a project and its name in the API.
type served struct {
	name string
	*hocket.Project
	drives   *drives
	triggers *trigger.Service
	approved *approved
}

// New creates a server. It starts nothing: [Server.Serve] does.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Sessions == nil {
		o.Sessions = func(p *hocket.Project) *handoff.Sessions { return handoff.Open(p, nil) }
	}
	name := ""
	if hasOwnName(o.Listen, o.TLS, o.Public) {
		var err error
		if name, err = o.Access.hostName(); err != nil {
			return nil, err
		}
	}
	s := &Server{access: o.Access, place: newPlace(o.Listen, o.TLS, o.Public, name), version: o.Version, handoffs: o.Sessions, log: o.Log, feeds: map[string]*feed{}, watchers: map[*watcher]struct{}{}, hooks: make(chan struct{}, maxHooks), large: make(chan struct{}, maxLarge), heavy: make(chan struct{}, maxHeavy), texts: make(chan struct{}, 1), smallTexts: make(chan struct{}, maxSmall)}
	s.open, s.close = context.WithCancel(context.Background())
	s.bodies = make(chan struct{}, maxBodies)
	names := map[string]int{}
	for _, p := range o.Projects {
		if slices.ContainsFunc(s.projects, func(other served) bool { return other.Root() == p.Root() }) {
			return nil, fmt.Errorf("the project %s is named twice", p.Root())
		}
		name := nameOf(p.Root())
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, names[name])
		}
		triggers := trigger.New(p, trigger.Options{Labels: map[string]string{ServedLabel: "yes"}, Log: o.Log})
		s.projects = append(s.projects, served{name, p, newDrives(s, p), triggers, &approved{}})
	}
	mux := http.NewServeMux()
	s.addAPI(mux)
	mux.HandleFunc("GET /healthz", s.health)
	mux.HandleFunc("GET /metrics", s.metrics)
	if o.MCP != nil {
		s.addMCP(mux, o.MCP)
	}
	mux.HandleFunc("POST "+hooksPath+"{project}/{trigger}", s.deliver)
	if o.Pages != nil {
		o.Pages(s, func(pattern string, scope Scope, handle http.HandlerFunc) { mux.Handle(pattern, s.page(scope, handle)) })
	} else {
		mux.Handle("GET /{$}", http.RedirectHandler(apiPath+"/", http.StatusSeeOther))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, newProblem(http.StatusNotFound, "unknown-path", "there is nothing at "+r.URL.Path))
	})
	s.handler = s.guard(mux)
	return s, nil
}

// health says whether the server takes work.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if s.open.Err() != nil {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// mayStart refuses to record a run that this server would not drive: the client may well start another one elsewhere.
func (s *Server) mayStart() error {
	if s.open.Err() == nil {
		return nil
	}
	p := newProblem(http.StatusServiceUnavailable, "stopping", "the server is stopping, and starts nothing new")
	p.Hint = "repeat the request in a minute"
	return p
}

// page is a handler that only callers with a scope reach.
func (s *Server) page(scope Scope, handle http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := callerOf(r.Context()); !who.allows(scope) {
			fail(w, noScope(who, scope))
			return
		}
		done, problem := s.admit(r)
		if problem != nil {
			refuse(w, problem)
			return
		}
		defer done()
		handle(w, r)
	})
}

// nameOf makes a name for a path of the API out of that of a directory.
func nameOf(dir string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r) {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(dir)))
	if name = strings.Trim(name, "-."); name == "" {
		return "project"
	}
	return name
}

// Link returns an address with a secret that starts a browser session, once, and then shows a path.
func (s *Server) Link(to string) (string, error) {
	secret := s.links.add()
	if secret == "" {
		return "", errors.New("too many links are open; use one of them, or wait five minutes")
	}
	if s.doors != "" {
		time.AfterFunc(linkLife, func() { _ = os.Remove(redirectFile(s.doors, secret)) })
	}
	q := url.Values{"key": {secret}}
	if to != "" {
		q.Set("to", to)
	}
	return s.place.public + enterPath + "?" + q.Encode(), nil
}

// linkTo returns the address of the page of a run. Whoever opens it needs a session.
func (s *Server) linkTo(project, run string) string {
	return s.place.public + pathOf(project, run)
}

// pathOf returns the path of the page of a run.
func pathOf(project, run string) string {
	return "/projects/" + url.PathEscape(project) + "/runs/" + url.PathEscape(run)
}

// Serve serves until ctx is done. Then it starts nothing new, gives open attempts half a minute, and
// interrupts what is left; the next start continues it. Several listeners serve the same.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	defer s.close()
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	h := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelError),
	}
	var work sync.WaitGroup
	driving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	firing, quiet := context.WithCancel(ctx)
	defer quiet()
	for _, p := range s.projects {
		work.Go(func() { p.drives.run(driving) })
		work.Go(func() {
			notify.Serve(driving, notify.Options{Project: p.Project, Name: p.name, Link: func(run string) string { return s.linkTo(p.name, run) }, Log: s.log})
		})
		work.Go(func() { p.triggers.Run(firing) })
	}
	work.Go(func() { s.endRevoked(driving) })
	failed := make(chan error, len(listeners))
	var open atomic.Int64
	for _, l := range listeners {
		go func() { failed <- h.Serve(limited(l, maxConnections, &open)) }()
	}
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.close()
	quiet()
	for _, p := range s.projects {
		p.drives.close() // nothing new
	}
	patience, enough := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer enough()
	for _, p := range s.projects {
		p.drives.drain(patience)
	}
	for _, leave := range s.leave {
		leave()
	}
	stop()
	work.Wait()
	hurry, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = h.Shutdown(hurry)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// project finds a project for the caller of an operation.
func (s *Server) project(ctx context.Context, name string) (served, error) {
	for _, p := range s.projects {
		if p.name == name {
			who := callerOf(ctx)
			return served{p.name, p.As(who.by, who.via), p.drives, p.triggers, p.approved}, nil
		}
	}
	return served{}, newProblem(http.StatusNotFound, "unknown-project", fmt.Sprintf("there is no project %q", name))
}
