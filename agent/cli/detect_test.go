package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Versions that are looked up concurrently are all kept.
func TestVersionsAreKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "versions.json")
	names := []string{"a", "b", "c", "d", "e"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var met sync.WaitGroup // all start before any has a result
	met.Add(len(names))
	var done sync.WaitGroup
	for _, name := range names {
		done.Go(func() {
			_, err := (&versions{file: file}).of(filepath.Join(dir, name), nil, func() (string, error) {
				met.Done()
				met.Wait()
				return "1." + name, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	for _, name := range names {
		got, err := (&versions{file: file}).of(filepath.Join(dir, name), nil, func() (string, error) { return "", os.ErrInvalid })
		if got != "1."+name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The retry messages of claude are reported in words.
func TestTriesAgain(t *testing.T) {
	var log strings.Builder
	_, _ = readAll(BuiltinManifest("claude"), []byte(`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":3,"retry_delay_ms":504,"error_status":529,"error":"overloaded"}
{"type":"system","subtype":"api_retry","attempt":2,"max_retries":3,"retry_delay_ms":1008,"error_status":null,"error":"unknown"}
`), 1<<10, func(piece []byte) { log.Write(piece) })
	want := "claude: the model refused with status 529 (overloaded); try 1 of 3 failed, the next is in 504 ms\n" +
		"claude: the model was not reached; try 2 of 3 failed, the next is in 1008 ms\n"
	if log.String() != want {
		t.Errorf("got  %q\nwant %q", log.String(), want)
	}
}
