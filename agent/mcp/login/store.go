package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Options configure how logins are stored.
type Options struct {
	Dir    string                 // where they are stored
	Secret func(values ...string) // called with every secret value before it is used; may be nil
}

// Store stores logins. It is safe for concurrent use, even by several processes.
type Store struct{ o Options }

// Open returns the logins in a directory, which need not exist.
func Open(o Options) *Store { return &Store{o} }

// kept is a login as it is stored.
type kept struct {
	Address   string    `json:"address"`
	Resource  string    `json:"resource"`
	Issuer    string    `json:"issuer"`
	TokenURL  string    `json:"token_endpoint"`
	RevokeURL string    `json:"revocation_endpoint,omitempty"`
	Client    client    `json:"client"`
	Scopes    []string  `json:"scopes,omitempty"`
	Since     time.Time `json:"since"`
	Access    string    `json:"access_token,omitempty"` // "" here and below: it has expired
	Refresh   string    `json:"refresh_token,omitempty"`
	Expires   time.Time `json:"expires,omitzero"` // zero: not known
}

// Login describes a login, without its secrets.
type Login struct {
	Issuer  string    // where it was made
	Scopes  []string  // what it allows, if that was said
	Since   time.Time // when it was made
	Expires time.Time // when it must be renewed; zero: unknown
	Renews  bool      // it is renewed automatically
	Ended   bool      // it is no longer valid
}

func (k *kept) login() Login {
	ended := k.Access == "" || k.Refresh == "" && k.stale()
	return Login{Issuer: k.Issuer, Scopes: k.Scopes, Since: k.Since, Expires: k.Expires, Renews: k.Refresh != "", Ended: ended}
}

// early is how long before its expiry a token is renewed, because a request takes time.
const early = 30 * time.Second

func (k *kept) stale() bool { return !k.Expires.IsZero() && time.Now().After(k.Expires.Add(-early)) }

// EndedError reports that a login is no longer valid: a person has to log in again.
type EndedError struct{ Reason string }

func (e *EndedError) Error() string { return "the login has ended: " + e.Reason }

// Find returns what is known about the login at an address; false if there is none.
func (s *Store) Find(address string) (Login, bool, error) {
	k, err := s.read(address)
	if k == nil || err != nil {
		return Login{}, false, err
	}
	return k.login(), true, nil
}

// Token returns the token for an address, renewed if it has expired. It is "" if nobody has
// logged in. The error is an [EndedError] if a person has to log in.
func (s *Store) Token(ctx context.Context, address string) (string, error) {
	k, err := s.read(address)
	switch {
	case k == nil || err != nil:
		return "", err
	case k.Access != "" && !k.stale():
		return k.Access, nil
	}
	return s.Renew(ctx, address, k.Access)
}

// Renew replaces a token that has expired, or that the server rejected. If another process
// has renewed it meanwhile, that token is returned.
func (s *Store) Renew(ctx context.Context, address, instead string) (string, error) {
	unlock, err := s.lock(ctx, address)
	if err != nil {
		return "", err
	}
	defer unlock()
	k, err := s.read(address)
	switch {
	case k == nil || err != nil:
		return "", err
	case k.Access != "" && k.Access != instead && !k.stale():
		return k.Access, nil
	case k.Refresh == "":
		return "", &EndedError{"it has expired and cannot be renewed"}
	}
	net, err := reach(ctx, k.Address)
	if err == nil {
		err = net.check("token_endpoint", k.TokenURL)
	}
	if err != nil {
		return "", err
	}
	var denied *deniedError
	err = k.renew(ctx, net)
	switch {
	case errors.As(err, &denied):
		k.Access, k.Refresh = "", ""
		return "", errors.Join(&EndedError{denied.text}, s.write(k))
	case err != nil:
		return "", fmt.Errorf("the login cannot be renewed: %w", err)
	}
	s.hide(k)
	return k.Access, s.write(k)
}

// Logout deletes the login at an address, and revokes it at the authorization server; false
// if there was none. It is deleted even if there is an error.
func (s *Store) Logout(ctx context.Context, address string) (bool, error) {
	unlock, err := s.lock(ctx, address)
	if err != nil {
		return false, err
	}
	defer unlock()
	k, err := s.read(address)
	var broken *BrokenError
	if k == nil && !errors.As(err, &broken) {
		return false, err
	}
	if err := os.Remove(s.file(address)); err != nil || k == nil {
		return true, err
	}
	net, err := reach(ctx, k.Address)
	if err == nil {
		err = net.check("revocation_endpoint", k.RevokeURL)
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		err = k.revoke(ctx, net)
	}
	if err != nil {
		return true, fmt.Errorf("cannot revoke the login at %s: %w", k.Issuer, err)
	}
	return true, nil
}

// Hide reports the secrets of all logins in advance: a program may print what it finds in
// their files.
func (s *Store) Hide(addresses ...string) {
	for _, a := range addresses {
		_, _ = s.read(a) // an unreadable one cannot be reported
	}
}

func (s *Store) hide(k *kept) {
	if s.o.Secret != nil {
		s.o.Secret(k.Access, k.Refresh, k.Client.Secret)
	}
}

// BrokenError reports that the file of a login is invalid.
type BrokenError struct{ File string }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("the login in %s is invalid; %s", e.File, e.Hint())
}

// Hint says what to do.
func (e *BrokenError) Hint() string { return "log out and log in again" }

// read reads the login at an address; nil if there is none.
func (s *Store) read(address string) (*kept, error) {
	data, err := os.ReadFile(s.file(address))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	k := &kept{}
	if err := json.Unmarshal(data, k); err != nil || k.Address != address || !covers(k.Resource, address) {
		return nil, &BrokenError{s.file(address)}
	}
	s.hide(k)
	return k, nil
}

// write stores a login. The caller holds the lock.
func (s *Store) write(k *kept) error {
	data, err := json.Marshal(k)
	if err == nil {
		err = wholefile.Write(s.file(k.Address), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("login: %w", err)
	}
	return nil
}

// file returns where the login at an address is stored.
func (s *Store) file(address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(s.o.Dir, hex.EncodeToString(sum[:12])+".json")
}

// lock excludes other processes from the login at an address. Renewing a token may take
// time, so they wait as long as their context allows.
func (s *Store) lock(ctx context.Context, address string) (unlock func(), err error) {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	for {
		l, err := filelock.Wait(s.file(address)+".lock", 200*time.Millisecond)
		switch {
		case err == nil:
			return func() { _ = l.Release() }, nil // at worst a harmless file remains
		case !errors.Is(err, filelock.ErrLocked):
			return nil, fmt.Errorf("login: %w", err)
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
	}
}
