package temporal_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/engine"
)

// TestFolderGoesAway: a folder whose file system is not mounted is not made again, and what is in it does not seem to be deleted. A mount
// point is still there then, and empty.
func TestFolderGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := temporal.Folder(dir)
	for _, key := range []string{"id", "a/b"} {
		if err := s.Put(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	for _, mounted := range []string{"no directory", "an empty directory"} {
		t.Run(mounted, func(t *testing.T) {
			checks := map[string]error{"put": s.Put(t.Context(), "a/b", nil), "create": s.Create(t.Context(), "a/c", nil), "delete": s.Delete(t.Context(), "a")}
			_, checks["get"] = s.Get(t.Context(), "a/b")
			_, checks["list"] = s.List(t.Context(), "a")
			for what, err := range checks {
				if !errors.As(err, new(*temporal.NoStoreError)) || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
		if found, err := os.ReadDir(dir); len(found) > 0 || mounted == "no directory" && err == nil {
			t.Errorf("it was made again: %v", found)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoreGoesAway: a run does not end while its store is away, because its outputs would be lost. The worker says so, and the run goes
// on when the store is back.
func TestStoreGoesAway(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	d := open(t, options(newName(), temporal.Folder(dir)))
	begun, goOn, told := make(chan bool, 10), make(chan bool), make(chan string, 100)
	long := strings.Repeat("long ", 100_000)
	employ(t, d, driver.Worker{Name: "w1", Stalled: func(why string) { told <- why }}, func(context.Context, *engine.StartTask, driver.Attempt) driver.Outcome {
		begun <- true
		<-goOn
		return driver.Outcome{Output: long}
	}, nil)
	begin(t, d, chain(task("a")))
	<-begun
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	says(t, told, "there is no store at "+dir+": is its file system mounted?")
	time.Sleep(time.Second)
	if i, err := d.Info(t.Context(), "run-1"); err == nil && i.Status.Done() {
		t.Errorf("it is over: %+v", i)
	}
	if err := os.Rename(dir+".away", dir); err != nil { // nothing is there
		t.Fatal(err)
	}
	says(t, told, "")
	res, err := d.Drive(t.Context(), "run-1", driver.Work{})
	if err != nil || res.Status != engine.Success || res.Output != long {
		t.Errorf("%s, %v, %+v, the long output: %t", res.Status, err, res.Error, res.Output == long)
	}
}

// TestNewStore: only somebody who asks for a store gets a new one, and only while the project has no runs: one that is not mounted
// would seem to be new.
func TestNewStore(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	o := options(newName(), temporal.Folder(dir))
	reads := o
	reads.Create = false
	refused := func(o temporal.Options, want string) {
		t.Helper()
		if d, err := temporal.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
			if err == nil {
				d.Close()
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "id")); err == nil {
			t.Error("a store was made")
		}
	}
	const none = ": is its file system mounted?"
	refused(reads, none)
	begin(t, open(t, o), chain(gate("ok")))
	open(t, reads)
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	refused(reads, none)
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // the server lists the run a little later
		if executions(t, o.Queue+"/run-1") > 0 || time.Since(began) > 20*time.Second {
			break
		}
	}
	const other = "it is new, but the queue "
	refused(o, other)
	if err := os.Mkdir(dir, 0o700); err != nil { // a mount point
		t.Fatal(err)
	}
	refused(reads, none)
	refused(o, other)
}
