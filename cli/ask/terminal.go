package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/hocket-dev/hocket/cli/view"
)

// ErrUnanswered reports that the input ended (Ctrl-D) before an answer. The question
// stays open.
var ErrUnanswered = errors.New("ask: the question was not answered")

// Terminal asks one question at a time. It is safe for concurrent use.
//
// It reads a line only while a question is open. If a question is withdrawn while the
// person types, that line answers the next one, unless Forget is set.
type Terminal struct {
	// Forget, if not nil, discards what was typed before a question appeared, as it
	// cannot be an answer. It is set if the input is a terminal.
	Forget func()
	// Page, if not nil, returns the style and the number of rows of the output. A
	// longer question is shown page by page, and answered at its end.
	Page func() (style view.Style, rows int)

	mu      sync.Mutex // held while a question is open
	raw     io.Reader
	in      *bufio.Reader // of raw
	out     io.Writer
	lines   chan line
	reading bool // a read is in progress
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

// Ask shows a question and waits for a valid answer. The error is [ErrUnanswered], or the
// cause of ctx, or that of a failed read or write. A question that is withdrawn before its
// turn is not shown.
func (t *Terminal) Ask(ctx context.Context, q Question) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ctx.Err() != nil {
		return "", withdrawn(ctx)
	}
	if err := t.show(ctx, q, time.Now().Add(haste)); err != nil {
		return "", err
	}
	for {
		said, err := t.line(ctx, "> ")
		if err != nil {
			return "", err
		}
		answer, err := Interpret(q, said)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintln(t.out, view.Line(err.Error())) // a write error shows up at the next line
	}
}

// show writes a question, page by page if it is long. Nothing that is typed before the
// first prompt can be an answer: the person was typing when the question appeared.
func (t *Terminal) show(ctx context.Context, q Question, prompt time.Time) error {
	var style view.Style
	rows := math.MaxInt
	if t.Page != nil {
		style, rows = t.Page()
	}
	lines := Render(q, style)
	for from := 0; ; {
		to := from + min(len(lines)-from, max(rows-2, 1)) // one line for the prompt, and one that enter starts
		if _, err := io.WriteString(t.out, strings.Join(lines[from:to], "\n")+"\n"); err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		if from == 0 {
			t.forget(ctx, prompt)
		}
		if to == len(lines) {
			return nil
		}
		said, err := t.line(ctx, fmt.Sprintf("press enter for more; line %d of %d ", to, len(lines)))
		if err != nil {
			return err
		}
		if strings.TrimSpace(said) != "" {
			fmt.Fprintln(t.out, "not an answer yet: the question continues") // a write error shows up below
		}
		from = to
	}
}

// line reads a line.
func (t *Terminal) line(ctx context.Context, prompt string) (string, error) {
	if _, err := io.WriteString(t.out, prompt); err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	said, err := t.read(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(t.out, "(no longer open)") // on the line of the prompt
		return "", withdrawn(ctx)
	}
	return said, err
}

// haste is how long a question is shown before its prompt.
const haste = 300 * time.Millisecond

// forget waits until a time, and discards all that was typed so far: in the terminal, and
// in lines that were read for an earlier question.
func (t *Terminal) forget(ctx context.Context, until time.Time) {
	if t.Forget == nil || t.closed {
		return
	}
	select {
	case <-time.After(time.Until(until)):
	case <-ctx.Done():
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

// read waits for the next line. A read cannot be cancelled, so one that was in progress
// when a question was withdrawn continues, and its line is the next one.
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
			return l.text, nil // also a last line without a newline
		}
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("ask: %w", l.err)
		}
		if t.closed {
			return "", ErrUnanswered
		}
		return l.text, nil
	case <-ctx.Done():
		return "", withdrawn(ctx)
	}
}

func withdrawn(ctx context.Context) error { return fmt.Errorf("ask: %w", context.Cause(ctx)) }
