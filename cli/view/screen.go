package view

import (
	"fmt"
	"slices"
	"strings"
)

// Screen draws frames over each other at the bottom of a terminal. It writes
// only the lines that changed, in one synchronised update, so nothing flickers.
// The zero Screen has drawn nothing.
type Screen struct {
	lines  []string
	width  int // of the terminal when they were drawn
	height int
	spilt  bool // lines of a frame may have left the screen at its top
}

// The sequences that the screen is drawn with.
const (
	beginUpdate = "\x1b[?2026h\x1b[?25l\x1b[?7l" // hold, hide the cursor, do not wrap
	endUpdate   = "\x1b[?7h\x1b[?2026l"
	eraseLine   = "\x1b[K"
	eraseBelow  = "\x1b[J"
	showCursor  = "\x1b[?25h"
)

// Draw gives what to write so that the terminal shows the lines where it showed
// those of the last call. The cursor is left behind the last line.
func (s *Screen) Draw(lines []string, width, height int) string {
	same := width == s.width && height == s.height
	if same && slices.Equal(lines, s.lines) {
		return ""
	}
	var b strings.Builder
	b.WriteString(beginUpdate)
	if same || s.lines == nil {
		up(&b, len(s.lines))
	} else {
		s.wipe(&b, width, height)
	}
	for i, line := range lines {
		if i < len(s.lines) && s.lines[i] == line {
			b.WriteString("\n")
			continue
		}
		b.WriteString(eraseLine + line + "\r\n") // a line may fill its row: nothing is erased behind it
	}
	if len(lines) < len(s.lines) {
		b.WriteString(eraseBelow)
	}
	b.WriteString(endUpdate)
	s.lines, s.width, s.height = append(s.lines[:0], lines...), width, height
	return b.String()
}

// Close gives what to write when no more frames come: what was drawn stays.
func (s *Screen) Close() string { return showCursor }

// wipe takes the old frame away after the size of the terminal has changed. Most
// terminals break lines that have become too long. What has no room then leaves the
// screen at its top, and comes back when the terminal grows: from then on, all of the
// screen is erased.
func (s *Screen) wipe(b *strings.Builder, width, height int) {
	rows, blank := 0, 0
	for _, line := range s.lines {
		rows += max(1, (Width(Text(line))+width-1)/max(width, 1))
	}
	if rows > len(s.lines) { // some terminals keep the empty rows below, and there may be so many
		blank = s.height - 1 - len(s.lines)
	}
	erase := min(rows, height-1)
	if s.spilt {
		erase = height - 1
	}
	s.spilt = s.spilt || rows+blank >= height
	s.lines = nil
	// Row by row: terminals keep a screen that is erased at once, to scroll back to.
	up(b, erase)
	b.WriteString(strings.Repeat(eraseLine+"\n", erase) + eraseLine)
	up(b, erase)
}

func up(b *strings.Builder, rows int) {
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}
