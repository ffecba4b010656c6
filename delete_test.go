package hocket_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/session"
)

// deletable has a workflow that waits in a directory, and one that ends.
var deletable = map[string]string{
	".hocket/config.yml":          onTemporal,
	".hocket/workflows/w.yml":     "name: w\nsteps:\n  - {id: a, agent: shell, workspace: own, config: {command: echo x > made}}\n  - {id: ok, human: \"Go on?\"}\n",
	".hocket/workflows/short.yml": "name: short\nsteps:\n  - {id: a, agent: shell, workspace: own, config: {command: id}}\n",
}

// onDriver returns options for a project with a driver on another journal than its own.
func onDriver(state string, wrap func(driver.Driver) driver.Driver) hocket.Options {
	return hocket.Options{
		Drivers: map[string]hocket.OpenDriver{"temporal": func(hocket.DriverSetup) (driver.Driver, error) {
			d, err := local.Open(state, local.Options{})
			return wrap(d), err
		}},
		Trust: func(context.Context, *hocket.UntrustedError) (bool, error) { return true, nil },
	}
}

func plainly(d driver.Driver) driver.Driver { return d }

// waits starts a run that waits for a person.
func waits(t *testing.T, p *hocket.Project) *hocket.Run {
	t.Helper()
	r := start(t, p, "w", nil)
	if res := wait(t, r); res.Status != engine.Waiting {
		t.Fatalf("%+v", res)
	}
	return r
}

func cancelled(t *testing.T, p *hocket.Project) *hocket.Run {
	t.Helper()
	r := waits(t, p)
	if _, err := r.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return r
}

