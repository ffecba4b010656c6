package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// stores returns a new store of each kind.
func stores(t *testing.T) map[string]temporal.Store {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket("bucket"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		t.Setenv(name, value)
	}
	found := map[string]temporal.Store{}
	for name, at := range map[string]string{"folder": filepath.Join(t.TempDir(), "new"), "s3": "s3://bucket/some/prefix?region=us-east-1&endpoint=" + server.URL} {
		s, err := temporal.OpenStore(at)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = s
	}
	return found
}

func TestStore(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if err := s.Put(ctx, "id", []byte("{}")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(ctx, "a/b"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("no value: %v", err)
			}
			if keys, err := s.List(ctx, "a"); len(keys) > 0 || err != nil {
				t.Errorf("no folder: %q, %v", keys, err)
			}
			want := func(key, value string) {
				t.Helper()
				if got, err := s.Get(ctx, key); string(got) != value || err != nil {
					t.Errorf("%s is %q, %v, want %q", key, got, err, value)
				}
			}
			for _, key := range []string{"a/c", "a/b", "a/d/e", "ab/f", "a/%2E"} {
				if err := s.Put(ctx, key, []byte(key)); err != nil {
					t.Fatal(err)
				}
				want(key, key)
			}
			if err := s.Put(ctx, "a/b", []byte("new")); err != nil {
				t.Fatal(err)
			}
			want("a/b", "new")
			if err := s.Create(ctx, "a/b", []byte("other")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("it exists: %v", err)
			}
			want("a/b", "new")
			if keys, err := s.List(ctx, "a"); !slices.Equal(keys, []string{"a/%2E", "a/b", "a/c", "a/d/e"}) || err != nil {
				t.Errorf("%q, %v", keys, err)
			}
			for _, key := range []string{"a", "a", "ab/f"} {
				if err := s.Delete(ctx, key); err != nil {
					t.Fatal(err)
				}
			}
			for _, folder := range []string{"a", "ab"} {
				if keys, err := s.List(ctx, folder); len(keys) > 0 || err != nil {
					t.Errorf("deleted: %q, %v", keys, err)
				}
			}
		})
	}
}

// TestStoreCreate: of many who create a value at once, one succeeds.
func TestStoreCreate(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			if err := s.Put(t.Context(), "id", []byte("{}")); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			made := make(chan string, 20)
			for i := range 20 {
				all.Go(func() {
					value := fmt.Sprint(i)
					if err := s.Create(t.Context(), "k/v", []byte(value)); err == nil {
						made <- value
					} else if !errors.Is(err, fs.ErrExist) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			close(made)
			first := <-made
			if got, err := s.Get(t.Context(), "k/v"); string(got) != first || err != nil || len(made) > 0 {
				t.Errorf("%s created it, and %d others; it is %s, %v", first, len(made), got, err)
			}
		})
	}
}

