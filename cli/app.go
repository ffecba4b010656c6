package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
)

// app is the state of one command: the global flags, and where to write.
type app struct {
	std      Stdio
	args     []string
	json     bool
	dir      string // -C
	state    string // --state
	local    bool   // HOCKET_DRIVER=local, in a project with a driver
	outStyle view.Style
	errStyle view.Style
	gone     bool // the reader of standard output has closed it

	stdinText []byte            // what was read from standard input
	unsaved   map[string][]byte // texts that diagnostics refer to, by the files that they would be
	with      With
	trusted   string // --trust
	metrics   string // --metrics
	opened    []*hocket.Project
}

func newApp(std Stdio) *app {
	return &app{std: std, outStyle: styleOf(std.Out), errStyle: styleOf(std.Err)}
}

// close closes the open projects. What was recorded is durable, so a failure changes
// nothing.
func (a *app) close() {
	for _, p := range a.opened {
		_ = p.Close()
	}
}

const (
	paintError = view.BoldRed
	paintHint  = view.BoldBlue
)

// styleOf returns what a writer can show: colours and a width if it is a terminal,
// otherwise plain text.
func styleOf(w io.Writer) view.Style {
	f, ok := terminal(w)
	if !ok {
		return view.Style{}
	}
	width, _ := sizeOf(f)
	return view.Style{Color: colourWanted(), ASCII: !utf8Locale(), Width: width}
}

// sizeOf returns the size of a terminal.
func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// terminal returns the file behind a reader or writer, if it is a terminal.
func terminal(rw any) (*os.File, bool) {
	f, ok := rw.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// colourWanted follows no-color.org.
func colourWanted() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// utf8Locale reports whether the terminal can show more than ASCII. If no locale is set,
// it assumes so, as most terminals can.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}

// print writes text or data to standard output, without escaping it.
func (a *app) print(text string) error {
	_, err := io.WriteString(a.std.Out, text)
	return a.unread(err)
}

// unread ignores that the reader of the output has closed it: the command itself
// succeeded.
func (a *app) unread(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		a.gone = true
		return nil
	}
	return err
}

// note writes progress to standard error. There is no way to report a failure.
//
//go:noinline
func (a *app) note(text string) {
	_, _ = io.WriteString(a.std.Err, text)
}

// printJSON writes a value, indented for people in a terminal.
func (a *app) printJSON(v any) error {
	text, err := a.encodeJSON(v, "")
	if err != nil {
		return err
	}
	return a.print(a.outText(text + "\n"))
}

// encodeJSON returns a value as printJSON writes it, with an indent.
func (a *app) encodeJSON(v any, indent string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if a.outStyle.Width > 0 {
		enc.SetIndent(indent, "  ")
	}
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
