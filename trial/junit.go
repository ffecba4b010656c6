package trial

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/workflow"
)

// The elements of a JUnit report, in the form that the Jenkins plugin, GitLab, GitHub actions and others read.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Time      string      `xml:"time,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Hostname  string      `xml:"hostname,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Classname string        `xml:"classname,attr"`
		File      string        `xml:"file,attr,omitempty"`
		Time      string        `xml:"time,attr"`
		Failure   *junitFailure `xml:"failure"`
		Error     *junitFailure `xml:"error"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report that other programs read: a suite for each file, a failure for what is not as expected, and an
// error for a case that could not run.
func JUnit(to io.Writer, root string, outcomes []*Outcome, began time.Time) error {
	all := junitSuites{Name: "hocket test"}
	var total time.Duration
	for i := 0; i < len(outcomes); {
		file := outcomes[i].Case.File
		suite := junitSuite{Name: file.Name, Timestamp: began.UTC().Format("2006-01-02T15:04:05"), Hostname: "localhost"}
		var took time.Duration
		for ; i < len(outcomes) && outcomes[i].Case.File == file; i++ {
			o := outcomes[i]
			one := junitCase{Name: printable(o.Case.Name), Classname: printable(file.Name), File: near(root, file.Path), Time: seconds(o.Took)}
			switch {
			case o.Invalid.Errors():
				one.Error = &junitFailure{Message: "the case cannot run", Type: "invalid", Text: printable(invalidText(root, o.Invalid))}
				suite.Errors++
			case o.Unable:
				one.Error = &junitFailure{Message: printable(o.Problems[0].Summary), Type: "unable", Text: printable(problemText(root, o.Problems))}
				suite.Errors++
			case len(o.Problems) > 0:
				one.Failure = &junitFailure{Message: printable(o.Problems[0].Summary), Type: "failure", Text: printable(problemText(root, o.Problems))}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
			took += o.Took
		}
		suite.Tests, suite.Time = len(suite.Cases), seconds(took)
		all.Suites = append(all.Suites, suite)
		all.Tests, all.Failures, all.Errors = all.Tests+suite.Tests, all.Failures+suite.Failures, all.Errors+suite.Errors
		total += took
	}
	all.Time = seconds(total)
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(to)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// invalidText returns mistakes as plain text, with paths in the project.
func invalidText(root string, found workflow.Diagnostics) string {
	shown := slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool { return d.Severity != workflow.Error })
	for i := range shown {
		shown[i].File = near(root, shown[i].File)
	}
	return shown.String()
}

// problemText returns problems as plain text, with paths in the project.
func problemText(root string, problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Summary + "\n")
		if p.Pos.File != "" {
			p.Pos.File = near(root, p.Pos.File)
			b.WriteString("--> " + p.Pos.String() + "\n")
		}
		for _, l := range p.Diff {
			b.WriteString("  " + l.Kind + " " + l.Text + "\n")
		}
		if p.Detail != "" {
			b.WriteString("help: " + p.Detail + "\n")
		}
	}
	return b.String()
}

// printable replaces characters that XML cannot have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r != utf8.RuneError && r != 0xFFFE && r != 0xFFFF {
			return r
		}
		return '\uFFFD'
	}, text)
}
