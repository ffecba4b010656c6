package protocol

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hocket-dev/hocket/workflow"
)

// ResponseForm says how an agent wrote its answer.
type ResponseForm string

// The forms of answers.
const (
	XMLForm   ResponseForm = "xml"   // an <agent_response>
	JSONForm  ResponseForm = "json"  // an object, such as a result.json written by the agent
	ProseForm ResponseForm = "prose" // anything else
)

// The values of Response.Status. It is "" if the agent does not say.
const (
	Completed = "COMPLETED"
	Failed    = "FAILED"
)

// Response is the answer to a request. Nothing in it is verified: the texts are data, and the files
// may be missing.
type Response struct {
	Form      ResponseForm
	Version   string // "" if it is not XML
	SessionID string
	Status    string
	Summary   string
	// Files are those that the agent says it wrote, without paths that are not allowed for a
	// deliverable.
	Files           []ResponseFile
	Decisions       []Answer
	Reports         []Answer
	Errors          []string
	Recommendations []string
	// Next are the requests that the agent hands off. Those with errors are left out.
	Next []*Request
	// Own is the object that the agent wrote, unchanged. It is nil unless the form is JSON.
	Own json.RawMessage
	// Found says what was repaired, as warnings, and what was left out, as errors.
	Found workflow.Diagnostics
}

// ResponseFile is a file that an agent says it wrote.
type ResponseFile struct {
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
}

// Answer is a decision or a report.
type Answer struct {
	// For names what it answers: a decision or report of the request by its number, counted
	// among those of its kind, or by its text. It may be "".
	For  string `json:"for,omitempty"`
	Text string `json:"text"`
}

// MarshalJSON writes a response with the names of the protocol, as in result.json. It omits Own and
// Found.
func (r *Response) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Form            ResponseForm   `json:"form"`
		Version         string         `json:"version,omitempty"`
		SessionID       string         `json:"session_id,omitempty"`
		Status          string         `json:"status,omitempty"`
		Summary         string         `json:"summary"`
		Files           []ResponseFile `json:"files,omitempty"`
		Decisions       []Answer       `json:"decisions,omitempty"`
		Reports         []Answer       `json:"reports,omitempty"`
		Errors          []string       `json:"errors,omitempty"`
		Recommendations []string       `json:"recommendations,omitempty"`
		Next            []*Request     `json:"next,omitempty"`
	}{r.Form, r.Version, r.SessionID, r.Status, r.Summary, r.Files, r.Decisions, r.Reports, r.Errors, r.Recommendations, r.Next})
}

// Unanswered returns the decisions and reports that a request asks for but the response does not
// contain. An answer that names none of them counts for the first one that is still open. If the
// request asks for only one, any answer that is not XML answers it.
func (r *Response) Unanswered(q *Request) []Deliverable {
	var asked, left []Deliverable
	for _, kind := range []Kind{Decision, Report} {
		var ofKind []Deliverable
		for _, d := range q.Deliverables {
			if d.Kind == kind {
				ofKind = append(ofKind, d)
			}
		}
		given := r.Decisions
		if kind == Report {
			given = r.Reports
		}
		asked, left = append(asked, ofKind...), append(left, unanswered(ofKind, given)...)
	}
	if len(asked) == 1 && r.Form != XMLForm && (says(r.Summary) || says(string(r.Own))) {
		return nil
	}
	return left
}

// unanswered returns the deliverables of one kind that have no answer.
func unanswered(asked []Deliverable, given []Answer) []Deliverable {
	answered, spare := make([]bool, len(asked)), 0
	for _, a := range given {
		repeats := func(d Deliverable) bool { return d.Text != "" && words(d.Text) == words(a.Text) }
		switch at := named(asked, a.For); {
		case !says(a.Text) || slices.ContainsFunc(asked, repeats): // repeating the question is not an answer
		case at < 0:
			spare++
		default:
			answered[at] = true
		}
	}
	var left []Deliverable
	for i, d := range asked {
		switch {
		case answered[i]:
		case spare > 0:
			spare--
		default:
			left = append(left, d)
		}
	}
	return left
}

// named returns the index of the deliverable that an answer names by its number, its text or the
// first words of its text, or -1.
func named(asked []Deliverable, name string) int {
	if n, err := strconv.Atoi(strings.Trim(name, "#. ")); err == nil && n >= 1 && n <= len(asked) {
		return n - 1
	}
	label := words(name)
	return slices.IndexFunc(asked, func(d Deliverable) bool {
		text := words(d.Text)
		return label != "" && (text == label || strings.HasPrefix(text, label+" ") && strings.Contains(label, " "))
	})
}

// says reports whether a text says anything: `{}` and `…` do not.
func says(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) })
}

// words returns the letters and digits of a text, in lower case and with single spaces.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}
