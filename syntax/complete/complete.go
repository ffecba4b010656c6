// Package complete says what can be written at a place of a workflow: keys, agents, steps and references.
// Editors offer it while a person types, so the text usually has mistakes.
package complete

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/syntax/plantuml"
	"github.com/hocket-dev/hocket/syntax/xml"
	"github.com/hocket-dev/hocket/workflow"
)

// Names are what a workflow can use besides its own steps.
type Names struct {
	Agents, Workflows, Templates []string
}

// Suggestion is a word that can be written.
type Suggestion struct {
	Text string `json:"text"`
	Kind string `json:"kind" enum:"key,value,agent,workflow,template,step,input,variable,element"`
	Note string `json:"note,omitempty" doc:"What it means"`
}

// At returns what can be written at an offset of a text, and where the word begins that it completes.
func At(file string, text []byte, at int, names Names) (from int, all []Suggestion) {
	at = max(0, min(at, len(text)))
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	c := &completer{file: file, text: text, begin: begin, at: at, head: string(text[begin:at]), names: names}
	if n, ok := syntax.Of(file, text); ok {
		c.notation = n.Name
	} else if n, ok := syntax.ByEnding(file); ok {
		c.notation = n.Name
	}
	word, all := c.find()
	all = slices.DeleteFunc(all, func(s Suggestion) bool {
		return s.Text == word || !strings.HasPrefix(strings.ToLower(s.Text), strings.ToLower(word))
	})
	return at - len(word), all
}

// completer looks at one place of a text.
type completer struct {
	file, notation string
	text           []byte
	begin, at      int    // of the line, and the place
	head           string // the line up to the place
	names          Names
}

var (
	reference  = lazy.Regexp(`(?:\$\{|\{\{)\s*(?:[^}]*[ (!<>=&|+*/-])?([\w.-]*)$`)
	laneMark   = lazy.Regexp(`^\s*\|(?:#\w+\|)?([^|]*)$`)
	noteMark   = lazy.Regexp(`^\s*<<(\w*)$`)
	noteBegins = lazy.Regexp(`(?i)^\s*(floating )?note( left| right)?\s*$`)
	noteEnds   = lazy.Regexp(`(?i)^\s*end ?note\s*$`)
	arrow      = lazy.Regexp(`(?:-->|---|-\.->|==>)(?:\|[^|]*\|)?\s*([\w-]*)$`)
	section    = lazy.Regexp(`^#{2,4} ([\w-]*)$`)
	fence      = lazy.Regexp("^\\s*(```|~~~)\\s*(\\w*)")
)

// find returns the word before the place, and what it may become.
func (c *completer) find() (word string, all []Suggestion) {
	if m := reference().FindStringSubmatch(c.head); m != nil {
		if c.inCommand() {
			return m[1], nil // values are never part of a command
		}
		return m[1], c.references()
	}
	switch c.notation {
	case "xml":
		return c.inXML()
	case "mermaid":
		return c.inMarkdown()
	case "plantuml":
		if m := laneMark().FindStringSubmatch(c.head); m != nil {
			return m[1], some("agent", c.agents())
		}
		lines, inside := c.note()
		if m := noteMark().FindStringSubmatch(c.head); m != nil && inside {
			return m[1], some("key", plantuml.NoteMarks())
		}
		if inside {
			return c.inYAML(lines, []string{"steps", ""})
		}
		return "", nil
	case "yaml":
		return c.inYAML(c.above(0), nil)
	}
	return "", nil
}

var (
	commandKey = lazy.Regexp(`(?:^|[\s{,-])command:(?:\s|$)`)
	stepID     = lazy.Regexp(`(?:^|[\s{,-])id:\s*["']?([\w-]+)`)
)

// inCommand reports whether the place is in the text of a shell command in YAML.
func (c *completer) inCommand() bool {
	if commandKey().MatchString(c.head) {
		return true
	}
	indent := len(c.head) - len(strings.TrimLeft(c.head, " "))
	for _, line := range slices.Backward(c.above(0)) { // the key of a text in several lines
		if outer := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" && outer < indent {
			return commandKey().MatchString(line) && strings.HasSuffix(strings.TrimRight(line, "+- "), "|")
		}
	}
	return false
}

// own returns the id of the step in YAML that the place is in, if it is written above the place.
func (c *completer) own() string {
	for _, line := range slices.Backward(append(c.above(0), c.head)) {
		if m := stepID().FindStringSubmatch(line); m != nil {
			return m[1]
		}
		if strings.HasPrefix(strings.TrimSpace(line), "- ") {
			break
		}
	}
	return ""
}

// above returns the lines from an offset to the line of the place.
func (c *completer) above(from int) []string {
	if from >= c.begin {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(c.text[from:c.begin]), "\n"), "\n")
}

// note returns the lines of the note of PlantUML that the place is in.
func (c *completer) note() (lines []string, inside bool) {
	above := c.above(0)
	for i := len(above) - 1; i >= 0; i-- {
		switch {
		case noteEnds().MatchString(above[i]):
			return nil, false
		case noteBegins().MatchString(above[i]):
			return above[i+1:], true
		}
	}
	return nil, false
}

