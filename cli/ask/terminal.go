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
	// Page, if not nil, says what out can show, and how many lines of it at a time. A
	// question that takes more comes page by page, and is answered at its end.
	Page func() (style view.Style, rows int)

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
	asked := time.Now()
	if err := t.show(ctx, q, asked); err != nil {
		return "", err
	}
	for {
		said, err := t.line(ctx, "> ", asked)
		if err != nil {
			return "", err
		}
		answer, err := Interpret(q, said)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintln(t.out, view.Line(err.Error())) // a broken writer shows at the next line
	}
}

// show writes a question, page by page if it is long.
func (t *Terminal) show(ctx context.Context, q Question, asked time.Time) error {
	var style view.Style
	rows := math.MaxInt
	if t.Page != nil {
		style, rows = t.Page()
	}
	lines := Render(q, style)
	for from := 0; ; {
		to := from + min(len(lines)-from, max(rows-2, 1)) // the prompt has a line, and enter begins one
		if _, err := io.WriteString(t.out, strings.Join(lines[from:to], "\n")+"\n"); err != nil {
			return fmt.Errorf("human: %w", err)
		}
		if to == len(lines) {
			return nil
		}
		if _, err := t.line(ctx, fmt.Sprintf("enter shows more; line %d of %d ", to, len(lines)), asked); err != nil {
			return err
		}
		from = to
	}
}

// line asks for a line, and for another one if it came too soon to be meant.
func (t *Terminal) line(ctx context.Context, prompt string, asked time.Time) (string, error) {
	for {
		if _, err := io.WriteString(t.out, prompt); err != nil {
			return "", fmt.Errorf("human: %w", err)
		}
		said, err := t.read(ctx)
		if ctx.Err() != nil {
			fmt.Fprintln(t.out, "(this question is over)") // behind the prompt, which stands there
			return "", withdrawn(ctx)
		}
		if err != nil || t.Forget == nil || time.Since(asked) >= haste {
			return said, err
		}
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
