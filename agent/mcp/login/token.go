package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ask requests tokens from the authorization server, for the resource of the login, and
// stores them in it.
func (k *kept) ask(ctx context.Context, net *network, form url.Values) error {
	form.Set("resource", k.Resource)
	body, status, err := k.post(ctx, net, k.TokenURL, form)
	if err != nil {
		return err
	}
	return k.take(status, body)
}

// post sends a form to the authorization server, with the client's credentials.
func (k *kept) post(ctx context.Context, net *network, address string, form url.Values) (body []byte, status int, err error) {
	form.Set("client_id", k.Client.ID)
	if k.Client.Proof == proofPost {
		form.Set("client_secret", k.Client.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, 0, errors.New(plain(err.Error()))
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if k.Client.Proof == proofBasic {
		req.SetBasicAuth(url.QueryEscape(k.Client.ID), url.QueryEscape(k.Client.Secret))
	}
	resp, err := net.client().Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot reach %s: %s", k.Issuer, plain(Cause(err).Error()))
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("incomplete response from %s: %s", k.Issuer, plain(Cause(err).Error()))
	}
	return body, resp.StatusCode, nil
}

// tokens is the response of a token endpoint.
type tokens struct {
	Access    string  `json:"access_token"`
	Type      string  `json:"token_type"`
	Expires   seconds `json:"expires_in"`
	Refresh   string  `json:"refresh_token"`
	Scope     string  `json:"scope"`
	Error     string  `json:"error"`
	ErrorText string  `json:"error_description"`
}

// seconds is a number, which some servers send as a string.
type seconds float64

func (s *seconds) UnmarshalJSON(data []byte) error {
	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	f, err := n.Float64()
	*s = seconds(f)
	return err
}

// deniedError is a refusal: a retry does not help.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

// take stores the tokens of a response in a login.
func (k *kept) take(status int, body []byte) error {
	var got tokens
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%s returned %d instead of a token", k.Issuer, status)
	}
	switch {
	case got.Error != "" && status < 500:
		return &deniedError{refusal(k.Issuer, got.Error, got.ErrorText).Error()}
	case status/100 != 2 || got.Access == "":
		return fmt.Errorf("%s returned %d instead of a token", k.Issuer, status)
	case got.Type != "" && !strings.EqualFold(got.Type, "bearer"):
		return fmt.Errorf("%s returned a token of type %q, which Hocket does not support", k.Issuer, plain(got.Type))
	case !sendable(got.Access):
		return fmt.Errorf("%s returned an invalid token", k.Issuer)
	}
	k.Access, k.Expires = got.Access, time.Time{}
	if got.Expires > 0 {
		life := min(float64(got.Expires), math.MaxInt32)
		k.Expires = time.Now().Add(time.Duration(life * float64(time.Second))).Round(time.Second)
	}
	if got.Refresh != "" { // otherwise the existing one stays valid
		k.Refresh = got.Refresh
	}
	if got.Scope != "" {
		k.Scopes = strings.Fields(got.Scope)
	}
	return nil
}

// sendable reports whether a token can be sent in a header.
func sendable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// renew requests a replacement for the current token. The request invalidates the old
// refresh token, so when the context is cancelled, the response still gets a moment to
// arrive.
func (k *kept) renew(ctx context.Context, net *network) error {
	const moment = 3 * time.Second
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(moment):
			cancel()
		case <-asking.Done():
		}
	})()
	return k.ask(asking, net, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {k.Refresh}})
}

// revoke tells the authorization server that the login is no longer used. Otherwise it
// expires in time.
func (k *kept) revoke(ctx context.Context, net *network) error {
	if k.RevokeURL == "" {
		return nil
	}
	for kind, token := range map[string]string{"refresh_token": k.Refresh, "access_token": k.Access} {
		if token == "" {
			continue
		}
		_, status, err := k.post(ctx, net, k.RevokeURL, url.Values{"token": {token}, "token_type_hint": {kind}})
		if err != nil {
			return err
		}
		if status/100 != 2 {
			return fmt.Errorf("%s returned %d", k.Issuer, status)
		}
	}
	return nil
}

// Cause returns the innermost wrapped error: what really happened, without the context of
// the outer errors.
func Cause(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // each of them is looked at
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 0 {
				err = all[len(all)-1]
				continue
			}
		}
		return err
	}
}
