package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/mcp"
	"github.com/hocket-dev/hocket/server"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/web"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	listen, url, cert, key, log string
	insecure, show              bool
}

func (a *app) serveVerb() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [DIR...] [FLAGS]",
		Short: "Serve projects over HTTP",
		Long: `Serve projects over HTTP: a page for people, which --open or "hocket open" opens in the
browser, and an API for programs with a token of "hocket serve token". Without DIR, the
project of the current directory is served.

The server drives the runs that are started or continued through it. When it gets
SIGTERM, it starts nothing new, gives open attempts 30 seconds, and interrupts the
rest; the next server continues them.

It listens on loopback only, unless --listen says otherwise. Another address needs a
certificate, or --insecure if a proxy in front of the server encrypts.

On loopback, the page has a name of its own, hocket-….localhost, because a browser sends
the session of a page to every port of its name. If your browser cannot find that name,
pass --url http://127.0.0.1:7433, and open nothing that you do not trust at other ports.`,
		Example: `  hocket serve
  hocket serve ~/src/shop ~/src/blog --listen 127.0.0.1:8080

  # Behind a proxy
  hocket serve --url https://hocket.example.org`,
		Args: argsBetween(0, 50),
		RunE: func(cmd *cobra.Command, args []string) error { return a.serve(cmd.Context(), args, &f) },
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7433", "listen on `ADDRESS`")
	cmd.Flags().StringVar(&f.url, "url", "", "the public `URL`, if it is not the address that it listens on")
	cmd.Flags().StringVar(&f.cert, "cert", "", "the certificate for TLS, a PEM `FILE`")
	cmd.Flags().StringVar(&f.key, "key", "", "its private key, a PEM `FILE`")
	cmd.Flags().BoolVar(&f.insecure, "insecure", false, "listen without TLS on an address that others can reach")
	cmd.Flags().BoolVar(&f.show, "open", false, "open it in the browser")
	cmd.Flags().StringVar(&f.log, "log", "text", "log to standard error as `FORMAT`: text or json")
	token := a.tokenVerb()
	token.DisableFlagsInUseLine = true
	cmd.AddCommand(token)
	return cmd
}

// serverDir is where servers and their tokens are.
func serverDir() (string, error) {
	dir, err := hocket.UserState()
	return filepath.Join(dir, "server"), err
}

func (a *app) serve(ctx context.Context, dirs []string, f *serveFlags) error {
	public, err := f.check()
	if err != nil {
		return err
	}
	if trust.Depth() > 0 { // it would drive runs, and take answers, outside of the limits of that run
		what, hint := explain(&trust.SupervisedError{Verb: "serve", By: "an attempt of a run"})
		return usagef(hint, "%s", what)
	}
	projects, err := a.openServed(dirs)
	if err != nil {
		return err
	}
	dir, err := serverDir()
	if err != nil {
		return err
	}
	listeners, err := f.open(public)
	if err != nil {
		return err
	}
	for _, l := range listeners {
		defer l.Close()
	}
	address := listeners[0].Addr()
	var handler slog.Handler = slog.NewTextHandler(a.std.Err, nil)
	if f.log == "json" {
		handler = slog.NewJSONHandler(a.std.Err, nil)
	}
	// A server lives long and mostly waits, unlike other commands, for which memory is not reclaimed early.
	debug.SetGCPercent(100)
	s, err := server.New(server.Options{
		Projects: projects, Access: server.OpenAccess(dir), Listen: address, TLS: f.cert != "", Public: public, Version: buildOf().version, Sessions: a.sessionsOf, Pages: web.Add, MCP: a.mcpOverHTTP, Log: slog.New(handler),
	})
	if err != nil {
		return usagef("name each project once", "%v", err)
	}
	ctx, forget := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer forget()
	if err := s.OpenDoor(ctx, dir); err != nil {
		a.note("warning: " + err.Error() + "\n")
	}
	a.note("serving on " + f.base(address, public) + "\n")
	if public != nil && (public.Hostname() == "localhost" || net.ParseIP(public.Hostname()).IsLoopback()) {
		a.note("warning: browsers send the session of the page to every port of " + public.Hostname() + "; without --url, the page has a name of its own\n")
	}
	for _, p := range projects {
		if len(p.Workflows()) == 0 {
			a.note("warning: " + p.Root() + " has no workflows in .hocket/workflows; `hocket init` and the page create some, and runs of `hocket run FILE` are shown, too\n")
		}
	}
	if err := a.welcome(s, dir, f.show); err != nil {
		a.note("warning: the browser was not opened: " + err.Error() + "\n")
	}
	return s.Serve(ctx, listeners...)
}

