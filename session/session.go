// Package session stores conversations with agents, so that they can be continued: one JSON
// file for each, private to the user. It imports package agent. The root package imports it,
// and passes it to agent/staff.
//
// # Guarantees
//
//  1. A file is replaced atomically, and is on disk when a call returns: a reader, or a
//     restart after a crash, sees the conversation before or after the change, never a part.
//  2. A writer locks a session, across processes, and reads it again: no update is lost.
//  3. An id from outside is only compared with existing ids. It never becomes a path.
//  4. A file that cannot be read does not hide the others.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// version is the version of the file format. A file without a number has the first version.
const version = 1

// Session is a conversation with an agent.
type Session struct {
	Version  int       `json:"version"`
	ID       string    `json:"session_id"`
	Agent    string    `json:"agent_name"`
	Executor string    `json:"agent_cli"`
	Created  time.Time `json:"created_at"`
	Changed  time.Time `json:"updated_at"`
	// Native is the executor's own id of the conversation. If "", it has none, and gets
	// the messages.
	Native string `json:"native_id,omitempty"`
	// NativeDir is the directory in which the executor worked last. If "", it is not known.
	NativeDir string `json:"native_dir,omitempty"`
	// NativeSpent is the usage that the executor reports for its own conversation. If nil,
	// it is the same as Spent.
	NativeSpent *agent.Usage    `json:"native_spent,omitempty"`
	Spent       agent.Usage     `json:"spent"` // by all executors
	Messages    []agent.Message `json:"messages"`
}

// Conversation returns what an executor needs to continue the session itself, nil if it
// needs the messages.
func (s *Session) Conversation(executor string) *agent.Conversation {
	if s.Native == "" || s.Executor != executor {
		return nil
	}
	spent := s.Spent
	if s.NativeSpent != nil {
		spent = *s.NativeSpent
	}
	return &agent.Conversation{Native: s.Native, Dir: s.NativeDir, Spent: spent}
}

// Remember records what an executor used, and what it needs to continue the session, nil if
// it cannot. The conversations of other executors are then out of date.
func (s *Session) Remember(executor string, used agent.Usage, own *agent.Conversation) {
	s.Executor, s.Native, s.NativeDir, s.NativeSpent = executor, "", "", nil
	s.Spent = s.Spent.Plus(used)
	if own == nil {
		return
	}
	s.Native, s.NativeDir = own.Native, own.Dir
	if spent := own.Spent; spent != s.Spent {
		s.NativeSpent = &spent
	}
}

// Store is the sessions of one project. It is safe for concurrent use, even by several
// processes.
type Store struct{ dir string }

// patience is how long a writer waits for others, which take only moments.
const patience = 30 * time.Second

// Open returns the sessions in a state directory. The directory is created with the first
// session.
func Open(state string) *Store { return &Store{filepath.Join(state, "sessions")} }

// Create creates a session with an agent and its executor.
func (s *Store) Create(agentName, executor string) (*Session, error) {
	for {
		made, err := s.begin(newID(), agentName, executor)
		if !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
}

// Take returns the session with an id from IDFor, and creates it if necessary.
func (s *Store) Take(id, agentName, executor string) (*Session, error) {
	if !IsID(id) {
		return nil, &UnknownError{ID: id}
	}
	made, err := s.begin(id, agentName, executor)
	if errors.Is(err, fs.ErrExist) {
		return s.read(id)
	}
	return made, err
}

// begin creates a session, unless there is one with its id.
func (s *Store) begin(id, agentName, executor string) (*Session, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	made := &Session{Version: version, ID: id, Agent: agentName, Executor: executor, Created: now, Changed: now, Messages: []agent.Message{}}
	return made, s.locked(id, func() error {
		if _, err := os.Lstat(s.file(id)); err == nil {
			return fs.ErrExist
		}
		return s.write(made)
	})
}

// Load reads the session with an id, or with a unique prefix of it.
func (s *Store) Load(prefix string) (*Session, error) {
	id, err := s.Find(prefix)
	if err != nil {
		return nil, err
	}
	return s.read(id)
}

// Append adds messages to a session, and calls update, if not nil, to change the rest.
// Messages without a time get the current time.
func (s *Store) Append(id string, messages []agent.Message, update func(*Session)) (*Session, error) {
	id, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	var now *Session
	err = s.locked(id, func() error {
		if now, err = s.read(id); err != nil {
			return err
		}
		now.Changed = time.Now().UTC().Truncate(time.Microsecond)
		for _, m := range messages {
			if m.At.IsZero() {
				m.At = now.Changed
			}
			now.Messages = append(now.Messages, m)
		}
		if update != nil {
			update(now)
			now.ID = id
		}
		return s.write(now)
	})
	return now, err
}

// List returns all sessions, most recently changed first, and an error for each file that
// cannot be read.
func (s *Store) List() (all []*Session, broken []error, err error) {
	ids, err := s.ids()
	for _, id := range ids {
		one, err := s.read(id)
		var unknown *UnknownError
		switch {
		case errors.As(err, &unknown): // deleted in the meantime
		case err != nil:
			broken = append(broken, err)
		default:
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *Session) int { return b.Changed.Compare(a.Changed) })
	return all, broken, err
}

// Delete deletes the session with an id or a unique prefix of it, even if its file is
// damaged, and returns its id.
func (s *Store) Delete(prefix string) (string, error) {
	id, err := s.Find(prefix)
	if err != nil {
		return "", err
	}
	return id, s.locked(id, func() error {
		err := os.Remove(s.file(id))
		if errors.Is(err, fs.ErrNotExist) {
			return &UnknownError{ID: id}
		}
		return err
	})
}

// Find returns the id that a text means: the id itself, or a unique prefix, with or without
// "task-".
func (s *Store) Find(prefix string) (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if id == prefix {
			return id, nil
		}
		if strings.HasPrefix(id, prefix) || strings.HasPrefix(id, idPrefix+prefix) {
			found = append(found, id)
		}
	}
	if len(found) == 1 && prefix != "" {
		return found[0], nil
	}
	return "", &UnknownError{ID: prefix, Candidates: found}
}

