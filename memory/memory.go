// Package memory stores what agents should remember about a project, and finds what may help
// with a task. It uses SQLite and its full-text search. The root package imports it, and
// passes it to agent/staff.
//
// # Guarantees
//
//  1. Any text is a valid query, even a complete task with code and punctuation. There is no
//     query syntax.
//  2. The best matches come first: those that share rare words with the query, and of equal
//     ones the newest. Words match regardless of case, accents, and singular or plural.
//  3. A search reads a bounded number of memories, however many there are.
//  4. The files are private to the user, and several processes can use them at once.
//  5. Nothing of a deleted memory stays in the files.
package memory

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Memory is one thing to remember.
type Memory struct {
	ID      int64     `json:"id"`
	Text    string    `json:"text"`
	Tags    []string  `json:"tags"`   // lower case, sorted
	Source  string    `json:"source"` // where it comes from; may be empty
	Created time.Time `json:"created_at"`
}

// Found is a memory that matches a query.
type Found struct {
	Memory
	Score float64 `json:"score"` // higher is better; comparable only within one search
}

const (
	// MaxText is the maximum size of a memory in bytes: it has to fit into a prompt.
	MaxText = 64 << 10
	maxTag  = 64
	maxTags = 32
)

// InvalidError reports why a memory cannot be stored.
type InvalidError struct{ Problem, Hint string }

func (e *InvalidError) Error() string { return e.Problem + "; " + e.Hint }

// KeyError reports that a key was used for another memory.
type KeyError struct {
	Key string
	ID  int64 // of that memory
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("the key %q was used for another request, which added memory %d; use a new key", e.Key, e.ID)
}

// Add stores a text with tags and its source.
func (s *Store) Add(ctx context.Context, text string, tags []string, source string) (Memory, error) {
	return s.AddOnce(ctx, "", text, tags, source)
}

// AddOnce is like Add, but if the key was used before, it returns that memory. The error is a *[KeyError] if
// that has another text or other tags. "" means no key.
func (s *Store) AddOnce(ctx context.Context, key, text string, tags []string, source string) (Memory, error) {
	tags, err := normalTags(tags)
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Text: strings.TrimSpace(text), Tags: tags, Source: source, Created: time.Now().UTC().Truncate(time.Microsecond)}
	switch {
	case m.Text == "":
		return m, &InvalidError{"the text is empty", "pass the text to remember"}
	case len(m.Text) > MaxText:
		return m, &InvalidError{fmt.Sprintf("the text is too long: %d bytes, at most %d are allowed", len(m.Text), MaxText), "put it in a file, and add the path of the file as a memory"}
	case !utf8.ValidString(m.Text) || !utf8.ValidString(source):
		return m, &InvalidError{"the text is not valid UTF-8", "convert it first"}
	}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		was, err := scan(tx.QueryRowContext(ctx, "SELECT id, text, tags, source, created FROM memories WHERE key = nullif(?, '')", key))
		switch {
		case isMissing(err):
			return insert(ctx, tx, &m, key)
		case err == nil && (was.Text != m.Text || !slices.Equal(was.Tags, m.Tags)):
			return &KeyError{key, was.ID}
		}
		m = was
		return err
	})
	return m, err
}

func insert(ctx context.Context, tx *sql.Tx, m *Memory, key string) error {
	list, err := json.Marshal(m.Tags)
	if err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, "INSERT INTO memories (text, tags, source, created, key) VALUES (?, ?, ?, ?, nullif(?, ''))", m.Text, list, m.Source, m.Created.UnixMicro(), key)
	if err != nil {
		return err
	}
	if m.ID, err = res.LastInsertId(); err != nil {
		return err
	}
	return m.index(ctx, tx)
}

// List returns the newest memories that have all of the tags, of those that are older than the one with the id
// before; 0: of all. A limit of zero means all.
func (s *Store) List(ctx context.Context, before int64, limit int, tags []string) ([]Memory, error) {
	tags, err := normalTags(tags)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1
	}
	which, args := "true", []any{}
	if before > 0 {
		which, args = "id < ?", append(args, before)
	}
	if len(tags) > 0 {
		which, args = which+" AND id IN (SELECT rowid FROM words WHERE words MATCH ?)", append(args, strings.Join(tagTerms(tags), " AND "))
	}
	return s.load(ctx, which+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}

// load reads memories by a condition.
func (s *Store) load(ctx context.Context, which string, args ...any) ([]Memory, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT id, text, tags, source, created FROM memories WHERE "+which, args...)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	all := []Memory{}
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, explain(s.file, err)
		}
		all = append(all, m)
	}
	return all, explain(s.file, rows.Err())
}

// Delete deletes a memory; no trace of it stays in the file. The error is an *UnknownError if there
// is none.
func (s *Store) Delete(ctx context.Context, id int64) error {
	err := s.transact(ctx, func(tx *sql.Tx) error {
		m, err := scan(tx.QueryRowContext(ctx, "SELECT id, text, tags, source, created FROM memories WHERE id = ?", id))
		if isMissing(err) {
			return &UnknownError{id}
		}
		if err != nil {
			return err
		}
		if err := m.unindex(ctx, tx); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM memories WHERE id = ?", id)
		return err
	})
	if err != nil {
		return err
	}
	// The text may still be in the write-ahead log. If another process is reading that, it
	// removes the text when it is done.
	_, _ = s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return nil
}

func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// UnknownError reports that there is no memory with an id.
type UnknownError struct{ ID int64 }

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown memory %d", e.ID) }

// scan reads a row of memories.
func scan(row interface{ Scan(to ...any) error }) (Memory, error) {
	var m Memory
	var tags string
	var created int64
	if err := row.Scan(&m.ID, &m.Text, &tags, &m.Source, &created); err != nil {
		return m, err
	}
	m.Created = time.UnixMicro(created).UTC()
	return m, json.Unmarshal([]byte(tags), &m.Tags)
}

// tagWords encodes tags as words for the index, as a tag may contain any character.
func tagWords(tags []string) []string {
	all := make([]string, len(tags))
	for i, t := range tags {
		all[i] = hex.EncodeToString([]byte(t))
	}
	return all
}

// tagTerms returns tags as terms of a query.
func tagTerms(tags []string) []string {
	all := tagWords(tags)
	for i, t := range all {
		all[i] = `tags : "` + t + `"`
	}
	return all
}

// normalTags normalizes the spelling of tags.
func normalTags(tags []string) ([]string, error) {
	all := []string{}
	for _, t := range tags {
		t = strings.ToLower(strings.TrimSpace(t))
		if t == "" || len(t) > maxTag || !utf8.ValidString(t) || strings.ContainsFunc(t, unicode.IsControl) {
			return nil, &InvalidError{fmt.Sprintf("invalid tag %q", t), fmt.Sprintf("use a word of at most %d bytes", maxTag)}
		}
		all = append(all, t)
	}
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > maxTags {
		return nil, &InvalidError{fmt.Sprintf("too many tags: %d", len(all)), fmt.Sprintf("use at most %d", maxTags)}
	}
	return all, nil
}