// inMarkdown completes headings, ends of arrows, and the keys of the front matter of the file and its
// sections.
func (c *completer) inMarkdown() (string, []Suggestion) {
	if m := section().FindStringSubmatch(c.head); m != nil {
		return m[1], c.steps()
	}
	var chart, block, heading bool // whether the place is in a chart, in front matter, below the heading of a step
	bare := strings.HasSuffix(c.file, ".mmd") || strings.HasSuffix(c.file, ".mermaid")
	fenced := false
	start := 0
	lines := c.above(0)
	for i, line := range lines {
		if m := fence().FindStringSubmatch(line); m != nil && !block {
			fenced = !fenced
			chart = fenced && m[2] == "mermaid"
			continue
		}
		switch {
		case fenced:
		case strings.TrimSpace(line) == "---":
			block, start = !block, i+1
		case !block && strings.HasPrefix(line, "#"):
			heading = strings.HasPrefix(line, "###")
		}
	}
	switch m := arrow().FindStringSubmatch(c.head); {
	case chart || bare:
		if m != nil {
			return m[1], c.steps()
		}
	case block && heading:
		return c.inYAML(lines[start:], []string{"steps", ""})
	case block:
		return c.inYAML(lines[start:], nil)
	}
	return "", nil
}

var (
	openTag   = lazy.Regexp(`<(/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*)\s*(/?)>`)
	tagName   = lazy.Regexp(`<([\w:.-]*)$`)
	attribute = lazy.Regexp(`<([A-Za-z][\w:.-]*)(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s+([\w:.-]*)$`)
	attrValue = lazy.Regexp(`<([A-Za-z][\w:.-]*)[^<>]*\s([\w:.-]+)\s*=\s*["'](?:[^"']*[,\s])?([^"',\s]*)$`)
)

// inXML completes the names of elements and attributes, and the values of some attributes.
func (c *completer) inXML() (string, []Suggestion) {
	before := c.text[:c.at]
	var path []string
	for _, m := range openTag().FindAllSubmatch(before, -1) {
		switch {
		case len(m[1]) > 0 && len(path) > 0:
			path = path[:len(path)-1]
		case len(m[1]) == 0 && len(m[4]) == 0:
			path = append(path, string(m[2]))
		}
	}
	tail := string(before[max(0, bytes.LastIndexByte(before, '<')):])
	if m := attrValue().FindStringSubmatch(tail); m != nil {
		key := m[2]
		if key == "name" && slices.Contains([]string{"agent", "node", "step"}, m[1]) || key == "agent" {
			key = "agent"
		} else if key == "depends" || key == "dependsOn" {
			key = "needs"
		}
		return m[3], c.values(key, step)
	}
	if m := attribute().FindStringSubmatch(tail); m != nil {
		_, words := xml.Allowed(append(path, m[1]))
		return m[2], some("key", words)
	}
	if m := tagName().FindStringSubmatch(tail); m != nil {
		elements, _ := xml.Allowed(path)
		return m[1], some("element", elements)
	}
	return "", nil
}

// values returns what the value of a key can be; in returns the schema of the map that has the key.
func (c *completer) values(key string, in func() *node) []Suggestion {
	switch key {
	case "agent":
		return some("agent", c.agents())
	case "workflow":
		return some("workflow", c.names.Workflows)
	case "template":
		return some("template", c.names.Templates)
	case "needs", "next", "else", "error", "on_timeout", "to":
		return c.steps()
	}
	return some("value", in().child(key).words())
}

// model returns what can be read of the text: without the line of the place, if it is what cannot be read.
func (c *completer) model() *workflow.Workflow {
	if w, _ := syntax.Parse(c.file, c.text); w != nil && len(w.Body.Nodes) > 0 {
		return w
	}
	end := len(c.text)
	if i := bytes.IndexByte(c.text[c.at:], '\n'); i >= 0 {
		end = c.at + i
	}
	w, _ := syntax.Parse(c.file, slices.Concat(c.text[:c.begin], c.text[end:]))
	return w
}

func (c *completer) agents() []string {
	all := slices.Clone(c.names.Agents)
	if w := c.model(); w != nil {
		for _, lane := range w.Agents {
			if !slices.Contains(all, lane.Name) {
				all = append(all, lane.Name)
			}
		}
	}
	return all
}

func (c *completer) steps() []Suggestion {
	var all []Suggestion
	if w := c.model(); w != nil {
		w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
			all = append(all, Suggestion{n.ID, "step", n.Title})
		})
	}
	return all
}

// references returns what a reference can name: inputs, variables and the outputs of steps.
func (c *completer) references() []Suggestion {
	w := c.model()
	if w == nil {
		return nil
	}
	var all []Suggestion
	for _, in := range w.Inputs {
		all = append(all, Suggestion{in.Name, "input", in.Description})
	}
	for _, name := range sorted.Keys(w.State) {
		all = append(all, Suggestion{"state." + name, "variable", ""})
	}
	own := c.own()
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if n.ID == own {
			return
		}
		all = append(all, Suggestion{"steps." + n.ID + ".output", "step", n.Title})
		if n.Output.Var != "" {
			all = append(all, Suggestion{n.Output.Var, "variable", "the output of " + n.ID})
		}
	})
	sort.SliceStable(all, func(i, j int) bool { return all[i].Kind < all[j].Kind })
	return slices.Compact(all)
}

func some(kind string, texts []string) []Suggestion {
	all := make([]Suggestion, len(texts))
	for i, t := range texts {
		all[i] = Suggestion{Text: t, Kind: kind}
	}
	return all
}
