package view

import (
	"fmt"
	"slices"
	"strings"
)

// Screen draws frames on top of each other at the bottom of a terminal. It writes only
// the lines that changed, in one synchronized update, to avoid flicker. The zero Screen
// has drawn nothing.
type Screen struct {
	lines  []string
	width  int // of the terminal when they were drawn
	height int
	spilt  bool // lines of a frame may have scrolled off the top of the screen
}

// The escape sequences of a screen.
const (
	beginUpdate = "\x1b[?2026h\x1b[?25l\x1b[?7l" // hold, hide the cursor, do not wrap
	endUpdate   = "\x1b[?7h\x1b[?2026l"
	eraseLine   = "\x1b[K"
	eraseBelow  = "\x1b[J"
	showCursor  = "\x1b[?25h"
)

// Draw returns what to write so that the lines replace those of the previous call. It
// leaves the cursor after the last line.
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
		b.WriteString(eraseLine + line + "\r\n") // erase first: a line may fill its row
	}
	if len(lines) < len(s.lines) {
		b.WriteString(eraseBelow)
	}
	b.WriteString(endUpdate)
	s.lines, s.width, s.height = append(s.lines[:0], lines...), width, height
	return b.String()
}

// Close returns what to write after the last frame, which stays on the screen.
func (s *Screen) Close() string { return showCursor }

// wipe erases the old frame after the terminal was resized. Most terminals wrap lines that
// have become too long. Lines may then scroll off the top of the screen, and come back when
// the terminal grows: from then on, the whole screen is erased.
func (s *Screen) wipe(b *strings.Builder, width, height int) {
	rows, blank := 0, 0
	for _, line := range s.lines {
		rows += max(1, (Width(Text(line))+width-1)/max(width, 1))
	}
	if rows > len(s.lines) { // some terminals keep the empty rows below
		blank = s.height - 1 - len(s.lines)
	}
	erase := min(rows, height-1)
	if s.spilt {
		erase = height - 1
	}
	s.spilt = s.spilt || rows+blank >= height
	s.lines = nil
	// Row by row: terminals save a screen that is erased at once in the scrollback.
	up(b, erase)
	b.WriteString(strings.Repeat(eraseLine+"\n", erase) + eraseLine)
	up(b, erase)
}

func up(b *strings.Builder, rows int) {
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}
