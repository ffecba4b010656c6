package plantuml

import (
	"regexp"
	"strings"
)

var (
	noteLine  = regexp.MustCompile(`(?i)^\s*(floating\s+)?note\b[^:]*$`)
	noteEnd   = regexp.MustCompile(`(?i)^\s*end\s*note\b`)
	blockLine = regexp.MustCompile(`(?i)^\s*(\}|(end\s*)?(if|else|else\s?if|elif|fork|split|switch|case|default|while|repeat|until|merge|join|group|partition)\b)`)
	word      = regexp.MustCompile(`[\pL\pN]+`)
)

// keywords are the words of PlantUML itself, and those that people take for one.
var keywords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`startuml enduml start stop end if then elseif elif else endif is equals equal not when
		while endwhile repeat until backward for foreach fork again join merge and or parallel split switch case default
		endswitch note left right top bottom over of floating endnote partition package rectangle card group swimlane as
		label goto kill detach break title`) {
		set[w] = true
	}
	return set
}()

// Marks are the lines that open, divide and close blocks, and the words of the
// author outside of notes: of steps, lanes, conditions and labels.
func Marks(text []byte) []string {
	var found []string
	inNote := false
	for line := range strings.Lines(string(text)) {
		switch {
		case inNote:
			inNote = !noteEnd.MatchString(line)
		case noteLine.MatchString(line):
			inNote = true
		default:
			if blockLine.MatchString(line) {
				found = append(found, "block")
			}
			for _, w := range word.FindAllString(line, -1) {
				if !keywords[strings.ToLower(w)] {
					found = append(found, w)
				}
			}
		}
	}
	return found
}
