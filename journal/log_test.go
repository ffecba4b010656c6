package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/driver"
)

func TestLog(t *testing.T) {
	s, err := Open(t.TempDir(), Options{MaxLog: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cases := []struct {
		name   string
		pieces []string
		want   string // "-": no file
	}{
		{"silent", nil, "-"},
		{"short", []string{"one\n", "", "two\n"}, "one\ntwo\n"},
		{"long", []string{"0123456789", "0123456789abc", "more"}, "01234567890123456789\n[cut after 20 bytes]\n"},
	}
	for _, c := range cases {
		log := s.Log(driver.AttemptID{Run: "run-1", Address: c.name, Attempt: 1})
		for _, p := range c.pieces {
			log.Keep([]byte(p))
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		log.Keep([]byte("too late"))
		got, err := os.ReadFile(s.Path(driver.AttemptID{Run: "run-1", Address: c.name, Attempt: 1}, driver.Output))
		if os.IsNotExist(err) {
			got = []byte("-")
		}
		if string(got) != c.want {
			t.Errorf("%s: log holds %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLogGoesOnAfterACrash(t *testing.T) {
	s := openStore(t, t.TempDir())
	for range 2 {
		log := s.Log(driver.AttemptID{Run: "run-1", Address: "work", Attempt: 1})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { log.Keep([]byte("line\n")) })
		}
		all.Wait()
		log.Close()
	}
	got, err := os.ReadFile(s.Path(driver.AttemptID{Run: "run-1", Address: "work", Attempt: 1}, driver.Output))
	if err != nil || string(got) != strings.Repeat("line\n", 20) {
		t.Errorf("log holds %q (%v)", got, err)
	}
}

func TestLogFailureStopsNothing(t *testing.T) {
	s := openStore(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(s.Dir(), "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := s.Log(driver.AttemptID{Run: "run-1", Address: "work", Attempt: 1})
	log.Keep([]byte("x"))
	if err := log.Close(); err == nil {
		t.Error("Close does not say that the log was not kept")
	}
}

func TestFileNames(t *testing.T) {
	cases := []struct{ name, want string }{
		{"full-review-3k7q2m9a", "full-review-3k7q2m9a"},
		{"scan[3]", "scan[3]"},
		{"serve-customers#2/order-taker", "serve-customers%232%2Forder-taker"},
		{"..", "%2E."},
		{"a..b", "a..b"},
		{"", "~e3b0c442"},
		{"Build", "Build~bdd254b6"},
		{"nul.txt", "nul.txt~7f3cbdd5"},
		{"com1", "com1~957a49c3"},
		{"command", "command"},
		{strings.Repeat("x", maxName), strings.Repeat("x", maxName)},
		{strings.Repeat("x", maxName+1), strings.Repeat("x", maxName) + "~c675a2e6"},
	}
	for _, c := range cases {
		if got := fileNameOf(c.name); got != c.want {
			t.Errorf("fileNameOf(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

// Two names never share a file, not even where case does not count.
func TestFileNamesDiffer(t *testing.T) {
	safe := regexp.MustCompile(`^[A-Za-z0-9\[\]_%~-][A-Za-z0-9\[\]_.%~-]*$`)
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-cA-C./#%~\[é-]{0,5}`).Draw(t, "name")
		got := fileNameOf(name)
		if !safe.MatchString(got) {
			t.Fatalf("fileNameOf(%q) = %q is not safe", name, got)
		}
		if other, ok := seen[strings.ToLower(got)]; ok && other != name {
			t.Fatalf("%q and %q are both %q", name, other, got)
		}
		seen[strings.ToLower(got)] = name
	})
}

func ExampleStore_Path() {
	s := &Store{dir: "/state"}
	fmt.Println(s.Path(driver.AttemptID{Run: "release-3k7q2m9a", Address: "test[2]", Attempt: 1}, driver.Output))
	// Output: /state/logs/release-3k7q2m9a/test[2].1.log
}
