// Command testreport reads the output of `go test -json`, prints what `go test` would print,
// what passed tests say they prove, with t.Attr("proof", …), and then one line about the
// tests that were skipped: a test that did not run proves nothing, and without the line
// it would go unnoticed. It exits with 1 if a test failed.
//
//	go test -json ./... | go run ./internal/testreport
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	passed, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// event is one line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Key     string // of an attribute
	Value   string
}

// name identifies a test, or a package by an empty test.
type name struct{ pkg, test string }

// report copies the results from one stream to the other, and returns whether every test
// passed.
func report(from io.Reader, to io.Writer) (passed bool, err error) {
	passed = true
	said := map[name][]string{} // what a test printed, until its result is known
	proofs := map[name]string{}
	skipped := map[string]int{}
	ended := false // go test reports the result of at least one package
	lines := bufio.NewReader(from)
	for {
		line, readErr := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(to, line) // from go itself, such as a download
		default:
			n := name{e.Package, e.Test}
			switch e.Action {
			case "output":
				said[n] = append(said[n], e.Output)
			case "attr":
				if e.Key == "proof" {
					proofs[n] += e.Value + "\n"
				}
			case "build-output":
				fmt.Fprint(to, e.Output)
			case "build-fail":
				passed = false
			case "fail":
				passed = false
				fmt.Fprint(to, strings.Join(said[n], ""))
			case "pass":
				fmt.Fprint(to, proofs[n])
				if e.Test == "" {
					fmt.Fprint(to, result(said[n]))
				}
			case "skip":
				if e.Test == "" { // a package without tests
					break
				}
				if r := reason(said[n]); !strings.HasPrefix(r, inapplicable) {
					skipped[r]++
				}
			}
			if e.Action == "pass" || e.Action == "fail" || e.Action == "skip" {
				delete(said, n)
				ended = ended || e.Test == ""
			}
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return false, readErr
		}
	}
	if !ended {
		return false, fmt.Errorf("no package was tested")
	}
	fmt.Fprint(to, summary(skipped))
	return passed, nil
}

// result returns the line "ok package 1.2s" of what a package printed.
func result(said []string) string {
	for _, line := range slices.Backward(said) {
		if strings.HasPrefix(line, "ok ") {
			return line
		}
	}
	return ""
}

// A test reports why it is skipped as " file_test.go:12: why".
var why = regexp.MustCompile(`^\s+\w+\.go:\d+: (.*)`)

// A test of many programs reports when one of them does not have what is tested. Then there
// is nothing to prove.
const inapplicable = "not offered: "

// A reason that names a make target is identified by it.
var target = regexp.MustCompile(`\bmake [a-z-]+`)

func reason(said []string) string {
	for _, line := range slices.Backward(said) {
		// testscript prints the log of a script after the reason.
		if m := why.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[1], "WORK=") {
			return cmp.Or(target.FindString(m[1]), strings.TrimSpace(m[1]))
		}
	}
	return "no reason given"
}

// summary returns one line about the skipped tests: first those that a make target would run, then
// the rest.
func summary(skipped map[string]int) string {
	if len(skipped) == 0 {
		return "Every test ran.\n"
	}
	reasons := slices.SortedFunc(maps.Keys(skipped), func(a, b string) int {
		byTarget := func(s string) int {
			if target.MatchString(s) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(byTarget(a), byTarget(b)), cmp.Compare(skipped[b], skipped[a]), cmp.Compare(a, b))
	})
	total := 0
	parts := make([]string, len(reasons))
	for i, r := range reasons {
		total += skipped[r]
		if target.MatchString(r) {
			parts[i] = fmt.Sprintf("%d that `%s` runs", skipped[r], r)
		} else {
			parts[i] = fmt.Sprintf("%d: %s", skipped[r], r)
		}
	}
	return fmt.Sprintf("Not proven, because %d tests were skipped: %s.\n", total, strings.Join(parts, "; "))
}
