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

// Put stores a message for an agent. A second message with the same id is ignored.
func (b *Inbox) Put(agent, id string, message []byte) error {
	dir := filepath.Join(b.dir, nameOf(agent))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	lock, err := filelock.Wait(filepath.Join(dir, "lock"), patience)
	if err != nil {
		return fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	defer lock.Release() //nolint:errcheck // the kernel releases it with the file
	names, err := b.names(agent)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "-"+nameOf(id)) }) {
		return nil
	}
	name := fmt.Sprintf("%019d-%s.json", time.Now().UnixNano(), nameOf(id))
	if err := wholefile.Write(filepath.Join(dir, name), message, 0o600); err != nil {
		return fmt.Errorf("session: inbox of %s: %w", agent, err)
	}
	return nil
}

// Take returns the messages for an agent, oldest first. The first attempt of a task takes
// those that no other task has; later attempts get the same ones.
func (b *Inbox) Take(agent, task string, first bool) ([][]byte, error) {
	names, err := b.names(agent)
	if err != nil {
		return nil, err
	}
	var messages [][]byte
	taken := "@" + nameOf(task)
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
		if !strings.HasSuffix(file, taken) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("session: inbox of %s: %w", agent, err)
		}
		messages = append(messages, text)
	}
	return messages, nil
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