// UnknownError reports that no session has an id, or that it is an ambiguous prefix.
type UnknownError struct {
	ID         string
	Candidates []string // sessions that begin with ID; empty: there are none
}

func (e *UnknownError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("unknown session %q", e.ID)
	}
	const most = 5
	list := strings.Join(e.Candidates[:min(most, len(e.Candidates))], ", ")
	if len(e.Candidates) > most {
		list += ", …"
	}
	return fmt.Sprintf("ambiguous session %q: it matches %s", e.ID, list)
}

const (
	idPrefix  = "task-"
	idDigits  = 8
	extension = ".json"
)

func newID() string {
	random := make([]byte, idDigits/2)
	_, _ = rand.Read(random) // never fails
	return idPrefix + hex.EncodeToString(random)
}

// IDFor returns the id of the session with a name. It depends only on the name.
func IDFor(name string) string {
	sum := sha256.Sum256([]byte(name))
	return idPrefix + hex.EncodeToString(sum[:idDigits/2])
}

// IsID reports whether a name is a valid id of a session.
func IsID(name string) bool {
	digits, ok := strings.CutPrefix(name, idPrefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

// ids returns the ids of all sessions, sorted.
func (s *Store) ids() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("session: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), extension); ok && IsID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (s *Store) file(id string) string { return filepath.Join(s.dir, id+extension) }

// locked calls a function while it holds the lock of a session.
func (s *Store) locked(id string, do func() error) error {
	lock, err := filelock.Wait(filepath.Join(s.dir, id+".lock"), patience)
	if err != nil {
		return fmt.Errorf("session %s: %w", id, err)
	}
	return errors.Join(do(), lock.Release())
}

func (s *Store) read(id string) (*Session, error) {
	data, err := os.ReadFile(s.file(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &UnknownError{ID: id}
	}
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(data, &head) == nil && head.Version > version {
		return nil, &NewerError{id, s.file(id)}
	}
	var one Session
	if err := json.Unmarshal(data, &one); err != nil {
		return nil, &BrokenError{id, s.file(id), err.Error()}
	}
	if one.ID != id {
		return nil, &BrokenError{id, s.file(id), fmt.Sprintf("it contains session %q", one.ID)}
	}
	if one.Messages == nil {
		one.Messages = []agent.Message{}
	}
	one.Version = version
	return &one, nil
}

// NewerError reports that the file of a session was written by a newer version.
type NewerError struct{ ID, File string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("session %s: the file %s was written by a newer version of hocket", e.ID, e.File)
}

// Hint returns what to do about it.
func (e *NewerError) Hint() string { return "update hocket, or start a new session" }

// BrokenError reports that the file of a session is damaged.
type BrokenError struct{ ID, File, Problem string }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("session %s: the file %s is damaged (%s)", e.ID, e.File, e.Problem)
}

// Hint returns what to do about it.
func (e *BrokenError) Hint() string {
	return "fix the file, or delete it with `hocket sessions delete " + e.ID + "`"
}

// write replaces the file of a session. The session is locked, so the temporary file can
// have a fixed name; one that a crash left behind is overwritten.
func (s *Store) write(one *Session) error {
	data, err := json.MarshalIndent(one, "", "  ")
	if err != nil {
		return fmt.Errorf("session %s: %w", one.ID, err)
	}
	next := filepath.Join(s.dir, one.ID+".new")
	if err := writeSynced(next, append(data, '\n')); err != nil {
		return fmt.Errorf("session %s: %w", one.ID, errors.Join(err, os.Remove(next)))
	}
	if err := os.Rename(next, s.file(one.ID)); err != nil {
		return fmt.Errorf("session %s: %w", one.ID, err)
	}
	_ = wholefile.SyncDir(s.dir) // if the system supports it; if not, the old file is still intact
	return nil
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
