package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestAccountsShareOutSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccounts(3, map[string]int{"small": 1}, "")
		var now, most [2]atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				account, of := "large", i%2
				if of == 1 {
					account = "small"
				}
				seat, err := a.Enter(t.Context(), account)
				if err != nil {
					t.Error(err)
					return
				}
				n := now[of].Add(1)
				for m := most[of].Load(); n > m && !most[of].CompareAndSwap(m, n); m = most[of].Load() {
				}
				if now[0].Load()+now[1].Load() > 3 {
					t.Error("more than three at once")
				}
				time.Sleep(time.Second)
				now[of].Add(-1)
				seat.Leave(nil)
			})
		}
		all.Wait()
		if most[1].Load() != 1 || most[0].Load() < 2 {
			t.Errorf("at most %d large and %d small at once", most[0].Load(), most[1].Load())
		}
	})
}

func TestAccountsParkWhatIsUsedUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "accounts.json")
	one, other := NewAccounts(0, nil, file), NewAccounts(0, nil, file)
	until := time.Now().Add(time.Hour)
	seat, err := one.Enter(t.Context(), "anthropic")
	if err != nil {
		t.Fatal(err)
	}
	seat.Leave(&Error{Kind: Quota, Message: "later", Until: until})
	for name, a := range map[string]*Accounts{"this process": one, "another": other, "one that starts": NewAccounts(0, nil, file)} {
		_, err := a.Enter(t.Context(), "anthropic")
		var known *Error
		if !errors.As(err, &known) || known.Kind != Quota || !known.Until.Equal(until) {
			t.Errorf("%s: %v", name, err)
		}
		if seat, err := a.Enter(t.Context(), "openai"); err != nil {
			t.Errorf("%s: another account: %v", name, err)
		} else {
			seat.Leave(nil)
		}
		a.now = func() time.Time { return until.Add(time.Second) }
		if seat, err := a.Enter(t.Context(), "anthropic"); err != nil {
			t.Errorf("%s: after the reset: %v", name, err)
		} else {
			seat.Leave(nil)
		}
	}
	seat, err = NewAccounts(1, nil, file).Enter(t.Context(), "openai")
	if err != nil {
		t.Fatal(err)
	}
	defer seat.Leave(nil)
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700, filepath.Join(filepath.Dir(file), "slots"): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Processes share slots too: an account is the same for all of them.
func TestAccountsCountAllProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	var processes [4]*Accounts
	for i := range processes {
		processes[i] = NewAccounts(3, map[string]int{"small": 2}, file)
	}
	var small, all, most, mostOfAll atomic.Int32
	raise := func(n int32, most *atomic.Int32) {
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
	}
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			account := []string{"small#1", "other"}[i/4%2]
			seat, err := processes[i%4].Enter(t.Context(), account)
			if err != nil {
				t.Error(err)
				return
			}
			raise(all.Add(1), &mostOfAll)
			if account == "small#1" {
				raise(small.Add(1), &most)
				small.Add(-1)
			}
			all.Add(-1)
			seat.Leave(nil)
		})
	}
	group.Wait()
	if most.Load() > 2 || mostOfAll.Load() > 3 {
		t.Errorf("%d of one account at once, %d of all", most.Load(), mostOfAll.Load())
	}
}

