package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hocket-dev/hocket/driver"
)

func list[T any](all ...T) []T { return all }

func keyed(id, key, request string) NewRun {
	return NewRun{ID: id, Pin: testPin("demo"), Created: start, Events: list(started(id)), Key: key, Request: request}
}

func TestStartKey(t *testing.T) {
	s := openStore(t, t.TempDir())
	for _, n := range []NewRun{keyed("a-1", "key", "one"), keyed("b-1", "", "one"), keyed("b-2", "", "one"), keyed("c-1", "other", "one")} {
		w, err := s.Create(n)
		if err != nil {
			t.Fatalf("%s: %v", n.ID, err)
		}
		w.Close()
	}
	var used *UsedKeyError
	if _, err := s.Create(keyed("a-2", "key", "one")); !errors.As(err, &used) || used.Run != "a-1" {
		t.Errorf("the same request again: %v", err)
	}
	var other *driver.KeyError
	if _, err := s.Create(keyed("a-3", "key", "two")); !errors.As(err, &other) || other.Run != "a-1" {
		t.Errorf("another request: %v", err)
	}
	if runs, err := s.List(context.Background(), driver.Filter{}); err != nil || len(runs) != 4 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
	for _, id := range []string{"a-2", "a-3"} {
		if _, driven, err := s.Driver(t.Context(), id); driven || err == nil {
			t.Errorf("%s is there: %v, %v", id, driven, err)
		}
	}
}

// keyRole starts runs with keys that other processes use as well.
func keyRole(args []string) error {
	s, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	for i := range 30 {
		w, err := s.Create(keyed(fmt.Sprintf("%s-%d", args[1], i), fmt.Sprint("key ", i), "same"))
		var used *UsedKeyError
		switch {
		case err == nil:
			err = w.Close()
		case errors.As(err, &used):
			err = nil
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("done")
	return s.Close()
}

func TestProcessesRaceForKeys(t *testing.T) {
	dir := t.TempDir()
	var children []*child
	for i := range 3 {
		children = append(children, startChild(t, "key", dir, fmt.Sprint("p", i)))
	}
	for _, c := range children {
		c.expect(t, "done")
	}
	runs, err := openStore(t, dir).List(context.Background(), driver.Filter{})
	if err != nil || len(runs) != 30 {
		t.Errorf("30 keys started %d runs, %v", len(runs), err)
	}
}

// If the key cannot be looked up, that is the error, and not that the key is taken.
func TestKeyThatCannotBeLookedUp(t *testing.T) {
	s := openStore(t, t.TempDir())
	if _, err := s.Create(keyed("a-1", "key", "one")); err != nil {
		t.Fatal(err)
	}
	f := injectInto(t, s)
	for in := 1; ; in++ {
		*f = faults{in: in}
		_, err := s.Create(keyed("a-2", "key", "one"))
		var used *UsedKeyError
		if !f.hit && errors.As(err, &used) {
			break
		}
		if !errors.Is(err, errFault) && !errors.As(err, &used) {
			t.Fatalf("call %d fails: %v", in, err)
		}
	}
}

func TestTooManyCandidates(t *testing.T) {
	s := openStore(t, t.TempDir())
	for i := range 12 {
		createRun(t, s, fmt.Sprintf("demo-%02d", i))
	}
	var unknown *driver.UnknownRunError
	if _, err := s.Find(t.Context(), "demo"); !errors.As(err, &unknown) || len(unknown.Candidates) != 10 {
		t.Errorf("%+v", unknown)
	}
}
