package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
)

// header is the kind of diagram according to its first line.
type header int

const (
	noHeader    header = iota // not recognized
	flowchart                 // a flowchart
	otherHeader               // another kind of diagram
)

// otherDiagrams are the words with which other Mermaid diagrams begin.
var otherDiagrams = []string{
	"sequencediagram", "classdiagram", "classdiagram-v2", "statediagram", "statediagram-v2", "erdiagram", "gantt", "pie",
	"journey", "gitgraph", "gitgraph:", "mindmap", "timeline", "quadrantchart", "requirementdiagram", "requirement",
	"c4context", "c4container", "c4component", "c4dynamic", "c4deployment", "sankey", "sankey-beta", "xychart", "xychart-beta",
	"block", "block-beta", "packet", "packet-beta", "kanban", "architecture", "architecture-beta", "radar-beta", "treemap",
	"treemap-beta", "zenuml", "info", "agentflow-beta", "swimlane-beta",
}

// headerOf looks at the first line of a diagram that is not a comment, a directive or front
// matter.
func headerOf(text []byte) header {
	text = bytes.TrimPrefix(text, bom)
	inMatter := false
	for first := true; len(text) > 0; {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case first && string(line) == "---":
			inMatter = true
		case inMatter:
			inMatter = string(line) != "---"
		case !bytes.HasPrefix(line, []byte("%%")):
			return headerWord(line)
		}
		first = false
	}
	return noHeader
}

func headerWord(line []byte) header {
	word, rest, _ := strings.Cut(strings.ReplaceAll(string(line), "\t", " "), " ")
	direction, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	direction, _, _ = strings.Cut(direction, ";")
	switch name := strings.ToLower(strings.TrimRight(word, ";:")); {
	case (name == "flowchart" || name == "graph" || name == "flowchart-elk") && isDirection(direction):
		return flowchart
	case slices.Contains(otherDiagrams, name):
		return otherHeader
	}
	return noHeader
}

// isBare reports whether a text is a flowchart without Markdown around it.
func isBare(text []byte) bool { return headerOf(text) == flowchart }

// isDirection reports whether a word may follow flowchart on its line. A text that begins with a
// sentence about graphs is not a diagram.
func isDirection(word string) bool {
	switch strings.ToUpper(strings.TrimRight(word, ";:")) {
	case "", "TB", "TD", "BT", "LR", "RL", "BR", "<", ">", "^", "V":
		return true
	}
	return false
}

// Like reports whether a text is a flowchart, or Markdown with one.
func Like(text []byte) bool {
	if isBare(text) {
		return true
	}
	if !bytes.Contains(text, []byte("```")) && !bytes.Contains(text, []byte("~~~")) || isYAML(text) {
		return false
	}
	return scan(source.New("", text)).chart() >= 0
}

// isYAML reports whether a text is a workflow in YAML, in which a prompt may contain a diagram:
// it begins with a key, and has steps.
func isYAML(text []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{'\n'})
	return isKey(first) && (bytes.HasPrefix(text, []byte("steps:")) || bytes.Contains(text, []byte("\nsteps:")))
}

// chart returns the index in fences of the block with the workflow, or -1 if there is none. It is
// the first flowchart under a heading Flow or Workflow, otherwise the first flowchart, otherwise
// a diagram whose header is broken.
func (d *document) chart() int {
	best, rank := -1, 0
	for i := range d.fences {
		if r := d.rank(&d.fences[i]); r > rank {
			best, rank = i, r
		}
	}
	return best
}

// rank returns how likely it is that a block is the workflow; 0 means that it is not.
func (d *document) rank(f *fence) int {
	tagged := isDiagram(f.info)
	if !tagged && f.info != "" && f.info != "flowchart" && f.info != "graph" && f.info != "text" {
		return 0
	}
	switch h := headerOf(d.cut(f).Bytes); {
	case h == flowchart && tagged && d.underFlow(f):
		return 4
	case h == flowchart && tagged:
		return 3
	case h == flowchart && f.info != "text":
		return 2
	case h == noHeader && tagged:
		return 1
	}
	return 0
}

// flowTitles are the headings under which the workflow is drawn.
var flowTitles = []string{"flow", "workflow"}

func (d *document) underFlow(f *fence) bool {
	return f.head >= 0 && slices.Contains(flowTitles, strings.ToLower(d.title(d.headings[f.head])))
}

func (d *document) title(h heading) string { return string(d.text.Bytes[h.title.From:h.title.To]) }

// cut returns the text of a block.
func (d *document) cut(f *fence) *source.Text {
	if n := len(f.lines); n > 0 && f.lines[n-1].To-f.lines[0].From == length(f.lines) {
		return d.text.Cut(source.Span{From: f.lines[0].From, To: f.lines[n-1].To})
	}
	return d.text.Cut(f.lines...)
}

func length(spans []source.Span) int {
	n := 0
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}
