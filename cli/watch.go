package cli

import (
	"io"
	"os"
	"sync"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// watcher shows a run to people while it is driven. Its methods may be called
// from any goroutine, and none of them blocks for long.
type watcher interface {
	fact(f engine.Fact)
	log(address string, piece []byte)
	// ask shows a question until it is withdrawn; answer records an answer.
	// false: nobody is here who could give one.
	ask(q *engine.AskHuman, answer func(value string) error) bool
	withdraw(address string)
	// wholeRun says whether the watcher wants to know what happened before.
	wholeRun() bool
	// close draws the last state and gives the terminal back.
	close()
	// drawn says whether a drawing stands on the screen.
	drawn() bool
}

// watch makes the watcher that fits where standard error goes: a live tree in a
// terminal, lines elsewhere, nothing if nobody wants to see it. stop is called
// when the person at the terminal wants the run to stop.
func (a *app) watch(run string, b *workflow.Bundle, quiet bool, stop func()) watcher {
	if quiet {
		return silent{}
	}
	if out, ok := terminal(a.std.Err); ok && os.Getenv("TERM") != "dumb" {
		return newLive(out, a.std.In, a.errStyle, view.NewTree(run, b), stop)
	}
	a.note("run " + run + "\n")
	return &lines{out: a.std.Err, style: a.errStyle}
}

// silent watches nothing.
type silent struct{}

func (silent) fact(engine.Fact)                              {}
func (silent) log(string, []byte)                            {}
func (silent) ask(*engine.AskHuman, func(string) error) bool { return false }
func (silent) withdraw(string)                               {}
func (silent) wholeRun() bool                                { return false }
func (silent) close()                                        {}
func (silent) drawn() bool                                   { return false }

// lines writes one line for each fact, and leaves questions to others.
type lines struct {
	silent
	mu    sync.Mutex
	out   io.Writer
	style view.Style
}

func (l *lines) fact(f engine.Fact) {
	line := view.Plain(f, l.style)
	if line == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.out, line+"\n") // a reader that went away does not stop the run
}
