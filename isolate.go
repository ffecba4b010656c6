package hocket

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workspace"
)

// workspaces opens the store of the project's workspaces.
func (p *Project) workspaces(ctx context.Context) (*workspace.Store, error) {
	return workspace.Open(ctx, filepath.Join(p.State(), "workspaces"), p.Root())
}

// capture records what the project is now, for a run of the bundle. The run gets it with [workspace.Store.Copy]
// when it has an id.
func (p *Project) capture(ctx context.Context, b *workflow.Bundle) (base workspace.Base, keep func(run string) error, err error) {
	keep = func(string) error { return nil }
	if !b.Isolates() {
		return base, keep, nil
	}
	store, err := p.workspaces(ctx)
	if err != nil {
		return base, keep, fmt.Errorf("steps of %s have workspaces of their own: %w", b.Root.Name, err)
	}
	provisional := "start-" + time.Now().UTC().Format("20060102T150405.000000000")
	if base, err = store.Capture(ctx, provisional, p.Config().Workspace.Include); err != nil {
		return base, keep, fmt.Errorf("steps of %s have workspaces of their own: %w", b.Root.Name, err)
	}
	return base, func(run string) error {
		ctx := context.WithoutCancel(ctx)
		if run != "" {
			if err := store.Copy(ctx, provisional, run); err != nil {
				return err
			}
		}
		return store.Forget(ctx, provisional)
	}, nil
}

// isolation makes attempts in workspaces.
type isolation struct {
	p    *Project
	open func() (*workspace.Store, error)
}

func (p *Project) isolation(ctx context.Context) *isolation {
	ctx = context.WithoutCancel(ctx)
	return &isolation{p, sync.OnceValues(func() (*workspace.Store, error) { return p.workspaces(ctx) })}
}

// attemptIn makes an attempt in a directory.
type attemptIn func(ctx context.Context, dir string, task *engine.StartTask) driver.Outcome

// run makes an attempt where the command says.
func (i *isolation) run(ctx context.Context, run string, task *engine.StartTask, at driver.Attempt, scripted bool, make attemptIn) driver.Outcome {
	if task.Workspace == "" && task.Within == "" {
		return make(ctx, i.p.Root(), task)
	}
	store, err := i.open()
	if err != nil {
		return unprepared(err)
	}
	if task.Within != "" {
		return make(ctx, store.Dir(run, task.Within), task)
	}
	if err := i.provide(ctx, store, run, task.Workspace); err != nil {
		return unprepared(err)
	}
	c := &attemptAt{store: store, run: run, task: task, ask: at.Ask, make: make, include: i.p.Config().Workspace.Include}
	switch {
	case task.Agent == workflow.LandAgent && !scripted: // a reply lands nothing
		return c.land(ctx)
	case task.Place.Branches == workflow.PickBranch:
		return c.pick(ctx)
	case task.Place.Branches == workflow.MergeBranches:
		return c.merge(ctx)
	}
	return c.work(ctx, task.Workspace)
}

// attemptAt is an attempt in a workspace.
type attemptAt struct {
	store *workspace.Store
	run   string
	task  *engine.StartTask
	ask   agent.Ask
	make  attemptIn

	include []string
}

// work makes the attempt from a commit.
func (c *attemptAt) work(ctx context.Context, from string) driver.Outcome {
	w, err := c.checkout(ctx, from)
	if err != nil {
		return unprepared(err)
	}
	defer w.Close()
	return collected(ctx, w, c.task, c.make(ctx, w.Dir, c.task))
}

func (c *attemptAt) checkout(ctx context.Context, from string) (*workspace.Workspace, error) {
	return c.store.Checkout(ctx, workspace.Attempt{Run: c.run, Address: c.task.Address, Number: c.task.Attempt}, from)
}

// collectTime limits how long files are collected after an attempt was told to stop.
const collectTime = time.Minute

// collected records what an attempt left. What a failed attempt left can be shown, but nothing follows from it.
func collected(ctx context.Context, w *workspace.Workspace, task *engine.StartTask, out driver.Outcome) driver.Outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	defer cancel()
	commit, err := w.Collect(ctx, fmt.Sprintf("%s, attempt %d", task.Address, task.Attempt))
	switch {
	case out.Fault != nil: // the next attempt collects it, or keeps the directory
	case err != nil:
		out.Fault = &engine.Fault{Kind: engine.FaultError, Message: "its files cannot be recorded: " + err.Error()}
	default:
		out.Workspace = commit
	}
	return out
}

// provide makes sure that the store has a commit. A worker on another machine than the one that started the run
// captures its own files: if they are the same, so is the commit.
func (i *isolation) provide(ctx context.Context, store *workspace.Store, run, commit string) error {
	if found, err := store.Has(ctx, commit); err != nil || found {
		return err
	}
	base, err := store.Capture(ctx, run, i.p.Config().Workspace.Include)
	if err != nil {
		return err
	}
	if base.Commit != commit {
		return fmt.Errorf("the workspace %.12s is not on this machine, and its files differ from those that the run began with", commit)
	}
	return nil
}

func unprepared(err error) driver.Outcome {
	return driver.Outcome{Fault: &engine.Fault{Kind: engine.FaultError, Message: "its workspace cannot be prepared: " + err.Error()}}
}
