package trial

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/hocket-dev/hocket/workflow"
)

// junitTemplate makes a report that is valid by the schema junit-10.xsd of Jenkins' xUnit plugin, by which a suite may have a file
// and a case may not. GitLab, CircleCI and others check no schema.
var junitTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("junit").Funcs(template.FuncMap{"xml": escaped, "seconds": seconds}).Parse(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="hocket test" tests="{{.Tests}}" failures="{{.Failures}}" errors="{{.Errors}}" time="{{seconds .Took}}">
{{- range $suite := .Suites}}
  <testsuite name="{{xml .Name}}" tests="{{len .Cases}}" failures="{{.Failures}}" errors="{{.Errors}}" skipped="0" time="{{seconds .Took}}" timestamp="{{$.Began}}" hostname="localhost" file="{{xml .File}}">
  {{- range .Cases}}
    <testcase name="{{xml .Name}}" classname="{{xml $suite.Name}}" time="{{seconds .Took}}">
    {{- if .Element}}
      <{{.Element}} message="{{xml .Message}}" type="{{.Type}}">{{xml .Text}}</{{.Element}}>
    {{end -}}
    </testcase>
  {{- end}}
  </testsuite>
{{- end}}
</testsuites>
`))
})

type (
	junitReport struct {
		Tests, Failures, Errors int
		Took                    time.Duration
		Began                   string
		Suites                  []junitSuite
	}
	junitSuite struct {
		Name, File       string
		Failures, Errors int
		Took             time.Duration
		Cases            []junitCase
	}
	junitCase struct {
		Name                string
		Took                time.Duration
		Element             string // failure or error, "" if all is as expected
		Message, Type, Text string // of that element
	}
)

// JUnit writes a report that other programs read: a suite for each file, a failure for what is not as expected, and an
// error for a case that could not run.
func JUnit(to io.Writer, root string, outcomes []*Outcome, began time.Time) error {
	all := junitReport{Began: began.UTC().Format("2006-01-02T15:04:05")}
	for i := 0; i < len(outcomes); {
		file := outcomes[i].Case.File
		suite := junitSuite{Name: file.Name, File: near(root, file.Path)}
		for ; i < len(outcomes) && outcomes[i].Case.File == file; i++ {
			suite.add(root, outcomes[i])
		}
		all.Suites = append(all.Suites, suite)
		all.Tests, all.Failures, all.Errors = all.Tests+len(suite.Cases), all.Failures+suite.Failures, all.Errors+suite.Errors
		all.Took += suite.Took
	}
	return junitTemplate().Execute(to, all)
}

func (s *junitSuite) add(root string, o *Outcome) {
	one := junitCase{Name: o.Case.Name, Took: o.Took}
	switch {
	case o.Invalid.Errors():
		one.Element, one.Message, one.Type, one.Text = "error", "the case cannot run", "invalid", invalidText(root, o.Invalid)
		s.Errors++
	case o.Unable:
		one.Element, one.Message, one.Type, one.Text = "error", o.Problems[0].Summary, "unable", problemText(root, o.Problems)
		s.Errors++
	case len(o.Problems) > 0:
		one.Element, one.Message, one.Type, one.Text = "failure", o.Problems[0].Summary, "failure", problemText(root, o.Problems)
		s.Failures++
	}
	s.Cases = append(s.Cases, one)
	s.Took += o.Took
}

// escaped returns a text for an attribute or an element. Characters that XML cannot have are replaced.
func escaped(text string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(text))
	return b.String(), err
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