// welcome shows a person how to get in: in the browser, or with a link in the terminal.
func (a *app) welcome(s *server.Server, dir string, show bool) error {
	_, person := terminal(a.std.Err)
	if !show && !person || a.supervisor() != "" {
		a.note("to open it in a browser: `hocket open`\n")
		return nil
	}
	link, err := s.Link("")
	if err != nil {
		return err
	}
	if person {
		a.note("open " + link + "\n(once, within five minutes; `hocket open` makes another link)\n")
	}
	if show {
		return a.browse(dir, link)
	}
	return nil
}

// base returns the address at which programs reach the server.
func (f *serveFlags) base(listen net.Addr, public *url.URL) string {
	scheme := "http"
	if f.cert != "" {
		scheme = "https"
	}
	if public != nil {
		return public.Scheme + "://" + public.Host
	}
	return scheme + "://" + listen.String()
}

// browse opens a link of a server in the browser, through a file that the server removes.
func (a *app) browse(dir, link string) error {
	file, err := server.RedirectFile(dir, link)
	if err != nil {
		return err
	}
	if !openBrowser(file) {
		return errors.New("there is no graphical browser here; `hocket open --print` prints the link")
	}
	return nil
}

func (a *app) openVerb() *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use:   "open [RUN] [FLAGS]",
		Short: "Open the server of this project, or the page of a run, in the browser",
		Long: `Open the server of this project, which "hocket serve" has started, in the browser, or the
page of a run. The browser gets a link that can be used once, within five minutes.`,
		Example: `  hocket open
  hocket open review-3k7q
  hocket open --print`,
		Args:              argsBetween(0, 1),
		ValidArgsFunction: a.completeRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.onlyPerson("open"); err != nil {
				return err
			}
			p, err := a.openProject()
			if err != nil {
				return err
			}
			dir, err := serverDir()
			if err != nil {
				return err
			}
			run := ""
			if len(args) > 0 {
				r, err := p.Run(cmd.Context(), args[0])
				if err != nil {
					return noRun(cmd.Context(), p, err)
				}
				run = r.ID()
			}
			link, err := server.RequestLink(cmd.Context(), dir, p.Root(), run)
			switch {
			case errors.Is(err, server.ErrNoServer):
				return usagef("start one with `hocket serve`", "%v", err)
			case err != nil:
				return err
			case print:
				return a.print(link + "\n")
			}
			return a.browse(dir, link)
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the link instead")
	return cmd
}

