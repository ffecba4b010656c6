package server

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/wholefile"
	"github.com/hocket-dev/hocket/trigger"
)

// ServedLabel is the label of runs that were started through a server. A server drives them again
// after it was killed.
const ServedLabel = "served"

// drives drives the runs of a project that the server is responsible for: those that were started
// through a server, and those that were handed to it.
type drives struct {
	s    *Server
	p    *hocket.Project
	file string // the runs that were handed to the server, by id

	mu     sync.Mutex
	ctx    context.Context // nil before run
	closed bool
	leave  chan struct{} // closed when nothing new may start
	handed map[string]bool
	active map[string]bool        // being driven here; true: look at it again afterwards
	due    map[string]*time.Timer // of runs that wait for a time
	queued map[string]string      // runs that wait for an older run of their trigger, which is the value
	idle   *sync.Cond             // no run is driven here
}

func newDrives(s *Server, p *hocket.Project) *drives {
	d := &drives{s: s, p: p, file: filepath.Join(p.State(), "served.json"), leave: make(chan struct{}), handed: map[string]bool{}, active: map[string]bool{}, due: map[string]*time.Timer{}, queued: map[string]string{}}
	d.idle = sync.NewCond(&d.mu)
	return d
}

// run drives what is due now and later, until ctx is done. Then it waits until nothing is driven.
func (d *drives) run(ctx context.Context) {
	d.mu.Lock()
	d.ctx = ctx
	d.readHanded()
	d.mu.Unlock()
	wrong := ""
	for ctx.Err() == nil {
		for change, err := range d.p.Watch(ctx) {
			if err != nil {
				if ctx.Err() == nil && err.Error() != wrong { // it may last
					d.s.log.Error("runs cannot be watched", "project", d.p.Root(), "error", err)
					wrong = err.Error()
				}
				break
			}
			wrong = ""
			d.see(change.Info)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // the journal may be readable again
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.active) > 0 {
		d.idle.Wait()
	}
}

// close makes drives start nothing new, neither runs nor steps.
func (d *drives) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	close(d.leave)
	for id, t := range d.due {
		t.Stop()
		delete(d.due, id)
	}
}

// drain waits until nothing is driven, or ctx is done.
func (d *drives) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, d.idle.Broadcast)
	defer stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.active) > 0 && ctx.Err() == nil {
		d.idle.Wait()
	}
}

// see decides what to do about a run that has changed.
func (d *drives) see(info hocket.Info) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := info.ID
	if t := d.due[id]; t != nil {
		t.Stop()
		delete(d.due, id)
	}
	switch {
	case info.Status.Done() || info.Status == "": // over or deleted
		if d.handed[id] {
			delete(d.handed, id)
			d.writeHanded()
		}
		d.over(info)
	case d.closed || !d.responsible(info):
	case d.isActive(id):
		d.active[id] = true
	case info.Driven || info.Problem != "":
	case d.mustWait(info):
		d.queued[id] = info.Owner.Labels[hocket.TriggerLabel]
	case info.Status == engine.Running:
		d.drive(id)
	case !info.Due.IsZero():
		d.due[id] = time.AfterFunc(time.Until(info.Due), func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if delete(d.due, id); !d.closed && !d.isActive(id) {
				d.drive(id)
			}
		})
	}
}

// responsible reports whether the server drives a run whenever no other process does. The caller holds the lock.
func (d *drives) responsible(info hocket.Info) bool {
	_, served := info.Owner.Labels[ServedLabel]
	return served || d.handed[info.ID]
}

// goesOn reports whether a run goes on by itself after an answer.
func (d *drives) goesOn(info hocket.Info) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return info.Driven || d.responsible(info)
}

// mustWait reports whether a run has to wait until an older run of its trigger is over.
func (d *drives) mustWait(info hocket.Info) bool {
	wait, err := trigger.MustWait(context.Background(), d.p, info)
	if err != nil { // when the journal can be read again, run sees all runs again
		d.s.log.Error("runs of a trigger cannot be listed", "run", info.ID, "error", err)
	}
	return wait || err != nil
}

