package journal

import (
	"context"
	"database/sql"
	"math/bits"
	"slices"
	"sync"

	"github.com/hocket-dev/hocket/internal/database"
)

// commits combines concurrent changes into one transaction: durability is most of the cost
// of a change.
type commits struct {
	mu      sync.Mutex
	waiting []*pending
	busy    bool // a goroutine is committing
	made    int  // so far; only the committing goroutine uses it
}

// makeRoom prepares the database for about three times as many commits as it has made, so
// that a command that makes only a few does not pay for it.
func (s *Store) makeRoom() {
	const first, perCommit = 16, 32 << 10
	s.commits.made++
	if n := s.commits.made; n >= first && n&(n-1) == 0 && bits.TrailingZeros(uint(n))%2 == 0 {
		// Without room, commits are slower. A full disk is for the next commit to report.
		_ = database.MakeRoom(context.Background(), s.write, s.file, int64(n)*perCommit)
	}
}

// pending is a change whose caller waits for it.
type pending struct {
	change func(tx *sql.Tx) error
	alone  func() error // makes the change with one statement; nil: it needs several
	done   chan error
}

// transact makes a change durable: all of it, or nothing if there is an error. If changes
// that share a transaction fail, each is repeated alone, so a change must be repeatable.
func (s *Store) transact(change func(tx *sql.Tx) error) error {
	return s.commit(&pending{change: change})
}

func (s *Store) commit(p *pending) error {
	if s.write == nil {
		return s.reason
	}
	p.done = make(chan error, 1)
	s.commits.mu.Lock()
	s.commits.waiting = append(s.commits.waiting, p)
	first := !s.commits.busy
	s.commits.busy = true
	s.commits.mu.Unlock()
	if first && s.commitWaiting() {
		// Changes that arrived meanwhile are left to another goroutine, so that no caller waits
		// long for the changes of others.
		go func() {
			for s.commitWaiting() {
			}
		}()
	}
	return explain(s.file, <-p.done)
}

// commitWaiting commits all waiting changes, and reports whether more arrived meanwhile.
func (s *Store) commitWaiting() (more bool) {
	s.commits.mu.Lock()
	all := s.commits.waiting
	s.commits.waiting = nil
	s.commits.mu.Unlock()
	s.commitAll(all)
	s.makeRoom()
	s.commits.mu.Lock()
	defer s.commits.mu.Unlock()
	s.commits.busy = len(s.commits.waiting) > 0
	return s.commits.busy
}

func (s *Store) commitAll(all []*pending) {
	if len(all) == 1 && all[0].alone != nil {
		all[0].done <- all[0].alone() // a statement is its own transaction
		return
	}
	s.statements.prepare(s.write)
	err := database.Transact(context.Background(), s.write, func(tx *sql.Tx) error {
		for _, p := range all {
			if err := p.change(tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, p := range all {
		if err != nil && len(all) > 1 {
			p.done <- database.Transact(context.Background(), s.write, p.change)
		} else {
			p.done <- err
		}
	}
}

// statements are the prepared statements that were used before.
type statements struct {
	mu     sync.Mutex
	stmts  map[string]*sql.Stmt
	wanted []string
}

// exec runs a statement within a transaction, or alone if there is none. Within a
// transaction it prepares nothing: that would need a second connection, and there is none.
func (ss *statements) exec(db *sql.DB, tx *sql.Tx, text string, args ...any) (sql.Result, error) {
	ss.mu.Lock()
	stmt := ss.stmts[text]
	if stmt == nil {
		ss.wanted = append(ss.wanted, text)
	}
	ss.mu.Unlock()
	switch {
	case tx != nil && stmt != nil:
		return tx.Stmt(stmt).Exec(args...) //nolint:sqlclosecheck // it ends with the transaction
	case tx != nil:
		return tx.Exec(text, args...)
	case stmt != nil:
		return stmt.Exec(args...)
	}
	ss.prepare(db)
	return db.Exec(text, args...)
}

// prepare prepares what was used since the last time. Only the committing goroutine calls
// it.
func (ss *statements) prepare(db *sql.DB) {
	ss.mu.Lock()
	wanted := ss.wanted
	ss.wanted = nil
	ss.mu.Unlock()
	slices.Sort(wanted)
	for _, text := range slices.Compact(wanted) {
		stmt, err := db.Prepare(text)
		if err != nil {
			continue // the next use returns the error
		}
		ss.mu.Lock()
		if ss.stmts == nil {
			ss.stmts = map[string]*sql.Stmt{}
		}
		ss.stmts[text] = stmt
		ss.mu.Unlock()
	}
}
