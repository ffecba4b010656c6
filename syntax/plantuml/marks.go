package plantuml

import (
	"strings"
	"sync"

	"github.com/hocket-dev/hocket/internal/lazy"
)

var (
	noteLine  = lazy.Regexp(`(?i)^\s*(floating\s+)?note\b[^:]*$`)
	noteEnd   = lazy.Regexp(`(?i)^\s*end\s*note\b`)
	blockLine = lazy.Regexp(`(?i)^\s*(\}|(end\s*)?(if|else|else\s?if|elif|fork|split|switch|case|default|while|repeat|until|merge|join|group|partition)\b)`)
	word      = lazy.Regexp(`[\pL\pN]+`)
)

// keywords are the keywords of PlantUML, and words that people mistake for one.
var keywords = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`startuml enduml start stop end if then elseif elif else endif is equals equal not when
		while endwhile repeat until backward for foreach fork again join merge and or parallel split switch case default
		endswitch note left right top bottom over of floating endnote partition package rectangle card group swimlane as
		label goto kill detach break title`) {
		set[w] = true
	}
	return set
})

// Marks returns the lines that open, divide and close blocks, and the words of the author outside
// notes: of steps, lanes, conditions and labels.
func Marks(text []byte) []string {
	var found []string
	inNote := false
	for line := range strings.Lines(string(text)) {
		switch {
		case inNote:
			inNote = !noteEnd().MatchString(line)
		case noteLine().MatchString(line):
			inNote = true
		default:
			if blockLine().MatchString(line) {
				found = append(found, "block")
			}
			for _, w := range word().FindAllString(line, -1) {
				if !keywords()[strings.ToLower(w)] {
					found = append(found, w)
				}
			}
		}
	}
	return found
}
