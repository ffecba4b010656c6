package memory

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// hundredThousand fills a store with memories whose words are as frequent as in a natural
// language: the n-th word is in about every n-th memory.
func hundredThousand(b *testing.B) (*Store, func(n int) string) {
	b.Helper()
	const vocabulary, memories, batch = 20000, 100000, 10000
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 8, vocabulary-1)
	text := func(n int) string {
		var t strings.Builder
		for range n {
			fmt.Fprintf(&t, "word%dx ", zipf.Uint64())
		}
		return t.String()
	}
	s := open(b, b.TempDir())
	ctx := context.Background()
	for done := 0; done < memories; done += batch {
		err := s.transact(ctx, func(tx *sql.Tx) error {
			for range batch {
				m := Memory{Text: text(20), Tags: []string{}, Created: time.Now()}
				if err := insert(ctx, tx, &m, ""); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return s, text
}

func BenchmarkSearch(b *testing.B) {
	s, text := hundredThousand(b)
	for name, query := range map[string]string{
		"task": text(100), "few": "word100x word2000x word15000x", "frequent": "word0x word1x word2x", "most": "word0x", "rare": "word19000x",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(context.Background(), query, 5, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