// over looks at the runs that may have waited for one that is over, or was deleted. The caller holds the lock.
func (d *drives) over(run hocket.Info) {
	delete(d.queued, run.ID)
	name := run.Owner.Labels[hocket.TriggerLabel]
	for id, of := range d.queued {
		if name != "" && of != name || run.Status != "" && name == "" {
			continue
		}
		delete(d.queued, id)
		go func() {
			if info, err := d.info(context.Background(), id); err == nil {
				d.see(info)
			}
		}()
	}
}

func (d *drives) isActive(id string) bool {
	_, active := d.active[id]
	return active
}

// take makes the server responsible for a run, and drives it. The error says why the run cannot be
// driven here.
func (d *drives) take(ctx context.Context, r *hocket.Run) error {
	if err := r.CheckDrive(ctx, nil); err != nil {
		return err
	}
	info, err := r.Info(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return hocket.ErrClosed
	}
	if _, ours := info.Owner.Labels[ServedLabel]; !ours && !d.handed[r.ID()] {
		d.handed[r.ID()] = true
		d.writeHanded()
	}
	if d.isActive(r.ID()) {
		d.active[r.ID()] = true
	} else {
		d.drive(r.ID())
	}
	return nil
}

// drive drives a run in the background. The caller holds the lock.
func (d *drives) drive(id string) {
	if d.ctx == nil {
		return // run will see it
	}
	ctx := d.ctx
	d.active[id] = false
	go func() {
		info, err := d.once(ctx, id)
		var held *hocket.HeldError
		var interrupted *hocket.InterruptedError
		if errors.As(err, &held) || errors.As(err, &interrupted) || ctx.Err() != nil {
			info, err = hocket.Info{}, nil
		}
		if err != nil { // it stays as it is, so that the server does not try for ever
			d.s.log.Error("run cannot be driven", "run", id, "error", err)
		}
		d.mu.Lock()
		again := d.active[id]
		delete(d.active, id)
		d.idle.Broadcast()
		d.mu.Unlock()
		if err == nil && ctx.Err() == nil && (again || info.Status == engine.Running || !info.Due.IsZero()) {
			if info, err = d.info(ctx, id); err == nil {
				d.see(info)
			}
		}
	}()
}

// once drives a run until it ends or waits, and returns its state after that.
func (d *drives) once(ctx context.Context, id string) (hocket.Info, error) {
	r, err := d.p.Run(ctx, id)
	if err != nil {
		return hocket.Info{}, err
	}
	observer, end := d.s.handoffs(d.p).Follow(ctx, r, nil)
	_, err = r.Drive(ctx, hocket.Front{Observer: observer, Elsewhere: true, Leave: d.leave})
	end()
	if err != nil {
		return hocket.Info{}, err
	}
	return r.Info(ctx)
}

func (d *drives) info(ctx context.Context, id string) (hocket.Info, error) {
	r, err := d.p.Run(ctx, id)
	if err != nil {
		return hocket.Info{}, err
	}
	return r.Info(ctx)
}

// drivesNow reports whether a run is driven here.
func (d *drives) drivesNow(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isActive(id)
}

// running returns how many runs are driven here.
func (d *drives) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.active)
}

func (d *drives) readHanded() {
	data, err := os.ReadFile(d.file)
	var ids []string
	if err == nil {
		err = json.Unmarshal(data, &ids)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.s.log.Error("the list of runs to continue cannot be read", "file", d.file, "error", err)
	}
	for _, id := range ids {
		d.handed[id] = true
	}
}

func (d *drives) writeHanded() {
	ids := make([]string, 0, len(d.handed))
	for id := range d.handed {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	data, err := json.Marshal(ids)
	if err == nil {
		err = wholefile.Write(d.file, data, 0o600)
	}
	if err != nil { // the run is driven, but would not be after a crash
		d.s.log.Error("the list of runs to continue cannot be written", "file", d.file, "error", err)
	}
}
