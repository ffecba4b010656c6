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

// Accounts enforces the limits of providers: how many attempts may run at once, and none
// while a quota is used up. It is safe for concurrent use.
//
// Quotas are stored in a file, so that every process of this user avoids an account that
// another process has used up. Slots are locked files next to it, so that the limits apply
// across processes.
//
// An account has a name, which may be followed by "#" and its address and key, to
// distinguish accounts with the same name in different projects. People see and write only
// the name.
type Accounts struct {
	all  *slots            // shared by all attempts; nil: no limit
	each map[string]*slots // by account name
	file string            // "": do not share with other processes
	now  func() time.Time

	mu     sync.Mutex
	parked map[string]time.Time
	read   time.Time // modification time of the file that parked was read from
}

// NewAccounts limits the number of concurrent attempts, in total and per account. Zero or a
// missing account means no limit. Quotas are stored in file.
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

// accountName returns the part of an account that people see.
func accountName(account string) string {
	name, _, _ := strings.Cut(account, "#")
	return name
}

// Enter waits until an attempt may use an account. If the quota of the account is used up,
// it returns an error with the time of the reset instead of waiting, because the run can
// wait without holding resources.
func (a *Accounts) Enter(ctx context.Context, account string) (*Seat, error) {
	release, err := a.seat(ctx, account)
	if err != nil {
		return nil, err
	}
	if until := a.parkedUntil(account); !until.IsZero() { // the quota may have run out while it waited
		release()
		return nil, &Error{
			Kind: Quota, Until: until,
			Message: fmt.Sprintf("the quota of %s is used up until %s", accountName(account), until.Local().Format(time.DateTime)),
		}
	}
	return &Seat{accounts: a, account: account, release: release}, nil
}

// Seat is a slot of an account that an attempt holds. It is safe for concurrent use.
type Seat struct {
	accounts *Accounts
	account  string

	mu      sync.Mutex
	resting int // how many of its holders wait for a person
	left    bool
	release func()
}

// Leave releases the seat. If err reports a used-up quota, it applies to all later
// attempts.
func (s *Seat) Leave(failed error) {
	var known *Error
	if errors.As(failed, &known) && known.Kind == Quota && known.Until.After(s.accounts.now()) && s.account != "" { // agents without an account have nothing in common
		s.accounts.park(s.account, known.Until)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stand()
	s.left = true
}

// stand releases the slot if it is held.
func (s *Seat) stand() {
	s.release()
	s.release = func() {}
}

// Rest calls a function that does not use the account and may block for long, such as a
// question to a person. Others may use the slot meanwhile.
func (s *Seat) Rest(ctx context.Context, wait func()) {
	s.mu.Lock()
	s.resting++
	s.stand()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.resting--; s.resting > 0 || s.left {
			return
		}
		if release, err := s.accounts.seat(ctx, s.account); err == nil { // otherwise the attempt is ending
			s.release = release
		}
	}()
	wait()
}

// seat takes a slot of the account and then one of the total, so that an attempt that waits
// for its account does not block others.
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

// parkedUntil returns when the quota of an account is reset; zero means that it is not used
// up.
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

// refresh reads what other processes have learned. An unreadable file is ignored: the
// provider will report the quota again.
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

// save writes the resets that are still in the future. If two processes save at once, one
// may lose what the other wrote and learn it again from the provider.
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
	_ = wholefile.Write(a.file, data, 0o600) // otherwise it is learned again from the provider
}