// everything returns what is left of runs in the state and in the user's repository.
func everything(t *testing.T, p *hocket.Project, dir string) (left []string) {
	t.Helper()
	all, err := p.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		left = append(left, "the directory of "+w.Run)
	}
	if refs := git(t, dir, "for-each-ref", "refs/hocket"); refs != "" {
		left = append(left, refs)
	}
	noted, err := filepath.Glob(filepath.Join(dir, ".state", "places", "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(left, noted...)
}

// Whatever deletes a run also deletes what the run has received from the inboxes of agents, and gives back what it has not. So does the
// cancellation of a run that nobody drives.
func TestMessagesOfDeletedRuns(t *testing.T) {
	for name, remove := range map[string]func(*hocket.Project, *hocket.Run) error{
		"cancel": func(_ *hocket.Project, r *hocket.Run) error {
			_, err := r.Cancel(t.Context(), "")
			return err
		},
		"delete": func(_ *hocket.Project, r *hocket.Run) error { return r.Delete(t.Context()) },
		"gc": func(p *hocket.Project, _ *hocket.Run) error {
			_, err := p.Collect(t.Context(), hocket.Retention{Age: 1}, false)
			return err
		},
		"retention": func(p *hocket.Project, _ *hocket.Run) error {
			wait(t, start(t, p, "brief", nil))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := workshop(t, map[string]string{
				".hocket/config.yml":          "retention: {max_runs: 1}\n",
				".hocket/workflows/w.yml":     "name: w\nsteps: [{id: ok, human: \"Go on?\"}]\n",
				".hocket/workflows/brief.yml": "name: brief\n" + greeting,
			})
			r := waits(t, p)
			if name != "cancel" {
				if _, err := r.Cancel(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			inbox := session.OpenInbox(p.State())
			for _, task := range []string{"received", "killed"} { // before the agent had its message
				_, err := inbox.Put("ann", task, []byte(task))
				if err == nil {
					_, err = inbox.Take("ann", r.ID(), task, true)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := inbox.Received("ann", r.ID(), "received"); err != nil {
				t.Fatal(err)
			}
			if err := remove(p, r); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Info(t.Context()); (name != "cancel") != errors.As(err, new(*hocket.UnknownRunError)) {
				t.Fatalf("the run: %v", err)
			}
			if got, err := inbox.Take("ann", "next", "task", true); err != nil || len(got) != 1 || string(got[0]) != "killed" {
				t.Errorf("the next run gets %q %v", got, err)
			}
			if got, err := inbox.Take("ann", r.ID(), "received", false); err != nil || len(got) > 0 {
				t.Errorf("the run has left %q %v", got, err)
			}
		})
	}
}

// meddled is a driver in which something happens when runs are deleted.
type meddled struct {
	driver.Driver
	meddle *func(remove func() error) error
}

func (d meddled) Delete(ctx context.Context, run string) error {
	return (*d.meddle)(func() error { return d.Driver.Delete(ctx, run) })
}

func (d meddled) Collect(ctx context.Context, r driver.Retention, keep []string, dry bool) (deleted []driver.Collected, err error) {
	if dry {
		return d.Driver.Collect(ctx, r, keep, dry)
	}
	err = (*d.meddle)(func() (err error) { deleted, err = d.Driver.Collect(ctx, r, keep, dry); return err })
	return deleted, err
}

func smoothly(remove func() error) error { return remove() }

// deletableWith opens a project with such a driver.
func deletableWith(t *testing.T, meddle *func(func() error) error) (*hocket.Project, string) {
	t.Helper()
	return repository(t, deletable, onDriver(t.TempDir(), func(d driver.Driver) driver.Driver { return meddled{d, meddle} }))
}

// What a process leaves that is killed while it deletes runs, the next one removes.
func TestKilledWhileRunsAreDeleted(t *testing.T) {
	meddle := smoothly
	p, dir := deletableWith(t, &meddle)
	inbox := session.OpenInbox(p.State())
	for name, remove := range map[string]func(*hocket.Run) error{
		"delete": func(r *hocket.Run) error { return r.Delete(t.Context()) },
		"gc": func(*hocket.Run) error {
			_, err := p.Collect(t.Context(), hocket.Retention{Age: 1}, false)
			return err
		},
	} {
		r := cancelled(t, p)
		_, err := inbox.Put("ann", name, []byte(name))
		if err == nil {
			_, err = inbox.Take("ann", r.ID(), "task", true)
		}
		if err != nil {
			t.Fatal(err)
		}
		meddle = func(remove func() error) error { panic(errors.Join(errors.New("killed"), remove())) }
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was not killed", name)
				}
			}()
			_ = remove(r)
		}()
		meddle = smoothly
		if _, err := r.Info(t.Context()); !errors.As(err, new(*hocket.UnknownRunError)) || len(everything(t, p, dir)) == 0 {
			t.Fatalf("%s: the run: %v, or nothing is left", name, err)
		}
		if _, err := p.Collect(t.Context(), hocket.Retention{Age: time.Hour}, false); err != nil {
			t.Fatal(err)
		}
		if left := everything(t, p, dir); len(left) > 0 {
			t.Errorf("after %s was killed: %q", name, left)
		}
		if got, err := inbox.Take("ann", "next", name, true); err != nil || len(got) != 1 {
			t.Errorf("after %s was killed, the next run gets %q %v", name, got, err)
		}
	}
}

// A run that could not be deleted stays as it is.
func TestRunsThatAreNotDeleted(t *testing.T) {
	meddle := func(func() error) error { return errAway }
	p, dir := deletableWith(t, &meddle)
	r := cancelled(t, p)
	if err := r.Delete(t.Context()); !errors.Is(err, errAway) {
		t.Fatal(err)
	}
	if _, err := p.Collect(t.Context(), hocket.Retention{Age: time.Hour}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Diff(t.Context(), hocket.Made{}, 1000); err != nil {
		t.Errorf("the run that could not be deleted: %v", err)
	}
	meddle = smoothly
	if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := everything(t, p, dir); len(left) > 0 {
		t.Errorf("after it was deleted: %q", left)
	}
}

// A run is deleted also if that cannot be noted, as on a full disk. What is left of it is noted when there is space again.
func TestDeletedWithoutANote(t *testing.T) {
	meddle := smoothly
	p, dir := deletableWith(t, &meddle)
	full := filepath.Join(dir, ".state", "places")
	fill := func() {
		t.Helper()
		if err := os.RemoveAll(full); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "missing"), full); err != nil {
			t.Skip(err) // Windows may not allow it
		}
	}
	gone, opened := cancelled(t, p), cancelled(t, p)
	copied, err := opened.OpenWorkspace(t.Context(), hocket.Made{})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(copied, "mine"), "x")
	fill()
	if err := gone.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	meddle = func(remove func() error) error { return errors.Join(remove(), os.Remove(full)) }
	if err := opened.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	if left := everything(t, p, dir); len(left) != 2 {
		t.Errorf("left: %q, want the copy and the note", left)
	}
	if err := os.RemoveAll(copied); err != nil {
		t.Fatal(err)
	}
	meddle = smoothly
	if _, err := p.Collect(t.Context(), hocket.Retention{Age: time.Hour}, false); err != nil {
		t.Fatal(err)
	}
	if left := everything(t, p, dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// forking is a driver with workers that lists a fork of a run that was deleted.
type forking struct {
	driver.Driver
	origin *string // of the fork; "": there is none
}

func (forking) Work(context.Context, driver.Worker, <-chan struct{}) error { return nil }
func (forking) Away(error) bool                                            { return false }
func (forking) Place() string                                              { return "there" }

func (forking) Deleted(context.Context, string) (*driver.Deletion, error) { return nil, nil }

func (forking) Reserve(context.Context, string, int, []byte) error { return nil }

func (forking) Reserved(context.Context, string) ([][]byte, error) { return nil, nil }

var _ driver.Workers = forking{}

func (d forking) Runs(ctx context.Context, f driver.Filter) ([]driver.Info, error) {
	all, err := d.Driver.Runs(ctx, f)
	if *d.origin != "" {
		all = slices.Insert(all, 0, driver.Info{ID: "fork", Origin: *d.origin})
	}
	return all, err
}

// What a run has made stays for its forks on workers, also when runs of another driver of the project are deleted, which does not know them.
func TestOtherDriversReleaseNothing(t *testing.T) {
	elsewhere, origin := t.TempDir(), ""
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	there, dir := repository(t, deletable, onDriver(elsewhere, plainly))
	r := cancelled(t, there)
	all, err := there.Powers()
	if err == nil {
		err = there.Trust(all)
	}
	if err != nil {
		t.Fatal(err)
	}
	origin = r.ID()
	workers := openDir(t, dir, onDriver(elsewhere, func(d driver.Driver) driver.Driver { return forking{d, &origin} }))
	options := onDriver(elsewhere, plainly)
	options.Local = true
	here := openDir(t, dir, options)
	if r, err := workers.Run(t.Context(), r.ID()); err != nil {
		t.Fatal(err)
	} else if err := r.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cancelled(t, here).Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*hocket.Project{"here": here, "on workers": workers, "on another driver": there} {
		if _, err := p.Collect(t.Context(), hocket.Retention{Age: time.Hour}, false); err != nil {
			t.Fatal(err)
		}
		if git(t, dir, "for-each-ref", "refs/hocket/"+r.ID()) == "" {
			t.Fatalf("hocket gc %s has removed what the fork repeats", name)
		}
	}
	origin = ""
	if _, err := workers.Collect(t.Context(), hocket.Retention{Age: time.Hour}, false); err != nil {
		t.Fatal(err)
	}
	if left := everything(t, here, dir); len(left) > 0 {
		t.Errorf("after the fork was deleted: %q", left)
	}
}
