package cli

import (
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

const (
	framePause = 80 * time.Millisecond // between frames, while something moves
	newsPause  = 10 * time.Millisecond // before a frame, when an agent prints something
)

// deafness is how long a new question ignores keys: they were meant for something else.
const deafness = 300 * time.Millisecond

// live draws the tree of a run in a terminal and asks questions below it.
//
// Facts come from the driver, keys from a goroutine that reads, and a third goroutine
// draws. mu guards what is drawn, and pen guards the terminal: a terminal that accepts
// no output (Ctrl-S) blocks only the goroutine that draws.
type live struct {
	in       *os.File // nil: there is no keyboard
	stop     func()
	forget   func() // ends the wait for signals
	finished chan struct{}
	news     chan struct{} // holds one token when an agent has printed something
	still    chan struct{} // closed when drawing has stopped

	pen     sync.Mutex // taken before mu
	out     *os.File
	style   view.Style
	height  int
	screen  view.Screen
	restore func() // restores the settings of the terminal

	mu      sync.Mutex
	tree    *view.Tree
	prompts []*prompt
	reading bool
}

// prompt is a question with the way to answer it.
type prompt struct {
	view.Prompt
	answer reply
	shown  time.Time // when it first appeared; zero: not yet
}

// deaf reports whether the person cannot have read the question yet.
func (p *prompt) deaf(now time.Time) bool { return p.shown.IsZero() || now.Sub(p.shown) < deafness }

func newLive(out *os.File, in io.Reader, style view.Style, tree *view.Tree, stop func()) *live {
	l := &live{out: out, style: style, stop: stop, tree: tree, finished: make(chan struct{}), news: make(chan struct{}, 1), still: make(chan struct{})}
	if f, ok := terminal(in); ok {
		l.in = f
		l.hush()
	}
	l.forget = onSuspend(l.suspend, l.comeBack)
	go l.animate()
	return l
}

// suspend restores the terminal before Ctrl-Z stops the process. It holds the pen until
// the process continues.
func (l *live) suspend() {
	l.pen.Lock()
	l.write(l.screen.Close())
	if l.restore != nil {
		l.restore()
	}
}

// comeBack takes the terminal again. The shell has written below the tree, so the tree
// is drawn from scratch.
func (l *live) comeBack() {
	if l.in != nil {
		l.hush()
	}
	l.screen = view.Screen{}
	l.pen.Unlock()
}

// hush keeps keys from being echoed into the drawing.
func (l *live) hush() {
	if restore, err := quiet(l.in); err == nil {
		l.restore = restore
	}
}

func (l *live) fact(f engine.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.Apply(f)
}

func (l *live) log(address string, piece []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.Log(address, piece)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *live) ask(q *engine.Question, answer reply) bool {
	if l.in == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(q.ID)
	p := &prompt{answer: answer}
	p.Address, p.Text, p.Detail, p.Options, p.Custom = q.ID, q.Text, q.Detail, q.Options, q.Custom
	p.Amount = q.Kind == engine.BudgetQuestion
	l.prompts = append(l.prompts, p)
	if !l.reading {
		l.reading = true
		forgetTyped(l.in)
		go l.read()
	}
	return true
}

func (l *live) withdraw(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(address)
}

func (l *live) stopping() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.Stop()
	l.prompts = nil
}

func (l *live) stalled(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.Stall(why)
}

func (l *live) past(f engine.Fact) { l.fact(f) }
func (l *live) drawn() bool        { return true }

func (l *live) began(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tree.Began(at)
}

// drop removes a question that was answered or withdrawn.
func (l *live) drop(address string) {
	l.prompts = slices.DeleteFunc(l.prompts, func(p *prompt) bool { return p.Address == address })
}

// close draws the last frame, which stays on the screen.
func (l *live) close() {
	close(l.finished)
	<-l.still
	l.forget()
	l.pen.Lock()
	defer l.pen.Unlock()
	l.mu.Lock()
	l.prompts = nil
	l.tree.Interrupt(time.Now())
	l.measure()
	frame := l.tree.Frame(time.Now(), l.style, 0)
	l.mu.Unlock()
	l.write(l.screen.Draw(frame, l.style.Width, l.height) + l.screen.Close())
	if l.restore != nil {
		l.restore()
	}
}

// animate draws frames until the run ends. The first comes after a pause, so that a
// short run draws only its end. Output of agents is drawn soon, but not piece by piece.
func (l *live) animate() {
	defer close(l.still)
	cost := time.Duration(0) // of a frame; drawing takes at most a tenth of the time
	for {
		select {
		case <-l.finished:
			return
		case <-time.After(max(framePause, 10*cost)):
		case <-l.news:
			select {
			case <-l.finished:
				return
			case <-time.After(max(newsPause, 10*cost)):
			}
		}
		began := time.Now()
		l.draw()
		cost = time.Since(began)
	}
}

func (l *live) draw() {
	l.pen.Lock()
	defer l.pen.Unlock()
	frame := l.compose()
	l.write(l.screen.Draw(frame, l.style.Width, l.height))
}

// compose makes the next frame: the tree, and below it the first question.
func (l *live) compose() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.measure()
	var below []string
	if len(l.prompts) > 0 {
		p := l.prompts[0]
		p.More = len(l.prompts) - 1
		if p.shown.IsZero() {
			p.shown = time.Now()
		}
		p.Deaf = p.deaf(time.Now())
		below = p.Lines(l.style, l.height-4)
	}
	room := max(l.height-1-len(below), 2)
	return append(l.tree.Frame(time.Now(), l.style, room), below...)
}

// measure updates the size of the terminal.
func (l *live) measure() { l.style.Width, l.height = sizeOf(l.out) }

func (l *live) write(s string) {
	_, _ = io.WriteString(l.out, s) // losing the terminal does not stop the run
}

// read sends keys to the first question until the input ends. A read that never returns
// ends with the process.
func (l *live) read() {
	buf := make([]byte, 256)
	for {
		n, err := l.in.Read(buf)
		if err != nil {
			return
		}
		for _, k := range view.Keys(string(buf[:n])) {
			l.press(k)
		}
	}
}

func (l *live) press(k view.Key) {
	if k == view.KeyStop {
		l.stop()
		return
	}
	l.mu.Lock()
	if len(l.prompts) == 0 || l.prompts[0].deaf(time.Now()) {
		l.mu.Unlock()
		return
	}
	p := l.prompts[0]
	value, done := p.Press(k)
	if k == view.KeyLeave {
		l.drop(p.Address)
	}
	l.mu.Unlock()
	// Without the lock: the answer leads to facts, which take it.
	if k == view.KeyLeave {
		p.answer.leave()
		return
	}
	if !done {
		return
	}
	err := p.answer.give(value)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		p.Refuse(err.Error())
		return
	}
	l.drop(p.Address)
}
