// Package session keeps conversations with agents, so that they can be taken up
// again: one JSON file for each, private to the user. It imports what an agent is;
// cli imports it, and hands it to agent/staff.
//
// # What holds
//
//  1. A file is replaced in one step, and is on the disk when a call returns: a
//     reader or a crash finds the conversation before or after, never a part.
//  2. Who adds to a session locks it, across processes, and reads it anew: two
//     writers lose nothing.
//  3. An id from outside is looked up among those that are there. It never
//     becomes a path.
//  4. A file that cannot be read hides no other.
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
)

// version is that of the files that are written here. One without a number is of the
// first version.
const version = 1

// Session is a conversation with an agent.
type Session struct {
	Version  int       `json:"version"`
	ID       string    `json:"session_id"`
	Agent    string    `json:"agent_name"`
	Executor string    `json:"agent_cli"`
	Created  time.Time `json:"created_at"`
	Changed  time.Time `json:"updated_at"`
	// Native is by what the executor itself knows the conversation; "": it does
	// not, and is told the messages.
	Native string `json:"native_id,omitempty"`
	// NativeSpent is what the executor says that its own conversation has used; nil:
	// the same as Spent.
	NativeSpent *agent.Usage    `json:"native_spent,omitempty"`
	Spent       agent.Usage     `json:"spent"` // by all who worked in it
	Messages    []agent.Message `json:"messages"`
}

// Conversation is what an executor needs to take the session up by itself; nil: it
// has to be told what was said.
func (s *Session) Conversation(executor string) *agent.Conversation {
	if s.Native == "" || s.Executor != executor {
		return nil
	}
	spent := s.Spent
	if s.NativeSpent != nil {
		spent = *s.NativeSpent
	}
	return &agent.Conversation{Native: s.Native, Spent: spent}
}

// Remember notes what an executor used, and what it gave to take the session up again;
// nil: it cannot. What another one knew of it is then no longer all of it.
func (s *Session) Remember(executor string, used agent.Usage, own *agent.Conversation) {
	s.Executor, s.Native, s.NativeSpent = executor, "", nil
	s.Spent = s.Spent.Plus(used)
	if own == nil {
		return
	}
	s.Native = own.Native
	if spent := own.Spent; spent != s.Spent {
		s.NativeSpent = &spent
	}
}

// Store is the sessions of one project. It is safe for concurrent use, also by
// several processes.
type Store struct{ dir string }

// patience is how long a writer waits for others. Each takes moments.
const patience = 30 * time.Second

// Open gives the sessions that are kept in a state directory. The directory is
// made when the first one is.
func Open(state string) *Store { return &Store{filepath.Join(state, "sessions")} }

// Create begins a session with an agent that an executor runs.
func (s *Store) Create(agentName, executor string) (*Session, error) {
	for {
		made, err := s.begin(newID(), agentName, executor)
		if !errors.Is(err, fs.ErrExist) {
			return made, err
		}
	}
}

// Take gives the session of an id that IDFor gave. It is begun if it is not there.
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

// begin begins a session, unless there is one of its id.
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

// Load reads the session whose id is given, or begins so.
func (s *Store) Load(prefix string) (*Session, error) {
	id, err := s.Find(prefix)
	if err != nil {
		return nil, err
	}
	return s.read(id)
}

// Append adds messages to a session and changes the rest of it as update says,
// which may be nil. Messages without a time are said now.
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

// List gives all sessions, the last that was changed first, and what is wrong
// with the files that cannot be read.
func (s *Store) List() (all []*Session, broken []error, err error) {
	ids, err := s.ids()
	for _, id := range ids {
		one, err := s.read(id)
		var unknown *UnknownError
		switch {
		case errors.As(err, &unknown): // deleted meanwhile
		case err != nil:
			broken = append(broken, err)
		default:
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b *Session) int { return b.Changed.Compare(a.Changed) })
	return all, broken, err
}

// Delete deletes the session whose id is given, or begins so, also one whose file
// is broken, and gives its id.
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

// Find gives the id that is meant: the one that is given, or the only one that
// begins so. The "task-" in front may be missing.
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

// UnknownError says that no session has an id, or that several begin with it.
type UnknownError struct {
	ID         string
	Candidates []string // several sessions begin with ID; none: no session does
}

func (e *UnknownError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("no session %q is kept here", e.ID)
	}
	const most = 5
	list := strings.Join(e.Candidates[:min(most, len(e.Candidates))], ", ")
	if len(e.Candidates) > most {
		list += ", …"
	}
	return fmt.Sprintf("several sessions begin with %q: %s", e.ID, list)
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

// IDFor is the id of the session that goes by a name, the same for the same name.
func IDFor(name string) string {
	sum := sha256.Sum256([]byte(name))
	return idPrefix + hex.EncodeToString(sum[:idDigits/2])
}

// IsID says whether a name is one that a session may have.
func IsID(name string) bool {
	digits, ok := strings.CutPrefix(name, idPrefix)
	return ok && len(digits) == idDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

// ids are those of all sessions, sorted.
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

// locked does something while no other writer touches a session.
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
		return nil, &BrokenError{id, s.file(id), fmt.Sprintf("it says that it is session %q", one.ID)}
	}
	if one.Messages == nil {
		one.Messages = []agent.Message{}
	}
	one.Version = version
	return &one, nil
}

// NewerError says that the file of a session says more than is understood here.
type NewerError struct{ ID, File string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("session %s: the file %s was written by a newer version of hocket", e.ID, e.File)
}

// Hint says what to do.
func (e *NewerError) Hint() string { return "update hocket, or begin another session" }

// BrokenError says that the file of a session cannot be understood.
type BrokenError struct{ ID, File, Problem string }

func (e *BrokenError) Error() string {
	return fmt.Sprintf("session %s: the file %s is damaged (%s)", e.ID, e.File, e.Problem)
}

// Hint says what to do.
func (e *BrokenError) Hint() string {
	return "fix the file, or delete it with `hocket sessions delete " + e.ID + "`"
}

// write replaces the file of a session, which is locked: so the file beside it
// that becomes the new one needs no name of its own, and one that a crash left is
// used again.
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
	syncDir(s.dir)
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

// syncDir makes the new name durable where the system can; where it cannot, the
// old file is still whole.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
