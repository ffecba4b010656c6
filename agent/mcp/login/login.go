// Package login logs people in to MCP servers as the Model Context Protocol specifies, with
// OAuth 2.1: a browser asks the person, and the code that it returns is exchanged for a
// token. It is independent of agents; package mcp sends the tokens, and the command line
// opens the browser.
//
// # The contract
//
//  1. A token is stored in a file that only the user can read, one for each address of a
//     server, and is passed to [Options.Secret] before it is used.
//  2. A token is requested for the resource that the server names, which must contain the
//     address.
//  3. One process at a time renews a token. Others wait and use the result: a server
//     accepts a refresh token only once.
//  4. Tokens, codes and secrets are sent over https, or to this machine. A remote server
//     can refer only to public addresses.
//  5. Only Login waits for a person.
package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Server is a server to log in to.
type Server struct {
	Address string
	Headers map[string]string // sent with every request to the address
	// ClientID is Hocket's id at the authorization server, with a secret if it has one. If
	// it is "", Hocket registers itself.
	ClientID, ClientSecret string
	Scopes                 []string // to request; none: those that the server names
	Port                   int      // to which the browser returns; zero: any free one
}

// Person is the person who logs in, and what they see during the login.
type Person struct {
	Show   func(address string) // opens the address in a browser
	Tell   func(note string)    // reports progress
	Pasted <-chan string        // addresses at which a browser elsewhere ended; nil: none
	Wait   time.Duration        // time limit for the whole login
}

// Error reports why a login failed, and what to do.
type Error struct{ Problem, Advice string }

func (e *Error) Error() string {
	if e.Advice == "" {
		return e.Problem
	}
	return e.Problem + "; " + e.Advice
}

// Hint says what to do.
func (e *Error) Hint() string { return e.Advice }

func failf(advice, format string, args ...any) *Error {
	return &Error{Problem: fmt.Sprintf(format, args...), Advice: advice}
}

// flow is one login in progress.
type flow struct {
	server Server
	person Person
	net    *network
}

// Login logs a person in to a server, and stores the login. It ends when ctx does.
func (s *Store) Login(ctx context.Context, server Server, person Person) (Login, error) {
	net, err := reach(ctx, server.Address)
	if err != nil {
		return Login{}, err
	}
	f := &flow{server, person, net}
	ctx, cancel := context.WithTimeout(ctx, person.Wait)
	defer cancel()
	k, err := f.run(ctx)
	if err != nil {
		return Login{}, err
	}
	s.hide(k)
	unlock, err := s.lock(ctx, k.Address)
	if err != nil {
		return Login{}, err
	}
	defer unlock()
	return k.login(), s.write(k)
}

func (f *flow) run(ctx context.Context) (*kept, error) {
	at, err := f.discover(ctx)
	if err != nil {
		return nil, err
	}
	back, err := listen(f.server.Port, at.issuer(), at.meta.AuthorizationResponseIssParameterSupported)
	if err != nil {
		return nil, err
	}
	defer back.close()
	who, err := f.client(ctx, at, back.address)
	if err != nil {
		return nil, err
	}
	verifier := rand.Text() + rand.Text()
	f.person.Show(authorization(at, who, back, verifier))
	code, err := back.wait(ctx, f.person)
	if err != nil {
		return nil, err
	}
	k := &kept{
		Address: f.server.Address, Resource: at.resource, Issuer: at.issuer(), Since: time.Now().Round(time.Second),
		TokenURL: at.meta.TokenEndpoint, RevokeURL: at.meta.RevocationEndpoint, Client: *who, Scopes: at.scopes,
	}
	err = k.ask(ctx, f.net, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back.address}, "code_verifier": {verifier},
	})
	if err != nil {
		return nil, fmt.Errorf("the login cannot be completed: %w", err)
	}
	return k, nil
}

// authorization returns the address at which the person is asked.
func authorization(at *place, who *client, back *callback, verifier string) string {
	challenge := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {who.ID}, "redirect_uri": {back.address}, "state": {back.state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		"resource": {at.resource},
	}
	if len(at.scopes) > 0 {
		query.Set("scope", strings.Join(at.scopes, " "))
	}
	u, _ := url.Parse(at.meta.AuthorizationEndpoint) // validated by discover
	given := u.Query()
	maps.Copy(given, query)
	u.RawQuery = given.Encode()
	return u.String()
}

// client is Hocket's registration at the authorization server.
type client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Proof  string `json:"proof"` // how it authenticates: one of the methods below
}

// The authentication methods, as registered for OAuth, in order of preference.
const (
	proofNone  = "none"
	proofPost  = "client_secret_post"
	proofBasic = "client_secret_basic"
)

// client returns the client of the settings, or registers one.
func (f *flow) client(ctx context.Context, at *place, back string) (*client, error) {
	if f.server.ClientID != "" {
		return &client{ID: f.server.ClientID, Secret: f.server.ClientSecret, Proof: proof(f.server.ClientSecret != "", at.meta.TokenEndpointAuthMethodsSupported)}, nil
	}
	if at.meta.RegistrationEndpoint == "" {
		return nil, failf("register Hocket there as a native application with the redirect URL "+returnTo(f.server.Port)+", and set its id as `login: {client_id: …}` of the server in config.yml",
			"%s accepts only registered clients", at.issuer())
	}
	made, err := oauthex.RegisterClient(ctx, at.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{back}, ClientName: "Hocket", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: proof(false, at.meta.TokenEndpointAuthMethodsSupported), Scope: strings.Join(at.scopes, " "),
	}, f.net.client())
	if err != nil {
		return nil, failf("request a client there, and set its id as `login: {client_id: …}` of the server in config.yml", "%s did not register Hocket: %s", at.issuer(), plain(err.Error()))
	}
	how := made.TokenEndpointAuthMethod
	if made.ClientSecret == "" {
		how = proofNone
	} else if how == "" || how == proofNone {
		how = proofBasic // the default of the registration
	}
	return &client{ID: made.ClientID, Secret: made.ClientSecret, Proof: how}, nil
}

// returnTo returns the redirect URL for people.
func returnTo(port int) string {
	if port == 0 {
		return "http://127.0.0.1/callback (any port; if it requires a specific one, set `login: {port: …}`)"
	}
	return fmt.Sprintf("http://127.0.0.1:%d/callback", port)
}

// proof chooses one of the offered authentication methods.
func proof(secret bool, offered []string) string {
	all := []string{proofNone, proofPost, proofBasic}
	if secret {
		all = all[1:]
	}
	for _, how := range all {
		if slices.Contains(offered, how) {
			return how
		}
	}
	if secret {
		return proofBasic
	}
	return proofNone
}