// Waiting for a slot that another process holds ends with the context, and does not wait
// for a different account with the same name.
func TestAccountsOfOneName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	one, other := NewAccounts(0, map[string]int{"work": 1}, file), NewAccounts(0, map[string]int{"work": 1}, file)
	until := time.Now().Add(time.Hour)
	seat, err := one.Enter(t.Context(), "work#a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	var known *Error
	if _, err := other.Enter(ctx, "work#a"); !errors.As(err, &known) || known.Kind != TimedOut {
		t.Errorf("a slot that is held: %v", err)
	}
	second, err := other.Enter(t.Context(), "work#b")
	if err != nil {
		t.Fatal(err)
	}
	second.Leave(nil)
	seat.Leave(&Error{Kind: Quota, Until: until})
	if third, err := other.Enter(t.Context(), "work#b"); err != nil {
		t.Errorf("the account of another key: %v", err)
	} else {
		third.Leave(nil)
	}
	if _, err := other.Enter(t.Context(), "work#a"); !errors.As(err, &known) || known.Kind != Quota || !strings.HasPrefix(known.Message, "the quota of work is used up") {
		t.Errorf("the account that is used up: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(filepath.Dir(file), "slots"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A task that waits for a person gives up its slot, and gets it back afterwards.
func TestASeatIsFreeWhilePeopleThink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAccounts(1, map[string]int{"x": 1}, "")
		seat, err := a.Enter(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range 2 { // both calls of one answer ask
			group.Go(func() { seat.Rest(t.Context(), func() { time.Sleep(time.Duration(i+1) * time.Hour) }) })
		}
		synctest.Wait()
		other, err := a.Enter(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		done := make(chan struct{})
		go func() { group.Wait(); close(done) }()
		synctest.Wait()
		select {
		case <-done:
			t.Error("two have one seat")
		default:
		}
		other.Leave(nil)
		<-done
		seat.Leave(nil)
		seat.Rest(t.Context(), func() {}) // has no effect
	})
}

func TestAccountsWithoutAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	if err := os.WriteFile(file, []byte("{not JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := NewAccounts(1, nil, file)
	seat, err := a.Enter(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stop"))
	if _, err := a.Enter(ctx, "x"); err == nil {
		t.Error("entered without a slot")
	}
	seat.Leave(&Error{Kind: Quota, Until: time.Now().Add(-time.Hour)})
	if _, err := a.Enter(t.Context(), "x"); err != nil {
		t.Errorf("a quota that was reset long ago: %v", err)
	}
}

// If state cannot be stored or locked, or there is no limit, attempts still run.
func TestAccountsWithoutALimit(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*Accounts{
		"no limit": NewAccounts(0, map[string]int{"x": 0}, ""), "limits of others": NewAccounts(0, map[string]int{"y": 1}, ""), "no folder": NewAccounts(3, map[string]int{"x": 3}, filepath.Join(blocked, "accounts.json")),
	} {
		for range 3 {
			if _, err := a.Enter(t.Context(), "x"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	a := NewAccounts(0, nil, "")
	seat, err := a.Enter(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	seat.Leave(&Error{Kind: Quota, Until: time.Now().Add(time.Hour)})
	if _, err := a.Enter(t.Context(), "x"); err == nil {
		t.Error("without a file a quota is forgotten")
	}
}

// Only times in the future are kept, and the latest known one.
func TestAccountsKeepTheLatest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "accounts.json")
	a := NewAccounts(0, nil, file)
	now := time.Now()
	a.park("past", now.Add(-time.Hour))
	a.park("x", now.Add(2*time.Hour))
	a.park("x", now.Add(time.Hour)) // does not replace the later one
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "past") {
		t.Errorf("%s, %v", data, err)
	}
	if until := NewAccounts(0, nil, file).parkedUntil("x"); !until.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("until %v", until)
	}
	// Another process that did not know writes an earlier time.
	other := NewAccounts(0, nil, filepath.Join(t.TempDir(), "other.json"))
	other.park("x", now.Add(time.Hour))
	if err := os.Rename(other.file, file); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, now, now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if until := a.parkedUntil("x"); !until.Equal(now.Add(2 * time.Hour)) {
		t.Errorf("until %v", until)
	}
}

// A quota is that of an account. Agents without one have nothing in common.
func TestNoAccountIsNotUsedUp(t *testing.T) {
	a := NewAccounts(0, nil, "")
	seat, err := a.Enter(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	seat.Leave(&Error{Kind: Quota, Message: "later", Until: time.Now().Add(time.Hour)})
	if _, err := a.Enter(t.Context(), ""); err != nil {
		t.Errorf("another agent: %v", err)
	}
}
