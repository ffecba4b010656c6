package web

import (
	"bytes"
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/server"
)

func handoffsPath(project string) string { return projectPath(project) + "/handoffs" }

type handoffsData struct {
	Project  string
	Path     string
	Handoffs []server.Handoff
}

// handoffs lists the handoffs of a project.
func (s *site) handoffs(r *http.Request) (string, any, error) {
	project := r.PathValue("project")
	all, err := s.Handoffs(r.Context(), project, 100)
	return "Handoffs", handoffsData{project, handoffsPath(project), all}, err
}

// handoffData is a handoff that a person writes.
type handoffData struct {
	handoffPreview
	Project  string
	Path     string
	Agents   []string
	Sessions []server.Handoff // that it may depend on
	Form     handoffForm
	Problem  string // why it could not be sent
	Key      string // of the form, so that a text is not sent twice
}

// handoffPreview is what can be said about it while it is written.
type handoffPreview struct {
	XML   string
	Check server.HandoffCheck
}

// handoffForm has the fields of the form, as they were filled in.
type handoffForm struct {
	Agent, Mode, Workflow, Priority, Timeout, Retries  string
	Session, Estimate, DependsOn, Notify               string
	Intent, Summary, Details, Notes                    string
	Constraints, Files, OptionalFiles, Reports, Choice string // one in a line
}

// The choices of the form, the usual one first.
func (handoffForm) Modes() []protocol.Mode {
	return []protocol.Mode{protocol.Spawn, protocol.Conversation}
}
func (handoffForm) Workflows() []protocol.Method {
	return []protocol.Method{protocol.Standard, protocol.TDD, protocol.Spike, protocol.None}
}
func (handoffForm) Priorities() []protocol.Priority {
	return []protocol.Priority{protocol.Medium, protocol.High, protocol.Low}
}

func handoffOf(r *http.Request) handoffForm {
	text := func(name string) string { return strings.TrimSpace(formText(r, name)) }
	return handoffForm{text("agent"), text("mode"), text("workflow"), text("priority"), text("timeout"), text("retries"),
		text("session"), text("estimate"), text("depends"), text("notify"),
		text("intent"), text("summary"), text("details"), text("notes"), text("constraints"), text("files"), text("optional"), text("reports"), text("decisions")}
}

// request returns the request that the form describes, as XML. It writes also what is wrong, so that the check
// can say so.
func (f handoffForm) request() string {
	q := protocol.Request{
		Version: "1.0", TargetAgent: f.Agent, Mode: protocol.Mode(f.Mode), Workflow: protocol.Method(f.Workflow), Priority: protocol.Priority(f.Priority),
		Intent: f.Intent, Summary: f.Summary, Details: f.Details, Notes: f.Notes, Constraints: lines(f.Constraints),
		SessionID: f.Session, DependsOn: listed(f.DependsOn), Notify: listed(f.Notify),
	}
	for _, one := range []struct {
		name, text string
		to         *time.Duration
	}{{"timeout", f.Timeout, &q.Timeout}, {"estimated_duration", f.Estimate, &q.Estimate}} {
		if d, ok := protocol.ParseDuration(one.text); ok {
			*one.to = d
		} else if one.text != "" {
			q.Attributes = append(q.Attributes, protocol.Attribute{Name: one.name, Value: one.text})
		}
	}
	if n, err := strconv.Atoi(f.Retries); err == nil {
		q.MaxRetries = n
	} else if f.Retries != "" {
		q.Attributes = append(q.Attributes, protocol.Attribute{Name: "max_retries", Value: f.Retries})
	}
	for _, kind := range []struct {
		text     string
		kind     protocol.Kind
		required bool
	}{{f.Files, protocol.File, true}, {f.OptionalFiles, protocol.File, false}, {f.Choice, protocol.Decision, true}, {f.Reports, protocol.Report, true}} {
		for _, line := range lines(kind.text) {
			d := protocol.Deliverable{Kind: kind.kind, Required: kind.required, Text: line}
			if kind.kind == protocol.File {
				path, text, _ := strings.Cut(line, ":")
				d.Path, d.Text = strings.TrimSpace(path), strings.TrimSpace(text)
			}
			q.Deliverables = append(q.Deliverables, d)
		}
	}
	return q.Format()
}