func TestOpenStore(t *testing.T) {
	for _, at := range []string{"", "gs://bucket", "s3://", "s3://name:secret@bucket"} {
		_, err := temporal.OpenStore(at)
		if err == nil || !strings.HasPrefix(err.Error(), "invalid store") || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// FuzzKey: nobody reaches anything outside of a store, whatever names runs and steps have.
func FuzzKey(f *testing.F) {
	for _, key := range []string{"a", "..", "../x", "a/../../x", "/x", "", ".", "a//b", `a\..\..\x`, "a/./b", "a\x00", "%2E%2E/x", strings.Repeat("long", 100)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		dir := t.TempDir()
		inside := filepath.Join(dir, "inside")
		if err := os.WriteFile(filepath.Join(dir, "x"), []byte("outside"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := temporal.Folder(inside)
		if err := s.Put(t.Context(), "id", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{key, temporal.RunKey(key), temporal.RunKey("run", key)} {
			err := s.Put(t.Context(), key, []byte("new"))
			if data, wrong := s.Get(t.Context(), key); err == nil && (string(data) != "new" || wrong != nil) || string(data) == "outside" {
				t.Errorf("%q: %q, %v", key, data, wrong)
			}
			_ = s.Delete(t.Context(), key)
			if err := s.Put(t.Context(), "id", []byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(t.Context(), temporal.RunKey(key, key), nil); err != nil {
			t.Errorf("a run with any name can be stored: %v", err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 2 {
			t.Errorf("%q: %v, %v", key, entries, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "x")); string(data) != "outside" || err != nil {
			t.Errorf("%q: %q, %v", key, data, err)
		}
	})
}

// A worker with another store does not touch a run, and whoever looks at it learns why.
func TestOtherStore(t *testing.T) {
	needsServer(t)
	t.Parallel()
	ctx, queue, here := t.Context(), newName(), temporal.Folder(t.TempDir())
	o := options(queue, here)
	mine := open(t, o)
	o.Store = temporal.Folder(t.TempDir())
	other := open(t, o)
	spec := inOrder(step("a"))
	spec.Run = "run-1"
	if _, err := mine.Start(ctx, spec); err != nil {
		t.Fatal(err)
	}
	lists := func(run string) { // the server does a little later
		t.Helper()
		for began := time.Now(); executions(t, queue+"/"+run) == 0 && time.Since(began) < 20*time.Second; {
			time.Sleep(50 * time.Millisecond)
		}
	}
	lists("run-1")
	ctx, stop := context.WithCancel(ctx)
	var ends sync.WaitGroup
	defer ends.Wait()
	defer stop()
	works := func(d *temporal.Driver, happened func(driver.AttemptID, *driver.Outcome, error)) {
		ends.Go(func() {
			err := d.Work(ctx, driver.Worker{Name: newName(), Happened: happened, Resolve: func(context.Context, string, *driver.Pin) (driver.Work, func(), error) {
				return driver.Work{Agents: agent(echo)}, func() {}, nil
			}}, nil)
			if err != nil {
				t.Error(err)
			}
		})
	}
	refused := make(chan error, 1)
	works(other, func(a driver.AttemptID, _ *driver.Outcome, err error) {
		if a.Run == "run-1" {
			refused <- err
		}
	})
	const why = "uses another store"
	var err error
	select {
	case err = <-refused:
	case <-time.After(20 * time.Second):
	}
	checks := map[string]error{"work": err}
	_, checks["info"] = other.Info(ctx, "run-1")
	for _, prefix := range []string{"run-1", "run-"} {
		_, checks["find "+prefix] = other.Find(ctx, prefix)
	}
	_, checks["act"] = other.Act(ctx, "run-1", &engine.CancelAsked{})
	_, checks["drive"] = other.Drive(ctx, "run-1", driver.Work{})
	checks["delete"] = other.Delete(ctx, "run-1")
	for _, err := range other.Events(ctx, "run-1", 0, false) {
		checks["events"] = err
	}
	notice, err := other.Notice(ctx)
	for range 100 {
		if notice != "" || err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond) // the server lists it a little later
		notice, err = other.Notice(ctx)
	}
	if err != nil || !strings.Contains(notice, "use another store: 1, such as run-1") || !strings.Contains(notice, "its file system is mounted; for another project, set another `queue`; only if their store is lost, `temporal workflow delete --address "+address+" --namespace default --workflow-id "+queue+"/run-1`") {
		t.Errorf("%q %v", notice, err)
	}
	if list, err := other.Runs(ctx, driver.Filter{}); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
	if notice, err := mine.Notice(ctx); notice != "" || err != nil {
		t.Errorf("%q %v", notice, err)
	}
	for what, err := range checks {
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	doctor := func(broken bool) {
		t.Helper()
		found := other.Examine(ctx)
		if store := found[len(found)-1]; store.Broken != broken || store.Remedy == "" || !strings.Contains(store.Found, "runs of the queue "+queue+" use another store: 1, such as run-1") {
			t.Errorf("doctor: %+v", store)
		}
	}
	doctor(true)
	spec.Run = "run-2"
	if _, err := other.Start(ctx, spec); err != nil {
		t.Fatal(err)
	}
	lists("run-2")
	doctor(false)
	if id, err := other.Find(ctx, "run-"); id != "run-2" || err != nil {
		t.Errorf("the only run of this store: %s %v", id, err)
	}
	info, err := mine.Info(ctx, "run-1")
	for deadline := time.Now().Add(20 * time.Second); info.Stalled == "" && err == nil && time.Now().Before(deadline); info, err = mine.Info(ctx, "run-1") {
		time.Sleep(100 * time.Millisecond)
	}
	if want := fmt.Sprintf("no worker serves the queue %s with the store %s", queue, here); err != nil || info.Stalled != want {
		t.Errorf("%+v %v", info, err)
	}
	works(mine, nil)
	if res, err := mine.Drive(ctx, "run-1", driver.Work{}); err != nil || res.Status != engine.Success {
		t.Errorf("%+v %v", res, err)
	}
}

// TestBusyStore: another store is no remedy if the server of this one has too much to do.
func TestBusyStore(t *testing.T) {
	needsServer(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := temporal.OpenStore("s3://bucket/some?region=us-east-1&endpoint=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = temporal.Open(options(newName(), s))
	if err == nil || !strings.HasPrefix(err.Error(), "store s3://bucket/some/id: the server of the store cannot answer now; try again later") || strings.Contains(err.Error(), "config.yml") {
		t.Error(err)
	}
}

// A store that cannot be used is named, with what to do about it.
func TestUnusableStore(t *testing.T) {
	needsServer(t)
	at := filepath.Join(t.TempDir(), "store")
	if err := os.Symlink("missing", at); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	_, err := temporal.Open(options(newName(), temporal.Folder(at))) // which makes it
	if err == nil || !strings.HasPrefix(err.Error(), "the store "+at+" cannot be used: ") || !strings.Contains(err.Error(), "; set `store` under `temporal`") {
		t.Error(err)
	}
}
