package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/internal/filelock"
	"github.com/hocket-dev/hocket/internal/wholefile"
)

// Inbox stores messages for agents until a task of theirs takes them. A message is a file in
// a directory of its agent, and taking it renames the file, so that it is taken once, even
// if several processes try at the same time.
type Inbox struct{ dir string }

// OpenInbox returns the inbox in the state directory of a project.
func OpenInbox(state string) *Inbox { return &Inbox{filepath.Join(state, "inbox")} }

// nameOf returns a name for any text that is safe in a path.
func nameOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:10])
}

// A message that was taken has the run and the task at the end of its name, and a mark if the
// agent has received it.
const received = "+"

func takenBy(run, task string) string { return "@" + nameOf(run) + "-" + nameOf(task) }

// Put stores a message for an agent. A second message with the same id is ignored: then stored is
// false.
func (b *Inbox) Put(agent, id string, message []byte) (stored bool, err error) {
	dir := filepath.Join(b.dir, nameOf(agent))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	lock, err := filelock.Wait(filepath.Join(dir, "lock"), patience)
	if err != nil {
		return false, fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	defer lock.Release() //nolint:errcheck // the kernel releases it with the file
	names, err := b.names(agent)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "-"+nameOf(id)) }) {
		return false, nil
	}
	name := fmt.Sprintf("%019d-%s.json", time.Now().UnixNano(), nameOf(id))
	if err := wholefile.Write(filepath.Join(dir, name), message, 0o600); err != nil {
		return false, fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	return true, nil
}

// Take returns the messages for an agent, oldest first. The first attempt of a task of a run takes
// those that no other task has; later attempts get the same ones.
func (b *Inbox) Take(agent, run, task string, first bool) ([][]byte, error) {
	names, err := b.names(agent)
	if err != nil {
		return nil, err
	}
	var messages [][]byte
	taken := takenBy(run, task)
	for _, name := range names {
		file := filepath.Join(b.dir, nameOf(agent), name)
		if first && strings.HasSuffix(name, ".json") {
			renamed := file + taken
			switch err := os.Rename(file, renamed); {
			case errors.Is(err, fs.ErrNotExist):
				continue // another task was faster
			case err != nil:
				return nil, fmt.Errorf("session: inbox of %s: %w", agent, err)
			}
			file = renamed
		}
		if !strings.HasSuffix(strings.TrimSuffix(file, received), taken) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("session: inbox of %s: %w", agent, err)
		}
		if len(text) > 0 {
			messages = append(messages, text)
		}
	}
	return messages, nil
}

// Received notes that an agent has received the messages that a task has taken.
func (b *Inbox) Received(agent, run, task string) error {
	names, err := b.names(agent)
	for _, name := range names {
		if file := filepath.Join(b.dir, nameOf(agent), name); strings.HasSuffix(name, takenBy(run, task)) {
			err = errors.Join(err, os.Rename(file, file+received))
		}
	}
	if err != nil {
		return fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	return nil
}

// Forget deletes the messages that runs have taken, and gives those back that nobody has received.
// The runs must have ended: no attempt needs them.
func (b *Inbox) Forget(runs ...string) error {
	return b.ForgetAll(func() ([]string, error) { return runs, nil })
}

// ForgetAll does the same for the runs that a function returns. It asks for them after it has looked at the messages, so one that goes on with
// a new plan meanwhile keeps what it takes. It also removes what has been forgotten for long.
func (b *Inbox) ForgetAll(over func() (runs []string, err error)) error {
	files := b.taken()
	runs, err := over()
	if err != nil {
		return err
	}
	ended := map[string]bool{}
	for _, run := range runs {
		ended[nameOf(run)] = true
	}
	return sweep(files, func(taker string) bool { return ended[taker] })
}

// taken returns the files of all messages that were taken.
func (b *Inbox) taken() []string {
	files, _ := filepath.Glob(filepath.Join(b.dir, "*", "*.json@*")) // fails only if the pattern is wrong
	return files
}

// known is how long the inbox knows that a message was there, so that it is not left a second time.
const known = 90 * 24 * time.Hour

// sweep empties the messages that some runs have taken and received, and gives back those that they have not received. It removes those of
// any run that have been empty for long.
func sweep(files []string, gone func(taker string) bool) (err error) {
	for _, file := range files {
		name, taker, _ := strings.Cut(filepath.Base(file), "@")
		taker, _, _ = strings.Cut(taker, "-")
		info, lost := os.Stat(file)
		switch {
		case lost != nil || info.Size() > 0 && !gone(taker):
		case info.Size() > 0 && !strings.HasSuffix(file, received):
			err = errors.Join(err, os.Rename(file, filepath.Join(filepath.Dir(file), name)))
		case info.Size() > 0:
			err = errors.Join(err, os.Truncate(file, 0))
		case time.Since(info.ModTime()) > known:
			err = errors.Join(err, os.Remove(file))
		}
	}
	if err != nil {
		return fmt.Errorf("session: inbox: %w", err)
	}
	return nil
}

// names returns the names of all messages for an agent, oldest first.
func (b *Inbox) names(agent string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(b.dir, nameOf(agent)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	var names []string
	for _, e := range entries {
		if strings.Contains(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