// listed returns the names in a text, which are separated by commas or white space.
func listed(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func (s *site) checkForm(r *http.Request, f handoffForm) (*server.HandoffText, handoffPreview, error) {
	in := &server.HandoffText{InProject: server.InProject{Project: r.PathValue("project")}}
	in.Body.Text = f.request()
	p := handoffPreview{XML: in.Body.Text}
	var err error
	p.Check, err = s.CheckHandoff(r.Context(), in)
	for i := range p.Check.Diagnostics {
		d := &p.Check.Diagnostics[i]
		d.Summary, d.Detail = labels.Replace(d.Summary), labels.Replace(d.Detail)
	}
	return in, p, err
}

// labels turns the names of the protocol into those of the form.
var labels = strings.NewReplacer(
	"<original_intent>", "Original intent", "<current_task_summary>", "Summary", "<task_details>", "Details", "<deliverables>", "Deliverables",
	"original_intent", "Original intent", "current_task_summary", "Summary", "task_details", "Details", "max_retries", "Retries",
	"estimated_duration", "Estimate", "depends_on", "Waits for", "notify_on_completion", "Tell when done", "session_id", "Session id", "target_agent", "Agent",
)

// newHandoff shows an empty form.
func (s *site) newHandoff(r *http.Request) (string, any, error) {
	d, err := s.formData(r, handoffForm{Mode: string(protocol.Spawn), Workflow: string(protocol.Standard), Priority: string(protocol.Medium)})
	d.Check.Diagnostics = nil // nothing is wrong with a form that nobody has filled in
	return "New handoff", d, err
}

func (s *site) formData(r *http.Request, f handoffForm) (handoffData, error) {
	project := r.PathValue("project")
	d := handoffData{Project: project, Path: handoffsPath(project), Form: f, Key: cmp.Or(formText(r, "key"), newKey())}
	var err error
	if d.Sessions, err = s.Handoffs(r.Context(), project, 20); err != nil {
		return d, err
	}
	if d.Agents, err = s.AgentNames(r.Context(), project); err == nil {
		_, d.handoffPreview, err = s.checkForm(r, f)
	}
	return d, err
}

// previewHandoff answers with what the form makes, and what is wrong with it, while a person fills it in.
func (s *site) previewHandoff(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form could not be read", http.StatusBadRequest)
		return
	}
	_, p, err := s.checkForm(r, handoffOf(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var part bytes.Buffer
	if err := s.pages["handoff"].ExecuteTemplate(&part, "handoff-preview", p); err != nil {
		http.Error(w, s.Explain(r.Context(), err).Detail, http.StatusInternalServerError)
		return
	}
	send(w, r, http.StatusOK, "text/html; charset=utf-8", reveal(part.Bytes()))
}

// sendHandoff sends the request of a form, or shows the form again with what is wrong. Nothing that a person has
// written is lost.
func (s *site) sendHandoff(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form could not be read", http.StatusBadRequest)
		return
	}
	f := handoffOf(r)
	d, err := s.formData(r, f)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	status := http.StatusOK
	if r.PostForm.Get("do") != "check" {
		in := &server.HandoffText{InProject: server.InProject{Project: d.Project}}
		in.Body.Text = d.XML
		if _, err = s.SendHandoff(r.Context(), formKey(r), in); err == nil {
			http.Redirect(w, r, d.Path, http.StatusSeeOther)
			return
		}
		p := s.Explain(r.Context(), err)
		status, d.Problem = p.Status, "It was not sent: "+p.Detail
	}
	s.render(w, r, status, "handoff", "New handoff", d)
}
