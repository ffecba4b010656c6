// Package login logs people in to MCP servers, as the authorization part of the Model
// Context Protocol says, which is OAuth 2.1: a browser asks the person, and what it
// brings back is exchanged for a token. It knows nothing of agents; package mcp sends
// the tokens, and the command line opens the browser.
//
// # The contract
//
//  1. A token is kept in a file that only the user can read, one for each address of a
//     server, and is told to [Options.Secret] before anything is done with it.
//  2. A token is made for the resource that the server says it is, which has to contain
//     the address, and is asked for with that resource.
//  3. One process at a time renews a token. Others wait and take what it got: a server
//     takes a token that renews only once.
//  4. Tokens, codes and secrets travel over https, or to this machine. A server
//     elsewhere leads nowhere but to public addresses.
//  5. Nothing waits for a person but Login.
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

// Server is one to log in to.
type Server struct {
	Address string
	Headers map[string]string // of every request to the address
	// ClientID is Hocket's own name at the authorization server, with a secret where
	// it has one. "": Hocket registers itself.
	ClientID, ClientSecret string
	Scopes                 []string // to ask for; none: those that the server names
	Port                   int      // to which the browser comes back; zero: any that is free
}

// Person is who logs in, and what they are told meanwhile.
type Person struct {
	Show   func(address string) // has the address opened in a browser
	Tell   func(note string)    // says what happens
	Pasted <-chan string        // addresses at which a browser elsewhere ended; nil: none come
	Wait   time.Duration        // longest time for all of it
}

// Error says why somebody cannot log in, and what to do.
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

// flow is one login under way.
type flow struct {
	server Server
	person Person
	net    *network
}

// Login has a person log in to a server, and keeps the login. It ends when ctx does.
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

// authorization is the address at which the person is asked.
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
	u, _ := url.Parse(at.meta.AuthorizationEndpoint) // discover has looked at it
	given := u.Query()
	maps.Copy(given, query)
	u.RawQuery = given.Encode()
	return u.String()
}

// client is what the authorization server knows Hocket as.
type client struct {
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Proof  string `json:"proof"` // how it proves who it is: one of the words below
}

// The ways to prove it, from the registry of OAuth, the better first.
const (
	proofNone  = "none"
	proofPost  = "client_secret_post"
	proofBasic = "client_secret_basic"
)

// client gives the client of the settings, or registers one.
func (f *flow) client(ctx context.Context, at *place, back string) (*client, error) {
	if f.server.ClientID != "" {
		return &client{ID: f.server.ClientID, Secret: f.server.ClientSecret, Proof: proof(f.server.ClientSecret != "", at.meta.TokenEndpointAuthMethodsSupported)}, nil
	}
	if at.meta.RegistrationEndpoint == "" {
		return nil, failf("register Hocket there as a native application that comes back to "+returnTo(f.server.Port)+", and write what you get as `login: {client_id: …}` at the server in config.yml",
			"%s takes only clients that it knows", at.issuer())
	}
	made, err := oauthex.RegisterClient(ctx, at.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{back}, ClientName: "Hocket", ApplicationType: "native",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: proof(false, at.meta.TokenEndpointAuthMethodsSupported), Scope: strings.Join(at.scopes, " "),
	}, f.net.client())
	if err != nil {
		return nil, failf("ask there for a client, and write it as `login: {client_id: …}` at the server in config.yml", "%s does not register Hocket: %s", at.issuer(), plain(err.Error()))
	}
	how := made.TokenEndpointAuthMethod
	if made.ClientSecret == "" {
		how = proofNone
	} else if how == "" || how == proofNone {
		how = proofBasic // the default of the registration
	}
	return &client{ID: made.ClientID, Secret: made.ClientSecret, Proof: how}, nil
}

// returnTo names the address to which a browser comes back, for people.
func returnTo(port int) string {
	if port == 0 {
		return "http://127.0.0.1/callback (any port; if it wants one, write it as `login: {port: …}`)"
	}
	return fmt.Sprintf("http://127.0.0.1:%d/callback", port)
}

// proof chooses how a client proves who it is, of what is offered.
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
