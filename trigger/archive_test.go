package trigger

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An archive does not grow for ever, but forgets only what is old and has many successors.
func TestArchive(t *testing.T) {
	a := archive{t.TempDir()}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var keys []string // all in one file
	for i := 0; len(keys) < 1300; i++ {
		key := fmt.Sprintf("file inbox/%d.csv", i)
		if file, _ := a.place(key); filepath.Base(file) == "00" {
			keys = append(keys, key)
		}
	}
	at := func(i int) time.Time { return begun.Add(time.Duration(i) * time.Hour) }
	file, _ := a.place(keys[0])
	largest := int64(0)
	for i, key := range keys {
		if err := a.add(key, Firing{At: at(i), Run: fmt.Sprintf("run-%d", i)}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err == nil {
			largest = max(largest, info.Size())
		}
	}
	if largest > 100_000 {
		t.Errorf("the file had %d bytes", largest)
	}
	last := len(keys) - 1
	for i, want := range map[int]bool{0: false, last - 1000: false, last - 720: true, last - crowd: true, last: true} { // 720 hours are 30 days
		f, err := a.find(keys[i])
		if err != nil || (f != nil) != want {
			t.Fatalf("the key %d of %d: %+v, %v", i, len(keys), f, err)
		}
		if want && (f.Run != fmt.Sprintf("run-%d", i) || !f.At.Equal(at(i))) {
			t.Errorf("the key %d: %+v", i, f)
		}
	}

	// Of a trigger that seldom fires, enough are kept however old they are.
	if err := forget(file, at(last).AddDate(10, 0, 0)); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]bool{last - crowd: false, last - crowd + 1: true} {
		if f, err := a.find(keys[i]); err != nil || (f != nil) != want {
			t.Errorf("after years, the key %d of %d: %+v, %v", i, len(keys), f, err)
		}
	}
}
