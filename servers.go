package hocket

import (
	"context"
	"strings"

	"github.com/hocket-dev/hocket/agent/mcp"
	"github.com/hocket-dev/hocket/agent/mcp/login"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/workflow"
)

// Server is an MCP server of the project.
type Server = project.Server

// ServerSession is an open connection with an MCP server.
type ServerSession = mcp.Session

// Login is a login of the user at an MCP server.
type Login = login.Login

// LoginPerson is the user who logs in, and how to show them the address to open.
type LoginPerson = login.Person

// LoginState is the state of the user's login to a server.
type LoginState string

// The states of a login.
const (
	LoginNone  LoginState = "none"  // the server is a program
	LoginKey   LoginState = "key"   // config.yml has a key instead
	LoginNo    LoginState = "no"    // not logged in; the server may not require it
	LoginYes   LoginState = "yes"   // logged in
	LoginEnded LoginState = "ended" // the login has expired or was revoked
)

// Servers returns the MCP servers of the project.
func (p *Project) Servers() []Server { return p.Config().Servers }

// UnknownServerError reports that the project has no MCP server with a name.
type UnknownServerError struct {
	Name  string
	Names []string // of its servers
}

func (e *UnknownServerError) Error() string { return "unknown MCP server " + quoted(e.Name) }

// Hint suggests the nearest server.
func (e *UnknownServerError) Hint() string {
	switch near := workflow.DidYouMean(e.Name, e.Names); {
	case near != "":
		return near
	case len(e.Names) > 0:
		return "expected one of: " + strings.Join(e.Names, ", ")
	}
	return "add it under `mcp` in .hocket/config.yml"
}

// Server finds an MCP server by its name.
func (p *Project) Server(name string) (*Server, error) {
	servers := p.Servers()
	unknown := &UnknownServerError{Name: name}
	for i := range servers {
		if servers[i].Name == name {
			return &servers[i], nil
		}
		unknown.Names = append(unknown.Names, servers[i].Name)
	}
	return nil, unknown
}

// LoginState reports whether the user is logged in to a server.
func (p *Project) LoginState(s *Server) (LoginState, error) {
	switch {
	case s.URL == "":
		return LoginNone, nil
	case s.HasKey():
		return LoginKey, nil
	}
	found, there, err := p.now().logins().Find(s.URL)
	switch {
	case err != nil:
		return "", err
	case there && found.Ended:
		return LoginEnded, nil
	case there:
		return LoginYes, nil
	}
	return LoginNo, nil
}

// OpenServer connects to an MCP server of the project. The caller must close the session.
func (p *Project) OpenServer(ctx context.Context, name string) (*ServerSession, error) {
	p = p.steady()
	if _, err := p.Server(name); err != nil {
		return nil, err
	}
	if err := p.CheckTrust(ctx); err != nil {
		return nil, err
	}
	found, err := namedServers(p.Root(), p.Config(), p.now().secrets, []string{name})
	if err != nil {
		return nil, err
	}
	return mcp.Open(ctx, found[0], mcp.Options{Dir: p.Root(), Logins: p.now().logins()})
}

// Login logs the user in to an MCP server that has a URL.
func (p *Project) Login(ctx context.Context, name string, person LoginPerson) (Login, error) {
	p = p.steady()
	s, err := p.Server(name)
	if err != nil {
		return Login{}, err
	}
	switch {
	case s.URL == "":
		return Login{}, &LoginError{"cannot log in to " + quoted(name) + ": stdio servers do not support login", "if the server needs a key, set it under `env` in config.yml"}
	case s.HasKey():
		return Login{}, &LoginError{"cannot log in to " + quoted(name) + ": config.yml sets its Authorization header", "to log in instead, remove that header first"}
	case stateHome() == "":
		return Login{}, &NoHomeError{}
	}
	if err := p.CheckTrust(ctx); err != nil {
		return Login{}, err
	}
	server, err := p.loginServer(s)
	if err != nil {
		return Login{}, err
	}
	return p.now().logins().Login(ctx, server, person)
}

// LoginError reports why a server does not support login.
type LoginError struct{ What, Advice string }

func (e *LoginError) Error() string { return e.What }

// Hint returns what to do about it.
func (e *LoginError) Hint() string { return e.Advice }

func (p *Project) loginServer(s *Server) (login.Server, error) {
	headers, err := texts(s.Headers, p.now().secrets)
	if err != nil {
		return login.Server{}, err
	}
	server := login.Server{Address: s.URL, Headers: headers, ClientID: s.Login.ClientID, Scopes: s.Login.Scopes, Port: s.Login.Port}
	if s.Login.ClientSecret != "" {
		server.ClientSecret, err = p.now().secrets.Get(s.Login.ClientSecret)
	}
	return server, err
}

// Logout deletes the login for a server, given by its name or URL. It returns false if
// there was none.
func (p *Project) Logout(ctx context.Context, nameOrAddress string) (bool, error) {
	address := nameOrAddress
	if !strings.Contains(address, "://") {
		s, err := p.Server(address)
		if err != nil {
			return false, err
		}
		address = s.URL
	}
	return p.now().logins().Logout(ctx, address)
}
