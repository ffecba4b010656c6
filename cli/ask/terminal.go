package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// ErrUnanswered says that the person went away: end of input, Ctrl-D. The question
// stays open.
var ErrUnanswered = errors.New("human: the question was not answered")

// Terminal asks one question after the other. It is safe for concurrent use;
// questions that come at the same time wait for each other.
//
// It reads no more than it needs: a line is only read while a question is open. A
// question that is withdrawn while the person types leaves that line to the next
// one, unless Forget is set.
type Terminal struct {
	// Forget, if not nil, drops what was typed before a question came up: a person
	// answers what stands there to be read. It says that in is a terminal, whose
	// lines come at once.
	Forget func()

	mu      sync.Mutex // held while a question is open
	raw     io.Reader
	in      *bufio.Reader // of raw
	out     io.Writer
	lines   chan line
	reading bool // a line was asked for and has not come
	closed  bool // the input has ended
}

type line struct {
	text string
	err  error
}

// NewTerminal asks on out and reads from in.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	return &Terminal{raw: in, in: bufio.NewReader(in), out: out, lines: make(chan line, 1)}
}

// Ask shows a question until a line answers it. The error is [ErrUnanswered], or
// says that ctx is done or the terminal broken. A question that is withdrawn before
// its turn is not shown.
func (t *Terminal) Ask(ctx context.Context, q Question) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return "", withdrawn(ctx)
	}
	t.forget()
	if _, err := io.WriteString(t.out, Render(q)); err != nil {
		return "", fmt.Errorf("human: %w", err)
	}
	asked := time.Now()
	for {
		if _, err := io.WriteString(t.out, "> "); err != nil {
			return "", fmt.Errorf("human: %w", err)
		}
		said, err := t.read(ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(t.out, "(this question is over)") // behind the prompt, which stands there
			return "", withdrawn(ctx)
		}
		if err != nil {
			return "", err
		}
		if t.Forget != nil && time.Since(asked) < haste {
			continue
		}
		answer, err := Interpret(q, said)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintln(t.out, printable(err.Error())) // a broken writer shows at the next line
	}
}

// haste is how soon after a question no line can be an answer to it: the person
// was typing before it came up.
const haste = 300 * time.Millisecond

// forget drops all that was typed so far: in the terminal, and in lines that
// were read for a question that is gone.
func (t *Terminal) forget() {
	if t.Forget == nil || t.closed {
		return
	}
	t.Forget()
	if !t.reading {
		t.in.Reset(t.raw) // no other goroutine reads
		return
	}
	select {
	case l := <-t.lines:
		t.reading, t.closed = false, l.err != nil
	default:
	}
}

// read waits for the next line. A read cannot be called off, so one that was under
// way when a question was withdrawn goes on, and its line is the next one.
func (t *Terminal) read(ctx context.Context) (string, error) {
	if t.closed {
		return "", ErrUnanswered
	}
	if !t.reading {
		t.reading = true
		go func() {
			text, err := t.in.ReadString('\n')
			t.lines <- line{text, err}
		}()
	}
	select {
	case l := <-t.lines:
		t.reading = false
		t.closed = l.err != nil
		if strings.TrimSpace(l.text) != "" {
			return l.text, nil // also a last line without its newline
		}
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("human: %w", l.err)
		}
		if t.closed {
			return "", ErrUnanswered
		}
		return l.text, nil
	case <-ctx.Done():
		return "", withdrawn(ctx)
	}
}

func withdrawn(ctx context.Context) error { return fmt.Errorf("human: %w", context.Cause(ctx)) }
