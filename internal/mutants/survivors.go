package main

import (
	"fmt"
	"os"
	"strings"
)

const survivorsFile = "internal/mutants/survivors.txt"

// survivors are the mutants that make no difference, by name.
type survivors map[string]bool

// readSurvivors reads the list: paragraphs of mutants, each under a comment with the reason.
func readSurvivors(file string) (survivors, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	listed := survivors{}
	reason := false
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "# "):
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s:%d: write the reason above the mutant, in a line that begins with #", file, i+1)
		case listed[line]:
			return nil, fmt.Errorf("%s:%d: this mutant is listed twice", file, i+1)
		default:
			listed[line] = true
		}
	}
	return listed, nil
}

// stale returns the listed mutants of a target that do not exist.
func (s survivors) stale(t target, all []mutant) []string {
	have := map[string]bool{}
	for _, m := range all {
		have[m.String()] = true
	}
	var stale []string
	for line := range s {
		file, _, _ := strings.Cut(line, " ")
		if t.holds(file) && !have[line] {
			stale = append(stale, line)
		}
	}
	return stale
}
