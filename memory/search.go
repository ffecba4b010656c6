package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"
)

const (
	// maxQuery is how many bytes of a query are used.
	maxQuery = 32 << 10
	// maxTerms is how many words of it are used: the rarest ones, which say most.
	maxTerms = 16
	// maxEach is how many memories with a word are considered, newest first. A more
	// frequent word says little.
	maxEach = 1500
	// shortlist is how many memories are loaded for the final ranking.
	shortlist = 50
)

// Search returns the memories that match a text best, of those that have all of the tags. A
// limit of zero means ten.
//
// SQLite's index finds the memories with a word. They are ranked here, because BM25 of SQLite
// reads every memory with every word, which takes a hundred times longer for frequent words.
func (s *Store) Search(ctx context.Context, query string, limit int, tags []string) ([]Found, error) {
	tags, err := normalTags(tags)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = 10
	}
	r := ranking{terms: map[string]float64{}, scores: map[int64]float64{}}
	terms, err := s.terms(ctx, query)
	if err != nil || len(terms) == 0 {
		return []Found{}, err
	}
	if err := s.read.QueryRowContext(ctx, "SELECT memories, words FROM totals").Scan(&r.memories, &r.words); err != nil {
		return nil, explain(s.file, err)
	}
	for _, t := range terms {
		ids, err := s.having(ctx, t.word, tags)
		if err != nil {
			return nil, err
		}
		r.add(t, ids)
	}
	best, err := s.load(ctx, "id IN ("+r.best(max(limit, shortlist))+")")
	if err != nil {
		return nil, err
	}
	found := make([]Found, len(best))
	for i, m := range best {
		found[i] = Found{m, r.score(m.words())}
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.ID, a.ID)) < 0
	})
	return found[:min(limit, len(found))], nil
}

// term is a word of a query, and how many memories have it.
type term struct {
	word     string
	memories int
}

// terms returns the most significant words of a query: the rarest that occur in a memory.
func (s *Store) terms(ctx context.Context, query string) ([]term, error) {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	lookup, err := s.read.PrepareContext(ctx, "SELECT memories FROM terms WHERE term = ?")
	if err != nil {
		return nil, explain(s.file, err)
	}
	defer lookup.Close()
	var all []term
	for _, word := range distinct(words(query)) {
		t := term{word: word}
		err := lookup.QueryRowContext(ctx, word).Scan(&t.memories)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, explain(s.file, err)
		}
		if t.memories > 0 {
			all = append(all, t)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].memories < all[j].memories })
	return all[:min(maxTerms, len(all))], nil
}

// having returns the newest memories that have a word and all of the tags. A word has only
// letters, digits and marks, so quoting it is enough.
func (s *Store) having(ctx context.Context, word string, tags []string) ([]int64, error) {
	query := strings.Join(append([]string{`text : "` + word + `"`}, tagTerms(tags)...), " AND ")
	var list sql.NullString // reading one value is much faster than many rows
	err := s.read.QueryRowContext(ctx, "SELECT group_concat(rowid) FROM (SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)", query, maxEach).Scan(&list)
	if err != nil || !list.Valid {
		return nil, explain(s.file, err)
	}
	var ids []int64
	for number := range strings.SplitSeq(list.String, ",") {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, explain(s.file, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ranking adds up the scores of memories.
type ranking struct {
	memories, words float64            // of all
	terms           map[string]float64 // the weight of each word of the query
	scores          map[int64]float64  // of memories, regardless of their length
}

func (r *ranking) add(t term, ids []int64) {
	n := float64(t.memories)
	weight := math.Log(1 + max(0, r.memories-n+0.5)/(n+0.5))
	r.terms[t.word] = weight
	for _, id := range ids {
		r.scores[id] += weight
	}
}

// best returns the ids of the memories with the highest scores, as a list for SQL.
func (r *ranking) best(n int) string {
	type scored struct {
		id    int64
		score float64
	}
	all := make([]scored, 0, len(r.scores))
	for id, score := range r.scores {
		all = append(all, scored{id, score})
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id)) < 0
	})
	list := make([]string, 0, n)
	for _, m := range all[:min(n, len(all))] {
		list = append(list, strconv.FormatInt(m.id, 10))
	}
	return strings.Join(list, ",")
}

// score returns the BM25 score of a memory with these words.
func (r *ranking) score(all []string) float64 {
	const k1, b = 1.2, 0.75
	times := map[string]float64{}
	for _, w := range all {
		if _, asked := r.terms[w]; asked {
			times[w]++
		}
	}
	length := float64(len(all)) / max(1, r.words/max(1, r.memories))
	sum := 0.0
	for _, w := range distinct(all) {
		if n := times[w]; n > 0 {
			sum += r.terms[w] * n * (k1 + 1) / (n + k1*(1-b+b*length))
		}
	}
	return sum
}
