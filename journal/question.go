package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Question is what an attempt asks a person while it runs.
//
// It is state of the moment and no history: an attempt that is made again asks
// again, so no event tells of it. The process that drives the run says which are
// open, for others to see. What it said means nothing once it has gone (see
// [Store.Driver]), and the next one forgets it.
type Question struct {
	Address string // of the step
	Number  int    // of the question among those of the step, from 1
	Asked   time.Time
	Text    string // without secrets
	Options []string
}

// Name is by what the question is answered, such as review@2.
func (q Question) Name() string { return QuestionName(q.Address, q.Number) }

// QuestionName is the name of a question. No address has an @, so it is none.
func QuestionName(address string, number int) string { return address + "@" + strconv.Itoa(number) }

// SplitQuestion takes the name of a question apart; !ok: it is none.
func SplitQuestion(name string) (address string, number int, ok bool) {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(name[at+1:])
	return name[:at], number, err == nil && number > 0 && QuestionName(name[:at], number) == name
}

// asked is what the table keeps of a question besides its name and time.
type asked struct {
	Text    string   `json:"text"`
	Options []string `json:"options"`
}

// Questions are those of a run that its driver has said are open, in the order in
// which they were asked.
func (s *Store) Questions(ctx context.Context, run string) ([]Question, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT address, q.number, asked, data FROM questions q JOIN runs r ON r.number = q.run
		WHERE r.id = ? AND data IS NOT NULL ORDER BY asked, address, q.number`, run)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	var open []Question
	for rows.Next() {
		var q Question
		var at int64
		var data string
		if err := rows.Scan(&q.Address, &q.Number, &at, &data); err != nil {
			return nil, explain(s.file, err)
		}
		var a asked
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return nil, s.damaged("", fmt.Errorf("question %s: %w", q.Name(), err))
		}
		q.Asked, q.Text, q.Options = fromMicros(at), a.Text, a.Options
		open = append(open, q)
	}
	return open, explain(s.file, rows.Err())
}

// SetQuestions says which questions are open, in place of those before.
func (w *Writer) SetQuestions(open []Question) error {
	return w.store.transact(func(tx *sql.Tx) error {
		if err := w.closeQuestions(tx); err != nil {
			return err
		}
		for _, q := range open {
			data, err := json.Marshal(asked{q.Text, q.Options})
			if err != nil {
				return err
			}
			_, err = tx.Exec(`INSERT INTO questions (run, address, number, asked, data) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET data = excluded.data`, w.number, q.Address, q.Number, micros(q.Asked), string(data))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// closeQuestions makes every question of the run one that is over. Of those only
// the last number of a step is kept.
func (w *Writer) closeQuestions(tx *sql.Tx) error {
	_, err := tx.Exec("UPDATE questions SET data = NULL WHERE run = ? AND data IS NOT NULL", w.number)
	if err == nil {
		_, err = tx.Exec(`DELETE FROM questions WHERE run = ?1 AND number <
			(SELECT max(number) FROM questions newest WHERE newest.run = ?1 AND newest.address = questions.address)`, w.number)
	}
	return err
}

// forgetQuestions closes what a driver that was killed left open.
func (w *Writer) forgetQuestions(ctx context.Context) error {
	var left bool
	err := w.store.write.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM questions WHERE run = ? AND data IS NOT NULL)", w.number).Scan(&left)
	if err != nil || !left {
		return err
	}
	return w.store.transact(w.closeQuestions)
}

// LastQuestions are the numbers of the last questions of steps, so that no number
// is given twice: an answer to a question that is over must not be one to another.
func (w *Writer) LastQuestions(ctx context.Context) (map[string]int, error) {
	s := w.store
	rows, err := s.read.QueryContext(ctx, "SELECT address, max(number) FROM questions WHERE run = ? GROUP BY address", w.number)
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer rows.Close()
	last := map[string]int{}
	for rows.Next() {
		var address string
		var number int
		if err := rows.Scan(&address, &number); err != nil {
			return nil, explain(s.file, err)
		}
		last[address] = number
	}
	return last, explain(s.file, rows.Err())
}
