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
	lines []string
	width int // of the terminal when they were drawn
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
func (s *Screen) Draw(lines []string, width int) string {
	if width == s.width && slices.Equal(lines, s.lines) {
		return ""
	}
	var b strings.Builder
	b.WriteString(beginUpdate)
	if width != s.width && s.lines != nil {
		b.WriteString(s.wipe(width))
	} else {
		up(&b, len(s.lines))
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
	s.keep(lines, width)
	return b.String()
}

// Close gives what to write when no more frames come: what was drawn stays.
func (s *Screen) Close() string { return showCursor }

func (s *Screen) keep(lines []string, width int) {
	s.lines = append(s.lines[:0], lines...)
	s.width = width
}

// wipe takes the old frame away after the terminal's width has changed. In a
// narrower terminal its lines may have been broken into several.
func (s *Screen) wipe(width int) string {
	rows := 0
	for _, line := range s.lines {
		rows += max(1, (Width(Text(line))+width-1)/max(width, 1))
	}
	s.lines = nil
	var b strings.Builder
	up(&b, rows)
	b.WriteString(eraseBelow)
	return b.String()
}

func up(b *strings.Builder, rows int) {
	if rows > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA", rows)
	}
}
