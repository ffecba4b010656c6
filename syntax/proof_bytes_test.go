package syntax_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// Written unchanged, a file has the bytes that it had. A file with errors is left
// as it is.
func TestProofBytes(t *testing.T) {
	written, left := 0, 0
	all := foreign(t)
	for _, f := range all {
		w, found := syntax.Parse(f.file, f.text)
		n, ok := syntax.Of(f.file, f.text)
		if w == nil || found.Errors() || !ok {
			left++
			if laid, wrong := syntax.Fmt(f.file, f.text); !bytes.Equal(laid, f.text) || !wrong.Errors() {
				t.Errorf("%s has errors, and Fmt changes it", f.name)
			}
			if ok {
				if _, err := n.Update(f.file, f.text, &workflow.Workflow{Name: "x"}); err == nil {
					t.Errorf("%s has errors, and Update changes it", f.name)
				}
			}
			continue
		}
		written++
		if same, err := n.Update(f.file, f.text, w); err != nil || !bytes.Equal(same, f.text) {
			t.Errorf("%s: %v\n%s", f.name, err, cmp.Diff(string(f.text), string(same)))
		}
	}
	t.Logf("%d of %d files come out as they went in; %d with errors are left as they are", written, len(all), left)
}

// One change of a task is written into a file that keeps everything that is not
// drawn: all of it but the flowchart, and the lines of PlantUML but a few.
func TestProofChanges(t *testing.T) {
	files, kept := 0, 0
	for _, f := range foreign(t) {
		w, found := syntax.Parse(f.file, f.text)
		if found.Errors() || !delay(w) {
			continue
		}
		files++
		n, _ := syntax.Of(f.file, f.text)
		text, err := n.Update(f.file, f.text, w)
		if err != nil || digest(f.file, text) != workflow.Digest(w) {
			t.Errorf("%s does not mean what it should: %v\n%s", f.name, err, text)
		}
		gone := missing(outside(f), text)
		if gone == 0 {
			kept++
		} else if filepath.Ext(f.file) == ".md" && f.file != "09b7c1c54019.md" { // that has the words of the task in its section
			t.Errorf("%s loses %d lines of prose\n%s", f.name, gone, cmp.Diff(string(f.text), string(text)))
		}
	}
	t.Logf("a change of one task in %d files; %d keep every line that is not drawn", files, kept)
	if kept*100 < files*98 {
		t.Error("too many files lose lines")
	}
}

// delay changes how long the first task may take.
func delay(w *workflow.Workflow) (changed bool) {
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if _, isTask := n.Step.(*workflow.Task); isTask && !changed {
			n.Timeout += 7 * time.Minute
			changed = true
		}
	})
	return changed
}

// outside are the lines of a file without the flowcharts in it.
func outside(f diagram) (lines []string) {
	in := filepath.Ext(f.file) == ".mmd"
	for line := range strings.Lines(string(f.text)) {
		line = strings.TrimSpace(line)
		switch fence := strings.HasPrefix(strings.TrimLeft(line, "> "), "```"); {
		case fence && strings.Contains(line, "mermaid"):
			in = true
		case fence:
			in = false
		}
		if !in {
			lines = append(lines, line)
		}
	}
	return lines
}

// missing counts the lines that a text has less often.
func missing(lines []string, text []byte) (gone int) {
	have := map[string]int{}
	for line := range strings.Lines(string(text)) {
		have[strings.TrimSpace(line)]++
	}
	for _, line := range lines {
		if have[line]--; have[line] < 0 {
			gone++
		}
	}
	return gone
}

// Laid out, a file means the same to Hocket and to the real tool, and laid out
// again it does not change.
func TestProofLayout(t *testing.T) {
	before, after := map[string][]diagram{}, map[string][][]byte{}
	same := 0
	for _, f := range foreign(t) {
		laid, found := syntax.Fmt(f.file, f.text)
		if found.Errors() {
			continue
		}
		if again, _ := syntax.Fmt(f.file, laid); !bytes.Equal(again, laid) {
			t.Errorf("%s is not settled:\n%s", f.name, cmp.Diff(string(laid), string(again)))
		}
		if was, is := digest(f.file, f.text), digest(f.file, laid); was != is {
			t.Errorf("%s means something else", f.name)
		}
		if bytes.Equal(laid, f.text) {
			same++
			continue
		}
		ending := filepath.Ext(f.file)
		before[ending] = append(before[ending], f)
		after[ending] = append(after[ending], laid)
	}
	changed, read := 0, 0
	for ending, real := range map[string]tool{".mmd": mermaid("12"), ".md": mermaid("12"), ".puml": plantuml("1.2026.8")} {
		real.ending = ending
		var texts [][]byte
		for _, f := range before[ending] {
			texts = append(texts, f.text)
		}
		readings := real.read(t, append(texts, after[ending]...))
		n := len(texts)
		for i, was := range readings[:n] {
			changed++
			if diff := cmp.Diff(was, readings[n+i]); diff != "" {
				t.Errorf("%s is read differently when it is laid out:\n%s\n%s", before[ending][i].name, diff, after[ending][i])
				continue
			}
			read++
		}
	}
	t.Logf("%d files are laid out already, %d are changed, and %d of these are the same to the real tool", same, changed, read)
}

func digest(file string, text []byte) string {
	w, found := syntax.Parse(file, text)
	if w == nil || found.Errors() {
		return ""
	}
	return workflow.Digest(w)
}
