package cli

import (
	"bytes"
	"context"
	"errors"
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
	// ask shows a question until it is withdrawn or left open. It returns false if
	// there is no one to ask.
	ask(q *engine.Question, answer reply) bool
	withdraw(address string)
	// stopping reports that the run was asked to stop.
	stopping()
	// stalled reports what the run lacks to go on by itself; "" means that it goes on.
	stalled(why string)
	// past reports a fact from before this process.
	past(f engine.Fact)
	// began reports when the run began, if the facts before are those of the run that
	// it was forked from.
	began(at time.Time)
	// close draws the last state and restores the terminal.
	close()
	// drawn reports whether there is a drawing on the screen.
	drawn() bool
}

// reply is what a person can do with a question.
type reply struct {
	give  func(value string) error // the error says why it was rejected
	leave func()                   // the question stays open
}

// watch makes the watcher for standard error: a live tree in a terminal, otherwise lines,
// and only questions with --quiet. It calls stop when the user asks the run to stop.
func (a *app) watch(kind, run string, b *workflow.Bundle, f driveFlags, stop func()) watcher {
	if f.quiet {
		return &quietly{lines: a.newLines(b)}
	}
	if out, ok := terminal(a.std.Err); ok && !f.plain && os.Getenv("TERM") != "dumb" {
		return newLive(out, a.std.In, a.errStyle, view.NewTree(run, b), stop)
	}
	a.note(kind + " " + run + "\n")
	return a.newLines(b)
}

// silent is a watcher that shows nothing.
type silent struct{}

func (silent) fact(engine.Fact)                 {}
func (silent) log(string, []byte)               {}
func (silent) ask(*engine.Question, reply) bool { return false }
func (silent) withdraw(string)                  {}
func (silent) past(engine.Fact)                 {}
func (silent) began(time.Time)                  {}
func (silent) stopping()                        {}
func (silent) stalled(string)                   {}
func (silent) close()                           {}
func (silent) drawn() bool                      { return false }

// quietly shows no progress, but still asks questions.
type quietly struct{ *lines }

func (quietly) fact(engine.Fact) {}
func (quietly) stopping()        {}

// lines writes one line for each fact. If there is a terminal, it also asks questions,
// line by line.
type lines struct {
	silent
	people *ask.Terminal // nil: no terminal
	plain  view.Plain

	mu      sync.Mutex
	out     io.Writer
	prompt  string    // on the last line of the screen
	waiting []*asking // in order of arrival; the first is shown
	lacks   string    // what was said that the run lacks, since its last fact
}

// asking is an open question.
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

// people asks the user at the terminal, line by line. It returns nil without a terminal.
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

// decide asks the user a question. Every answer except yes fails with a note that says what was not
// done.
func (a *app) decide(ctx context.Context, people *ask.Terminal, q ask.Question, yes, otherwise string) error {
	answer, err := people.Ask(ctx, q)
	return a.decided(answer, err, yes, otherwise)
}

// decided returns an error unless the answer to a question is yes.
func (a *app) decided(answer string, err error, yes, otherwise string) error {
	switch {
	case errors.Is(err, errInterrupted):
		return exitError(exitInterrupted)
	case err != nil && !errors.Is(err, ask.ErrUnanswered):
		return err
	case err != nil || answer != yes:
		a.note(otherwise + "\n")
		return exitError(exitFailed)
	}
	return nil
}

func (l *lines) fact(f engine.Fact) {
	if line := l.plain.Line(f); line != "" { // facts come one after the other
		l.lacking("")
		l.say(line)
	}
}

// past prints nothing; it only notes when steps began.
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

// serve asks one question after another until none is left.
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
			one.answer.leave() // the input has ended
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

// withdraw withdraws a question. If it has not been shown yet, it never will be.
func (l *lines) withdraw(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting {
		if w.q.ID == address {
			w.end()
		}
	}
}

func (l *lines) stalled(why string) {
	if why != "" && l.lacking(why) {
		l.say("waiting: " + view.Line(why))
	}
}

// lacking notes what the run lacks, and reports whether that is not what was said last.
func (l *lines) lacking(why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.lacks
	l.lacks = why
	return why != was
}

func (l *lines) stopping() { l.say("stopping; press Ctrl-C again to force it") }

// say writes a line above the prompt, if there is one. Losing the reader does not stop the
// run.
func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.prompt != "" {
		line = "\r" + view.Pad(line, view.Width(l.prompt))
	}
	_, _ = io.WriteString(l.out, line+"\n"+l.prompt)
}

// Write writes a question. The text after the last newline is the prompt.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prompt = string(text[bytes.LastIndexByte(text, '\n')+1:])
	return l.out.Write(text)
}
