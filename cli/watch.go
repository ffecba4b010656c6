package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/cli/ask"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// watcher shows a run to people while it is driven. Its methods may be called
// from any goroutine, and none of them blocks for long.
type watcher interface {
	fact(f engine.Fact)
	log(address string, piece []byte)
	// ask shows a question until it is withdrawn or left. false: nobody is here
	// who could answer it.
	ask(q *engine.Question, answer reply) bool
	withdraw(address string)
	// stopping says that the run was told to stop.
	stopping()
	// past tells what happened before this process drove the run.
	past(f engine.Fact)
	// began says when the run began, if what was told before is another run's.
	began(at time.Time)
	// close draws the last state and gives the terminal back.
	close()
	// drawn says whether a drawing stands on the screen.
	drawn() bool
}

// reply is what a person who is asked can do.
type reply struct {
	give  func(value string) error // the error says why it is not taken
	leave func()                   // the question stays open, for somebody elsewhere
}

// watch makes the watcher that fits where standard error goes: a live tree in a
// terminal, lines elsewhere, nothing if nobody wants to see it. stop is called
// when the person at the terminal wants the run to stop.
func (a *app) watch(run string, b *workflow.Bundle, f driveFlags, stop func()) watcher {
	if f.quiet {
		return &quietly{lines: a.newLines(b)}
	}
	if out, ok := terminal(a.std.Err); ok && !f.plain && os.Getenv("TERM") != "dumb" {
		return newLive(out, a.std.In, a.errStyle, view.NewTree(run, b), stop)
	}
	a.note("run " + run + "\n")
	return a.newLines(b)
}

// silent watches nothing.
type silent struct{}

func (silent) fact(engine.Fact)                 {}
func (silent) log(string, []byte)               {}
func (silent) ask(*engine.Question, reply) bool { return false }
func (silent) withdraw(string)                  {}
func (silent) past(engine.Fact)                 {}
func (silent) began(time.Time)                  {}
func (silent) stopping()                        {}
func (silent) close()                           {}
func (silent) drawn() bool                      { return false }

// quietly shows no progress, and asks all the same: a question is no progress.
type quietly struct{ *lines }

func (quietly) fact(engine.Fact) {}
func (quietly) stopping()        {}

// lines writes one line for each fact, and asks line by line where somebody is
// at a terminal.
type lines struct {
	silent
	people *ask.Terminal // nil: nobody
	plain  view.Plain

	mu      sync.Mutex
	out     io.Writer
	prompt  string    // that stands on the last line
	waiting []*asking // in the order in which they came; the first is shown
}

// asking is a question that is open.
type asking struct {
	q      *engine.Question
	answer reply
	ctx    context.Context // done when it is withdrawn
	end    context.CancelFunc
}

func (a *app) newLines(b *workflow.Bundle) *lines {
	l := &lines{out: a.std.Err, plain: view.NewPlain(a.errStyle, b)}
	l.people = a.people(l)
	return l
}

// people asks whoever is at the terminal, line by line; nil: nobody is.
func (a *app) people(out io.Writer) *ask.Terminal {
	in, reads := terminal(a.std.In)
	screen, shows := terminal(a.std.Err)
	if !reads || !shows {
		return nil
	}
	people := ask.NewTerminal(a.std.In, out)
	people.Forget = func() { forgetTyped(in) }
	people.Page = func() (view.Style, int) {
		style, rows := a.errStyle, 0
		style.Width, rows = sizeOf(screen)
		return style, rows
	}
	return people
}

func (l *lines) fact(f engine.Fact) {
	if line := l.plain.Line(f); line != "" { // facts come one after the other
		l.say(line)
	}
}

// past prints nothing: it only says when steps began.
func (l *lines) past(f engine.Fact) { l.plain.Line(f) }
func (l *lines) began(at time.Time) { l.plain.Began(at) }

func (l *lines) ask(q *engine.Question, answer reply) bool {
	if l.people == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, &asking{q, answer, ctx, cancel})
	if len(l.waiting) == 1 {
		go l.serve()
	}
	return true
}

// serve asks one question after the other until none is left.
func (l *lines) serve() {
	for {
		l.mu.Lock()
		first := l.waiting[0]
		l.mu.Unlock()
		l.put(first)
		first.end()
		l.mu.Lock()
		l.waiting = l.waiting[1:]
		left := len(l.waiting)
		l.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// put asks one question until it is answered, left or withdrawn.
func (l *lines) put(one *asking) {
	question := ask.Question{Text: one.q.ID + ": " + one.q.Text, Detail: one.q.Detail, Options: one.q.Options, Custom: one.q.Custom, Amount: one.q.Kind == engine.BudgetQuestion}
	for {
		value, err := l.people.Ask(one.ctx, question)
		l.mu.Lock()
		l.prompt = "" // the person has ended its line
		l.mu.Unlock()
		if err != nil && one.ctx.Err() == nil {
			one.answer.leave() // nobody is there any more
		}
		if err != nil {
			return
		}
		if err = one.answer.give(value); err == nil {
			return
		}
		l.say(view.Line(err.Error()))
	}
}

// withdraw takes a question back. One that waits for its turn is not shown then.
func (l *lines) withdraw(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		if w.q.ID == address {
			w.end()
		}
	}
}

func (l *lines) stopping() { l.say("stopping; a second Ctrl-C forces it") }

// say writes a line, in place of a prompt, which it writes again below. A reader that
// went away does not stop the run.
func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prompt != "" {
		line = "\r" + view.Pad(line, view.Width(l.prompt))
	}
	_, _ = io.WriteString(l.out, line+"\n"+l.prompt)
}

// Write writes what the person is asked. What stands behind the last newline is a
// prompt.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prompt = string(text[bytes.LastIndexByte(text, '\n')+1:])
	return l.out.Write(text)
}
