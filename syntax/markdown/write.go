package markdown

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/yaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Format writes a model as a careful person would: the flow as a chart with loops as arrows that
// lead back, conditions in diamonds and short prompts in the boxes; a section for every node that
// needs more; and the rest in keys of YAML. It parses the result again to make sure that it has
// the digest of the model.
func Format(w *workflow.Workflow) ([]byte, error) {
	p, err := write(w)
	if err != nil {
		return nil, err
	}
	return p.text(), nil
}

// write finds the first form that means the model.
func write(w *workflow.Workflow) (*page, error) {
	digest := workflow.Digest(w)
	for _, f := range forms {
		p := newPlan(w, f).page()
		if again, found := Parse("", p.text()); !found.Errors() && workflow.Digest(again) == digest {
			return p, nil
		}
	}
	return nil, errors.New("markdown: the workflow " + strconv.Quote(w.Name) + " cannot be written in Markdown")
}

// page is a file in its parts.
type page struct {
	front  string // YAML
	title  string
	chart  string // with its header
	pieces []piece
	plan   *plan
}

// piece is a section.
type piece struct {
	id    string
	front string // YAML
	body  string
}

// style is how keys are written: a prompt among them must not look like Markdown.
var style = yaml.Style{NoFences: true}

// chartHeader is the first line of the charts that are written.
const chartHeader = "flowchart TD\n"

func (p *page) text() []byte {
	var b strings.Builder
	b.WriteString("---\n" + p.front + "---\n\n")
	if p.title != "" {
		b.WriteString("# " + p.title + "\n\n")
	}
	b.WriteString("```mermaid\n" + p.chart + "```\n")
	for i := range p.pieces {
		b.WriteString("\n" + p.pieces[i].text())
	}
	return []byte(b.String())
}

func (p *piece) text() string {
	text := "### " + p.id + "\n"
	if p.front != "" {
		text += "\n---\n" + p.front + "---\n"
	}
	if p.body != "" {
		text += "\n" + p.body + "\n"
	}
	return text
}

// page writes the plan.
func (p *plan) page() *page {
	pg := &page{front: p.front(), plan: p}
	if isTitle(p.w.Name) {
		pg.title = p.w.Name
	}
	c := p.draw()
	pg.chart = chartHeader + c.lines.String()
	pg.pieces = c.pieces
	return pg
}

// isTitle reports whether a name can be a heading.
func isTitle(name string) bool {
	h, ok := atx([]byte("# "+name), 0, len("# "+name))
	return ok && name != "" && h.title.To-h.title.From == len(name) && !strings.ContainsAny(name, "\r\n") && strictyaml.IsPrintable(name)
}

// front returns the front matter of the file.
func (p *plan) front() string {
	name := strictyaml.Quote(p.w.Name, false)
	text := "name: " + name + "\n" + style.Head(p.w)
	if p.entry != "" {
		text += "entrypoint: " + strictyaml.Quote(p.entry, false) + "\n"
	}
	if p.loops && p.drawing.Max != 0 {
		text += "config:\n  maxIterations: " + strconv.Itoa(p.drawing.Max) + "\n"
	}
	if p.retry != (workflow.Retry{}) {
		text += style.Step(&workflow.Node{Step: &workflow.Task{}, Retry: p.retry}, nil, false)
	}
	if p.onError != workflow.Stop {
		text += "on_error: " + string(p.onError) + "\n"
	}
	if p.handler != "" {
		text += "onError: " + strictyaml.Quote(p.handler, false) + "\n"
	}
	return layOut(text)
}

// layOut formats YAML in the canonical style.
func layOut(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return string(strictyaml.Layout([]byte(text)))
}

// words returns the keys of a node whose drawing shows part of it. The caller has removed that
// part from n.
func (p *plan) words(n *workflow.Node, drawn string, edges []workflow.Edge) string {
	w := *n
	usual := p.onError
	if _, isLoop := n.Step.(*workflow.Loop); isLoop {
		usual = workflow.Stop
	}
	stops := ""
	switch {
	case w.OnError == usual:
		w.OnError = workflow.Stop
	case w.OnError == workflow.Stop:
		stops = "on_error: stop\n"
	}
	once := p.takeRetry(&w)
	agent, asIs := takeAgentWords(&w)
	text := style.Step(&w, edges, drawn != n.ID)
	if asIs {
		text = renameLine(text, "config:", "settings:")
	}
	return text + once + agent + stops
}

// takeRetry removes a retry that the file sets for all tasks, and writes a key if the node has
// none.
func (p *plan) takeRetry(n *workflow.Node) string {
	if each, ok := n.Step.(*workflow.Each); ok && len(each.Body.Nodes) == 1 {
		c := *each
		c.Body.Nodes = slices.Clone(each.Body.Nodes)
		n.Step, n = &c, &c.Body.Nodes[0]
	}
	switch none := (workflow.Retry{}); {
	case !p.works[n.ID] || p.retry == none:
	case n.Retry == p.retry:
		n.Retry = none
	case n.Retry.Attempts < 2:
		n.Retry = none
		return "retry: 1\n"
	}
	return ""
}

// takeAgentWords takes the settings that have their own keys out of a task or a question, and
// writes them. asIs says that the remaining settings include some that would belong to the node
// in config.
func takeAgentWords(n *workflow.Node) (text string, asIs bool) {
	if each, ok := n.Step.(*workflow.Each); ok && len(each.Body.Nodes) == 1 {
		c := *each
		c.Body.Nodes = slices.Clone(each.Body.Nodes)
		n.Step, n = &c, &c.Body.Nodes[0]
	}
	task := n.Task()
	if kind := yaml.Kind(n); task == nil || len(task.Settings) == 0 || kind == "merge" || kind == "land" {
		return "", false
	}
	own, rest := map[string]any{}, map[string]any{}
	for k, v := range task.Settings {
		if slices.Contains(agentWords, k) {
			own[k] = v
		} else {
			rest[k] = v
		}
		asIs = asIs || k == "timeout" || k == "retry"
	}
	c := *task
	c.Settings = rest
	switch {
	case n.Kind() == "task":
		n.Step = &c
	case len(rest) == 0 && c.Agent == "" && c.Prompt.Text == "": // the diamond shows the question
		n.Step = &workflow.Choice{}
	default:
		n.Step = &workflow.Choice{Ask: &c}
	}
	if len(own) == 0 {
		return "", asIs
	}
	nested := style.Step(&workflow.Node{Step: &workflow.Task{Settings: own}}, nil, false)
	return dedent(strings.TrimPrefix(nested, "config:\n")), asIs
}

// dedent removes two blanks from every line.
func dedent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimPrefix(line, "  "))
	}
	return b.String()
}

// renameLine replaces the first line that is a key without a value.
func renameLine(text, key, by string) string {
	if strings.HasPrefix(text, key+"\n") {
		return by + text[len(key):]
	}
	return strings.Replace(text, "\n"+key+"\n", "\n"+by+"\n", 1)
}
