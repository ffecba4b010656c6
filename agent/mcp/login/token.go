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

// ask asks the authorization server for tokens, for the resource of the login, and
// puts them into it.
func (k *kept) ask(ctx context.Context, net *network, form url.Values) error {
	form.Set("resource", k.Resource)
	body, status, err := k.post(ctx, net, k.TokenURL, form)
	if err != nil {
		return err
	}
	return k.take(status, body)
}

// post sends a form to the authorization server, from a client that says who it is.
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
		return nil, 0, fmt.Errorf("%s cannot be reached: %s", k.Issuer, plain(Cause(err).Error()))
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("the answer of %s broke off: %s", k.Issuer, plain(Cause(err).Error()))
	}
	return body, resp.StatusCode, nil
}

// tokens is what a token endpoint answers.
type tokens struct {
	Access    string  `json:"access_token"`
	Type      string  `json:"token_type"`
	Expires   seconds `json:"expires_in"`
	Refresh   string  `json:"refresh_token"`
	Scope     string  `json:"scope"`
	Error     string  `json:"error"`
	ErrorText string  `json:"error_description"`
}

// seconds are written as a number, by some as text.
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

// deniedError is an answer that says no: asking again changes nothing.
type deniedError struct{ text string }

func (e *deniedError) Error() string { return e.text }

// take puts the tokens of an answer into a login.
func (k *kept) take(status int, body []byte) error {
	var got tokens
	if err := json.Unmarshal(body, &got); err != nil {
		return fmt.Errorf("%s answered %d, and no token", k.Issuer, status)
	}
	switch {
	case got.Error != "" && status < 500:
		return &deniedError{refusal(k.Issuer, got.Error, got.ErrorText).Error()}
	case status/100 != 2 || got.Access == "":
		return fmt.Errorf("%s answered %d, and no token", k.Issuer, status)
	case got.Type != "" && !strings.EqualFold(got.Type, "bearer"):
		return fmt.Errorf("%s gave a token of the kind %q, which Hocket cannot use", k.Issuer, plain(got.Type))
	case !sendable(got.Access):
		return fmt.Errorf("%s gave a token that cannot be sent", k.Issuer)
	}
	k.Access, k.Expires = got.Access, time.Time{}
	if got.Expires > 0 {
		life := min(float64(got.Expires), math.MaxInt32)
		k.Expires = time.Now().Add(time.Duration(life * float64(time.Second))).Round(time.Second)
	}
	if got.Refresh != "" { // else the one that there is stays good
		k.Refresh = got.Refresh
	}
	if got.Scope != "" {
		k.Scopes = strings.Fields(got.Scope)
	}
	return nil
}

// sendable says whether a token can stand in a header.
func sendable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// renew asks for another token in place of the one that there is. Once it was asked for,
// the old way to ask is used up: who gives up meanwhile leaves it a moment to arrive.
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

// revoke tells the authorization server that nobody uses the login any more. One that
// cannot be told so forgets it in time.
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
			return fmt.Errorf("%s answered %d", k.Issuer, status)
		}
	}
	return nil
}

// Cause is the innermost of errors that wrap each other: what really happened, without
// the words of those who passed it on.
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
