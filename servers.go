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

// LoginPerson is who logs in, and how they see the address to open.
type LoginPerson = login.Person

// LoginState is what is known about the login at a server.
type LoginState string

// The states of a login.
const (
	LoginNone  LoginState = "none"  // the server is a program
	LoginKey   LoginState = "key"   // the settings have a key instead
	LoginNo    LoginState = "no"    // nobody has logged in; the server may not want that
	LoginYes   LoginState = "yes"   // somebody has
	LoginEnded LoginState = "ended" // somebody had
)

// Servers are the MCP servers of the project.
func (p *Project) Servers() []Server { return p.Config().Servers }

// UnknownServerError says that the project has no MCP server of a name.
type UnknownServerError struct {
	Name  string
	Names []string // that it has
}

func (e *UnknownServerError) Error() string { return "the project has no MCP server " + quoted(e.Name) }

// Hint names the nearest server.
func (e *UnknownServerError) Hint() string {
	switch near := workflow.DidYouMean(e.Name, e.Names); {
	case near != "":
		return near
	case len(e.Names) > 0:
		return "it has " + strings.Join(e.Names, ", ")
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

// LoginState says whether the user is logged in to a server.
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

// OpenServer starts or reaches an MCP server of the project. Close the session
// after use.
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

// Login logs the user in to an MCP server that has an address.
func (p *Project) Login(ctx context.Context, name string, person LoginPerson) (Login, error) {
	p = p.steady()
	s, err := p.Server(name)
	if err != nil {
		return Login{}, err
	}
	switch {
	case s.URL == "":
		return Login{}, &LoginError{quoted(name) + " is a program; stdio servers do not support login", "if it wants a key, give it one under `env` in config.yml"}
	case s.HasKey():
		return Login{}, &LoginError{"config.yml gives " + quoted(name) + " an Authorization header", "remove that header first, if you want to log in instead"}
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

// LoginError says why nobody can log in to a server.
type LoginError struct{ What, Advice string }

func (e *LoginError) Error() string { return e.What }

// Hint says what to do about it.
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

// Logout forgets the login at a server, given by its name or its address. It
// returns false if there was none.
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