// check checks the flags that depend on each other, and returns the public address, nil if there is none.
func (f *serveFlags) check() (*url.URL, error) {
	if f.log != "text" && f.log != "json" {
		return nil, usagef("use text or json", "invalid --log %q", f.log)
	}
	if (f.cert == "") != (f.key == "") {
		return nil, usagef("pass both", "--cert and --key belong together")
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, usagef("use HOST:PORT, such as 127.0.0.1:7433", "invalid --listen %q", f.listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && f.cert == "" && !f.insecure {
		return nil, usagef("pass --cert and --key, or --insecure if a proxy encrypts", "--listen %s can be reached by others, who could read tokens on the way", f.listen)
	}
	if f.url == "" {
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			return nil, usagef("pass the address that people use with --url", "--listen %s does not say how the server is reached", f.listen)
		}
		return nil, nil
	}
	u, err := url.Parse(f.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, usagef("use a URL such as https://hocket.example.org", "invalid --url %q", f.url)
	}
	return u, nil
}

func (f *serveFlags) open(public *url.URL) ([]net.Listener, error) {
	all, err := server.Listen(f.listen, f.cert != "", public)
	var used *net.OpError
	if errors.Is(err, syscall.EADDRINUSE) && errors.As(err, &used) {
		return nil, usagef("stop the other server, or choose another port with --listen", "%s is in use", used.Addr)
	}
	if err != nil || f.cert == "" {
		return all, err
	}
	for i, l := range all {
		if all[i], err = server.TLS(l, f.cert, f.key); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// openServed opens the projects to serve. A person is asked in the page or the API, not in this terminal.
func (a *app) openServed(dirs []string) ([]*hocket.Project, error) {
	if len(dirs) == 0 {
		dir := a.dir
		if dir == "" {
			dir = "."
		}
		dirs = []string{dir}
	}
	if len(dirs) > 1 && a.state != "" {
		return nil, usagef("serve one project, or leave out --state", "--state is for one project")
	}
	var all []*hocket.Project
	for _, dir := range dirs {
		p, err := a.open(dir, hocket.Options{Via: "http"})
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (a *app) tokenVerb() *cobra.Command {
	var scopes string
	var expires time.Duration
	var revoke, sessions bool
	cmd := &cobra.Command{
		Use:   "token [NAME] [FLAGS]",
		Short: "Create, list and revoke tokens for the server",
		Long: `Create a token with which a program uses the server, and print it. It is not stored,
only its hash. Runs and answers are recorded under NAME. Without NAME, list the tokens.
With --sessions, end the sessions of all browsers.

Every token can list and watch, which is the scope read. The scope answer adds answering
questions, and run adds starting, cancelling and retrying the workflows of the project: name
both if a program needs both. admin may do everything, such as save files, approve and
trust. The scope mcp is for MCP clients: it opens /mcp/PROJECT and nothing else.`,
		Example: `  hocket serve token ci --scope run
  hocket serve token phone --scope answer --expires 720h
  hocket serve token ci --revoke`,
		Args: argsBetween(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.onlyPerson("serve token"); err != nil {
				return err
			}
			dir, err := serverDir()
			if err != nil {
				return err
			}
			access := server.OpenAccess(dir)
			switch {
			case sessions && (len(args) > 0 || revoke):
				return usagef("pass it alone", "--sessions is about browsers, and not about a token")
			case sessions:
				return access.RevokeSessions()
			case len(args) == 0 && revoke:
				return usagef("name the token", "--revoke needs the name of a token")
			case len(args) == 0:
				return a.listTokens(access)
			case revoke:
				err := access.Revoke(args[0])
				var unknown *server.UnknownTokenError
				if errors.As(err, &unknown) {
					return usagef("run `hocket serve token` to list them", "%v", err)
				}
				return err
			case expires < 0:
				return usagef("use a duration such as 720h", "invalid --expires %s: must not be negative", expires)
			}
			wanted, err := server.ParseScopes(scopes)
			if err != nil {
				return usagef("use one or more of them, separated by commas", "%v", err)
			}
			secret, err := access.Create(args[0], wanted, expires)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(map[string]string{"name": args[0], "token": secret})
			}
			return a.print(secret + "\n")
		},
	}
	cmd.Flags().StringVar(&scopes, "scope", "read", "what it may do: read, answer, run, admin, or several as `LIST`; or mcp")
	cmd.Flags().DurationVar(&expires, "expires", 0, "make it invalid after `DURATION`, such as 720h")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "make the token invalid")
	cmd.Flags().BoolVar(&sessions, "sessions", false, "end the sessions of all browsers")
	return cmd
}

// tokenLine is a token with --json.
type tokenLine struct {
	Name    string         `json:"name"`
	Scopes  []server.Scope `json:"scopes"`
	Created time.Time      `json:"created"`
	Expires *time.Time     `json:"expires"`
}

func (a *app) listTokens(access *server.Access) error {
	tokens, err := access.Tokens()
	if err != nil {
		return err
	}
	lines := []tokenLine{}
	t := &view.Table{Head: []string{"NAME", "SCOPE", "CREATED", "EXPIRES"}}
	for _, k := range tokens {
		line := tokenLine{k.Name, k.Scopes, k.Created, nil}
		expires := "never"
		if !k.Expires.IsZero() {
			line.Expires, expires = &k.Expires, k.Expires.Local().Format(time.DateTime)
		}
		lines = append(lines, line)
		var scopes []string
		for _, s := range k.Scopes {
			scopes = append(scopes, string(s))
		}
		t.Row(view.Cell{Text: k.Name}, view.Cell{Text: strings.Join(scopes, ",")}, view.Cell{Text: k.Created.Local().Format(time.DateTime)}, view.Cell{Text: expires})
	}
	switch {
	case a.json:
		return a.printJSON(lines)
	case len(lines) == 0:
		a.note("no tokens; create one with `hocket serve token NAME`\n")
		return nil
	}
	return a.print(t.Draw(a.outStyle))
}

// mcpOverHTTP serves MCP clients in the HTTP server, which drives the runs that go on in the background.
func (a *app) mcpOverHTTP(p *hocket.Project, client func(*http.Request) (string, string), resume func(string) error) (http.Handler, func()) {
	return mcp.Handler(p, client, mcp.Options{Version: buildOf().version, Command: a.self, Detach: resume, Sessions: a.sessionsOf})
}
