package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Accounts share out what providers allow: how many attempts at once, and none
// until a quota is reset. They are safe for concurrent use.
//
// What is known of quotas is kept in a file, so that every process of this user
// keeps away from an account that another one has used up. Slots are files beside it
// that are locked, so that the attempts of all processes are counted.
//
// An account has a name, and behind a "#" perhaps what tells it from others of that
// name in other projects: its address and key. People see and write names.
type Accounts struct {
	all  *slots            // for every attempt; nil: any number
	each map[string]*slots // the same by the name of the account
	file string            // "": other processes are not told
	now  func() time.Time

	mu     sync.Mutex
	parked map[string]time.Time
	read   time.Time // when the file was changed that parked is from
}

// NewAccounts allows so many attempts in all and for each account; zero, or an
// account that is not there: any number. File keeps what is known of quotas.
func NewAccounts(all int, each map[string]int, file string) *Accounts {
	a := &Accounts{each: map[string]*slots{}, file: file, now: time.Now, parked: map[string]time.Time{}}
	if all > 0 {
		a.all = newSlots(all, file)
	}
	for name, n := range each {
		if n > 0 {
			a.each[name] = newSlots(n, file)
		}
	}
	return a
}

// accountName is what people call an account.
func accountName(account string) string {
	name, _, _ := strings.Cut(account, "#")
	return name
}

// Enter waits until an attempt may use an account. For one whose quota is used up
// the error says until when; it is not waited for here, because the run can do
// that better.
func (a *Accounts) Enter(ctx context.Context, account string) (*Seat, error) {
	release, err := a.seat(ctx, account)
	if err != nil {
		return nil, err
	}
	if until := a.parkedUntil(account); !until.IsZero() { // perhaps since it waits
		release()
		return nil, &Error{
			Kind: Quota, Until: until,
			Message: fmt.Sprintf("the quota of %s is used up until %s", accountName(account), until.Local().Format(time.DateTime)),
		}
	}
	return &Seat{accounts: a, account: account, release: release}, nil
}

// Seat is a place at an account. It is safe for concurrent use.
type Seat struct {
	accounts *Accounts
	account  string

	mu      sync.Mutex
	resting int // of those who have it, how many wait for a person
	left    bool
	release func()
}

// Leave gives the seat back. What the error of the attempt says of the quota holds for
// all.
func (s *Seat) Leave(failed error) {
	var known *Error
	if errors.As(failed, &known) && known.Kind == Quota && known.Until.After(s.accounts.now()) {
		s.accounts.park(s.account, known.Until)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stand()
	s.left = true
}

// stand frees the seat, if it is taken.
func (s *Seat) stand() {
	s.release()
	s.release = func() {}
}

// Rest waits for something that has nothing to do with the account and may take long,
// as people do. Others may sit here meanwhile.
func (s *Seat) Rest(ctx context.Context, wait func()) {
	s.mu.Lock()
	if s.resting++; s.resting == 1 {
		s.stand()
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.resting--; s.resting > 0 || s.left {
			return
		}
		if release, err := s.accounts.seat(ctx, s.account); err == nil { // else the attempt is at its end
			s.release = release
		}
	}()
	wait()
}

// seat takes a slot of the account, then one of all: who waits for an account
// keeps nobody else out.
func (a *Accounts) seat(ctx context.Context, account string) (release func(), err error) {
	mine, err := a.each[accountName(account)].take(ctx, account)
	if err != nil {
		return nil, Interrupted(ctx)
	}
	general, err := a.all.take(ctx, "")
	if err != nil {
		mine()
		return nil, Interrupted(ctx)
	}
	return func() { general(); mine() }, nil
}

// parkedUntil is when the quota of an account is reset; zero: it is not used up.
func (a *Accounts) parkedUntil(account string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	if until := a.parked[account]; until.After(a.now()) {
		return until
	}
	return time.Time{}
}

func (a *Accounts) park(account string, until time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	if until.After(a.parked[account]) {
		a.parked[account] = until.UTC().Round(0)
		a.save()
	}
}

// refresh reads what other processes have learned. A file that cannot be read says
// nothing: the provider will.
func (a *Accounts) refresh() {
	if a.file == "" {
		return
	}
	info, err := os.Stat(a.file)
	if err != nil || info.ModTime().Equal(a.read) {
		return
	}
	data, err := os.ReadFile(a.file)
	known := map[string]time.Time{}
	if err != nil || json.Unmarshal(data, &known) != nil {
		return
	}
	a.read = info.ModTime()
	for account, until := range known {
		if until.After(a.parked[account]) {
			a.parked[account] = until
		}
	}
}

// save keeps what is still to come. Two processes that save at once may forget what
// one of them knew, and learn it again from the provider.
func (a *Accounts) save() {
	if a.file == "" {
		return
	}
	still := map[string]time.Time{}
	for account, until := range a.parked {
		if until.After(a.now()) {
			still[account] = until
		}
	}
	data, err := json.Marshal(still)
	if err != nil || os.MkdirAll(filepath.Dir(a.file), 0o700) != nil {
		return
	}
	_ = wholefile.Write(a.file, data, 0o600) // else it is learned again
}
