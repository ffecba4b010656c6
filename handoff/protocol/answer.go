package protocol

import (
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// maxAnswer limits the size of an answer. The rest is ignored.
const maxAnswer = 10 << 20

// ReadResponse reads the answer of an agent: an <agent_response> anywhere in the text, else a JSON
// object, else prose. It never fails. If there are several responses, the last one counts.
func ReadResponse(text string) *Response {
	a := &answer{Response: &Response{}, reported: map[workflow.Severity]int{}}
	if len(text) > maxAnswer {
		text = text[:maxAnswer]
		a.report(workflow.Errorf(workflow.Pos{}, CodeResponse, "write long texts to files, and mention the files", "the answer is longer than %d MiB and was cut off", maxAnswer>>20))
	}
	a.text = strings.ToValidUTF8(strings.TrimPrefix(text, "\uFEFF"), "\uFFFD")
	if !a.xml() && !a.json() {
		a.prose()
	}
	a.Found = a.Found.Sort()
	return a.Response
}

// answer is an answer that is being read.
type answer struct {
	*Response
	text     string
	reported map[workflow.Severity]int
}

// maxFound limits how many errors, and how many warnings, are reported about an answer.
const maxFound = 100

func (a *answer) report(found ...workflow.Diagnostic) {
	for _, d := range found {
		if a.reported[d.Severity]++; a.reported[d.Severity] <= maxFound {
			a.Found = append(a.Found, d)
		}
	}
}

func (a *answer) repaired(pos workflow.Pos, detail, summary string, args ...any) {
	a.report(workflow.Warningf(pos, CodeRepaired, detail, summary, args...))
}

// prose reads an answer that is neither XML nor JSON. A fenced request in it is handed off.
func (a *answer) prose() {
	a.Form, a.Summary = ProseForm, strings.TrimSpace(a.text)
	all := blocks([]byte(a.text), isRequest)
	if len(all) == 0 {
		return
	}
	a.Summary = around([]byte(a.text), all)
	a.requests(all)
}

// requests reads the requests that the agent hands off.
func (a *answer) requests(all []block) {
	h := &Handoffs{}
	r := &reader{Options: Options{Lenient: true}, handoffs: h}
	for i, b := range all {
		if i == maxBlocks {
			a.report(workflow.Errorf(workflow.Pos{Line: b.start.Line + 1}, CodeBlock, "hand off fewer requests", "the answer has more than %d requests", maxBlocks))
			break
		}
		if err := r.request(b.text, b.start); err != nil { // only a project's own schema can fail
			a.report(workflow.Errorf(workflow.Pos{Line: b.start.Line + 1}, CodeBlock, "", "%v", err))
		}
	}
	r.sessions()
	a.Next = h.Requests
	a.report(h.Found...)
}
