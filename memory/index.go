package memory

import (
	"context"
	"database/sql"
	"strings"
)

// wordsVersion is the version of the tokenizer in words.go. Index and queries must agree:
// after a change there, increment it here, and the index is rebuilt.
const wordsVersion = 1

// reindex rebuilds the index if it was built by another version of words.go. If several
// processes find that at once, the first one does it.
func (s *Store) reindex(ctx context.Context) error {
	if current, err := isCurrent(ctx, s.read); current || err != nil {
		return explain(s.file, err)
	}
	return s.transact(ctx, func(tx *sql.Tx) error {
		if current, err := isCurrent(ctx, tx); current || err != nil {
			return err
		}
		for _, statement := range []string{
			"INSERT INTO words (words) VALUES ('delete-all')", "DELETE FROM terms",
			"UPDATE totals SET memories = 0, words = 0",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if err := indexAll(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE totals SET indexed = ?", wordsVersion)
		return err
	})
}

func isCurrent(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (bool, error) {
	var version int
	err := db.QueryRowContext(ctx, "SELECT indexed FROM totals").Scan(&version)
	return version == wordsVersion, err
}

// indexAll indexes all memories, one at a time, as there may be many.
func indexAll(ctx context.Context, tx *sql.Tx) error {
	for last := int64(0); ; {
		m, err := scan(tx.QueryRowContext(ctx, "SELECT id, text, tags, source, created FROM memories WHERE id > ? ORDER BY id LIMIT 1", last))
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := m.index(ctx, tx); err != nil {
			return err
		}
		last = m.ID
	}
}

// index adds a memory to the index.
func (m *Memory) index(ctx context.Context, tx *sql.Tx) error {
	all := m.words()
	if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, text, tags) VALUES (?, ?, ?)", m.ID, strings.Join(all, " "), m.tagText()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE totals SET memories = memories + 1, words = words + ?", len(all)); err != nil {
		return err
	}
	return count(ctx, tx, all, "INSERT INTO terms (term, memories) VALUES (?, 1) ON CONFLICT DO UPDATE SET memories = memories + 1")
}

// unindex removes a memory from the index, which has to be given the same words again, as it
// does not store them.
func (m *Memory) unindex(ctx context.Context, tx *sql.Tx) error {
	all := m.words()
	if _, err := tx.ExecContext(ctx, "INSERT INTO words (words, rowid, text, tags) VALUES ('delete', ?, ?, ?)", m.ID, strings.Join(all, " "), m.tagText()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE totals SET memories = memories - 1, words = words - ?", len(all)); err != nil {
		return err
	}
	if err := count(ctx, tx, all, "UPDATE terms SET memories = memories - 1 WHERE term = ?"); err != nil {
		return err
	}
	return count(ctx, tx, all, "DELETE FROM terms WHERE term = ? AND memories <= 0")
}

// count runs a statement for every distinct word.
func count(ctx context.Context, tx *sql.Tx, all []string, statement string) error {
	each, err := tx.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer each.Close()
	for _, word := range distinct(all) {
		if _, err := each.ExecContext(ctx, word); err != nil {
			return err
		}
	}
	return nil
}

// words returns the words by which a memory is found.
func (m *Memory) words() []string {
	return indexWords(m.Text + "\n" + strings.Join(m.Tags, "\n"))
}

func (m *Memory) tagText() string { return strings.Join(tagWords(m.Tags), " ") }
