package drivertest

import (
	"context"
	"time"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// process is a driver with the agent that does the work of its runs.
type process struct {
	raw  Process
	work driver.Work
}

func open(t *scene, w World, agent Agent) *process { return openAt(t, w, time.Now, agent) }

// openAt opens a process on a machine with its own wall clock.
func openAt(t *scene, w World, now func() time.Time, agent Agent) *process {
	return &process{w.Driver(t, now), driver.Work{Agents: agents(agent)}}
}

// agents uses one agent for everything.
type agents Agent

func (a agents) Run(ctx context.Context, _ string, task *engine.StartTask, _ driver.Attempt) driver.Outcome {
	return a(ctx, task)
}

// Start describes a run to start.
type Start struct {
	Run    string
	Bundle *workflow.Bundle
	Inputs map[string]any
	Limits workflow.Limits
	Tasks  map[string]engine.TaskFacts
}

func (s Start) spec() driver.Spec {
	return driver.Spec{Run: s.Run, Pin: &driver.Pin{Bundle: s.Bundle}, Inputs: s.Inputs, Limits: s.Limits, Tasks: s.Tasks}
}

// Start starts a claimed run and drives it.
func (p *process) Start(ctx context.Context, s Start) (engine.Result, error) {
	spec := s.spec()
	spec.Owner.Claimed = true
	made, err := p.raw.Start(ctx, spec)
	if err != nil {
		return engine.Result{}, err
	}
	return p.raw.Drive(ctx, made.Run, p.work)
}

func (p *process) Resume(ctx context.Context, run string) (engine.Result, error) {
	return p.raw.Drive(ctx, run, p.work)
}

func (p *process) Answer(ctx context.Context, run, address, value string) error {
	_, err := p.raw.Act(ctx, run, &engine.Answered{ID: address, Value: value, By: "ann"})
	return err
}

func (p *process) Cancel(ctx context.Context, run, reason string) error {
	_, err := p.raw.Act(ctx, run, &engine.CancelAsked{Reason: reason})
	return err
}

func (p *process) Raise(ctx context.Context, run string, limits workflow.Limits) error {
	_, err := p.raw.Act(ctx, run, &engine.LimitRaised{Limits: limits, By: "ann"})
	return err
}

// Events returns the recorded events of a run.
func (p *process) Events(ctx context.Context, run string) (events []engine.Envelope, err error) {
	for e, err := range p.raw.Events(ctx, run, 0, false) {
		if err == nil {
			e, err = driver.Whole(ctx, p.raw, run, e)
		}
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func (p *process) Kill() { p.raw.Kill() }
