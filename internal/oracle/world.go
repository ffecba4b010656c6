package oracle

import (
	"fmt"

	"github.com/hocket-dev/hocket/engine"
)

// World is what a run has requested and has not seen the end of. A driver keeps the same state.
type World struct {
	Tasks     map[string]*engine.StartTask // by address
	Stopped   map[string]bool              // addresses of tasks that were told to stop
	Timers    map[string]*engine.SetTimer
	Questions map[string]engine.Question // of all kinds
	Ended     *engine.Finish
}

// NewWorld returns the world of a run that has not started.
func NewWorld() *World {
	return &World{Tasks: map[string]*engine.StartTask{}, Stopped: map[string]bool{}, Timers: map[string]*engine.SetTimer{}, Questions: map[string]engine.Question{}}
}

// Happened removes what an event ends. A process that resumes a run knows nothing that another
// process started.
func (w *World) Happened(ev engine.Event) {
	switch ev := ev.(type) {
	case *engine.TaskEnded:
		delete(w.Tasks, ev.Address)
		delete(w.Stopped, ev.Address)
	case *engine.Answered:
		delete(w.Questions, ev.ID)
	case *engine.TimerFired:
		delete(w.Timers, ev.ID)
	case *engine.Recovered:
		clear(w.Tasks)
		clear(w.Stopped)
		clear(w.Timers)
		clear(w.Questions)
	}
}

// CarryOut records the commands of a run.
func (w *World) CarryOut(commands []engine.Command) error {
	for _, c := range commands {
		if w.Ended != nil {
			return fmt.Errorf("a command after the end: %T", c)
		}
		switch c := c.(type) {
		case *engine.StartTask:
			w.Tasks[c.Address] = c
		case *engine.CancelTask:
			w.Stopped[c.Address] = true
		case *engine.SetTimer:
			w.Timers[c.ID] = c
		case *engine.CancelTimer:
			delete(w.Timers, c.ID)
		case *engine.Ask:
			w.Questions[c.ID] = c.Question
		case *engine.Withdraw:
			delete(w.Questions, c.ID)
		case *engine.Reply:
			if t := w.Tasks[c.Address]; t == nil || t.Attempt != c.Attempt {
				return fmt.Errorf("a reply to an attempt that is not running: %+v", c)
			}
			delete(w.Questions, c.ID) // its answer may have named only the step
		case *engine.Return:
			if t := w.Tasks[c.Address]; t == nil || t.Attempt != c.Attempt {
				return fmt.Errorf("a result for an attempt that is not running: %+v", c)
			}
		case *engine.Finish:
			w.Ended = c
		}
	}
	return nil
}
