package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// console is a pseudoterminal with a program in it, and a screen that shows what a person
// would see.
type console struct {
	t    testing.TB
	cmd  *exec.Cmd
	pty  *os.File
	done chan error

	mu     sync.Mutex
	screen *screen
	raw    bytes.Buffer
}

// startConsole starts the real command in its own terminal.
func startConsole(t testing.TB, dir string, rows, cols int, args ...string) *console {
	t.Helper()
	pty, tty := openPTY(t, rows, cols)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, pty: pty, done: make(chan error, 1), screen: newScreen(rows, cols)}
	c.cmd = exec.Command(self, args...)
	c.cmd.Dir = dir
	c.cmd.Env = append(os.Environ(), asHocket+"=1", "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=", "XDG_STATE_HOME="+dir+"/.state", "USER=tester")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	go c.read()
	t.Cleanup(func() { _ = c.cmd.Process.Kill(); _ = pty.Close() })
	return c
}

func openPTY(t testing.TB, rows, cols int) (pty, tty *os.File) {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(pty.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	resize(t, pty, rows, cols)
	return pty, tty
}

func resize(t testing.TB, pty *os.File, rows, cols int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(pty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)}); err != nil {
		t.Fatal(err)
	}
}

func (c *console) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.pty.Read(buf)
		c.mu.Lock()
		c.raw.Write(buf[:n])
		c.screen.write(string(buf[:n]))
		c.mu.Unlock()
		if err != nil { // the program has closed its side
			c.done <- c.cmd.Wait()
			return
		}
	}
}

// see returns the text on the screen.
func (c *console) see() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

// until waits until a text is on the screen.
func (c *console) until(text string) string {
	c.t.Helper()
	seen := ""
	c.wait(strconv.Quote(text), func() bool {
		seen = c.screen.String()
		return strings.Contains(seen, text)
	})
	return seen
}

// wait waits until so returns true.
func (c *console) wait(what string, so func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		c.mu.Lock()
		is := so()
		c.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("never saw %s; the screen shows:\n%s", what, c.see())
		}
	}
}

// listens waits until a question accepts an answer; with plain lines, that is when its
// prompt appears. Text typed before is not an answer.
func (c *console) listens(mode string) {
	c.t.Helper()
	if mode == "" || mode == "--plain=false" {
		c.until("ctrl-c to stop the run")
		return
	}
	c.wait("a prompt", func() bool { return strings.HasSuffix(strings.TrimRight(c.screen.String(), " \n"), "\n>") })
}

// resize changes the size of the terminal.
func (c *console) resize(rows, cols int) {
	c.t.Helper()
	c.mu.Lock()
	c.screen.resize(rows, cols)
	c.mu.Unlock()
	resize(c.t, c.pty, rows, cols)
}

func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := io.WriteString(c.pty, keys); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the program to exit and returns its exit code.
func (c *console) exit() int {
	c.t.Helper()
	select {
	case <-c.done:
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		c.t.Fatalf("the program does not end; the screen shows:\n%s", c.see())
		return -1
	}
}

// screen implements as much of a terminal as the tests need. It fails on unknown escape
// sequences, so that none is used by accident.
type screen struct {
	rows, cols int
	lines      [][]rune     // everything ever shown; the last rows are visible
	broken     map[int]bool // lines that continue in the next one
	row, col   int          // cursor position; row counts from the first line
	strange    []string
	wiped      bool   // rows were erased since the last resize, and not written again
	rest       string // an incomplete sequence
}

func newScreen(rows, cols int) *screen { return &screen{rows: rows, cols: cols, lines: [][]rune{nil}} }

func (s *screen) String() string { return s.text(s.lines) }

// visible returns the text on the screen, without lines scrolled off the top.
func (s *screen) visible() string { return s.text(s.lines[max(len(s.lines)-s.rows, 0):]) }

func (s *screen) text(lines [][]rune) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	for _, q := range s.strange {
		fmt.Fprintf(&b, "strange sequence %q\n", q)
	}
	return b.String()
}

func (s *screen) write(text string) {
	text = s.rest + text
	s.rest = ""
	for text != "" {
		if text[0] == 0x1b {
			end := strings.IndexFunc(text[min(2, len(text)):], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				s.rest = text
				return
			}
			s.sequence(text[:end+3])
			text = text[end+3:]
			continue
		}
		r := []rune(text)[0]
		if r == '\uFFFD' && len(text) < 4 { // a character split between reads
			s.rest = text
			return
		}
		s.put(r)
		text = text[len(string(r)):]
	}
}

// resize does what most terminals do: it wraps lines that are too long, and joins wrapped
// lines again.
func (s *screen) resize(rows, cols int) {
	s.rows, s.cols, s.wiped = rows, cols, false
	var lines [][]rune
	broken := map[int]bool{}
	row := 0
	for i := 0; i < len(s.lines); i++ {
		l := slices.Clone(s.lines[i])
		for s.broken[i] && i+1 < len(s.lines) {
			i++
			l = append(l, s.lines[i]...)
		}
		for len(l) > cols {
			broken[len(lines)] = true
			lines, l = append(lines, l[:cols:cols]), l[cols:]
		}
		if i >= s.row && row == 0 {
			row = len(lines)
		}
		lines = append(lines, l)
	}
	s.lines, s.broken, s.row = lines, broken, row
}

func (s *screen) put(r rune) {
	switch r {
	case '\r':
		s.col = 0
	case '\n':
		s.wiped = s.wiped || len(s.lines[s.row]) == 0
		s.row++
		for len(s.lines) <= s.row {
			s.lines = append(s.lines, nil)
		}
	case '\b':
		s.col = max(s.col-1, 0)
	default:
		l := s.lines[s.row]
		for len(l) <= s.col {
			l = append(l, ' ')
		}
		l[s.col] = r
		s.lines[s.row] = l
		s.col++
	}
}

func (s *screen) sequence(q string) {
	n, _ := strconv.Atoi(q[2 : len(q)-1])
	switch q[len(q)-1] {
	case 'A':
		s.row = max(s.row-n, max(len(s.lines)-s.rows, 0))
	case 'K':
		delete(s.broken, s.row)
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case 'J':
		s.lines = s.lines[:s.row+1]
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case 'm', 'h', 'l':
	default:
		s.strange = append(s.strange, q)
	}
}
