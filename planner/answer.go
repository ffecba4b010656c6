package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// codeAnswer is the code of what is wrong with an answer as a whole.
const codeAnswer = "planner-answer"

// reading is what was understood of an answer.
type reading struct {
	workflow *workflow.Workflow
	thought  string
	reasons  map[string]string    // why an agent was chosen, by step
	notes    workflow.Diagnostics // repairs that change no meaning, and warnings
	wrong    workflow.Diagnostics // why the workflow cannot be offered
}

// read finds the workflow in an answer. It repairs only what has a single meaning: everything else
// that the model wrote has to be in the workflow, otherwise the answer is wrong.
func read(answer string) reading {
	text := []byte(strings.TrimPrefix(answer, "\uFEFF"))
	if wrong := characters(text); len(wrong) > 0 {
		return reading{wrong: wrong}
	}
	r := reading{}
	text = r.setAside(text)
	found := wrapped(text)
	isWrapped := len(found) > 0
	if !isWrapped {
		found = syntax.Answers(text)
	}
	if len(found) == 0 && roots().Match(text) {
		r.wrong = refuse("write the steps of the workflow", "the workflow has no steps")
		return r
	}
	if len(found) == 0 {
		r.wrong = refuse("answer with the workflow itself, as it should be carried out", "there is no workflow in the answer")
		return r
	}
	for i, a := range found {
		w, notes, wrong := repair(a)
		if i > 0 && (w == nil || r.workflow == nil || workflow.Digest(w) != workflow.Digest(r.workflow)) {
			return reading{wrong: refuse("answer with one workflow", "there are %d different workflows in the answer", len(found))}
		}
		if i == 0 {
			r.workflow, r.notes, r.wrong = w, notes, wrong
		}
	}
	if last := found[len(found)-1].Text; !isWrapped && rootEnd().Match(text[len(last):]) {
		r.wrong = append(r.wrong, refuse("write one workflow, with one start tag and one end tag", "there is an end tag after the end of the workflow")...)
	}
	if r.workflow != nil && r.thought == "" {
		r.thought = r.workflow.Description
	}
	return r
}

// refuse says what is wrong with an answer, and what to write instead.
func refuse(detail, summary string, args ...any) workflow.Diagnostics {
	return workflow.Diagnostics{workflow.Errorf(workflow.Pos{}, codeAnswer, detail, summary, args...)}
}

// maxRepairs is how often repairs are looked for in the result of the previous ones.
const maxRepairs = 4

// repair reads one workflow as strictly as a file. Fixes are made only if every word stays and
// everything that was read before is read again, as [syntax.Fix] proves.
func repair(a syntax.Answer) (w *workflow.Workflow, notes, wrong workflow.Diagnostics) {
	if a.Open {
		return nil, nil, refuse("answer with the whole workflow", "the answer ends in the middle of the workflow")
	}
	text := a.Text
	for range maxRepairs {
		w, found := a.Notation.Parse("", text)
		if w != nil && !found.Errors() {
			lossless, lossy := split(found)
			return w, append(notes, lossless...), append(lossy, misread(a.Notation.Name, text)...)
		}
		_, proposed := syntax.Parse("", text) // with the repairs that are made in answers
		fixed, made, _ := syntax.Fix("", text, proposed)
		if made == 0 || guesses(text, proposed) {
			_, lossy := split(found)
			return w, notes, append(errorsIn(proposed, found), lossy...)
		}
		for _, d := range proposed {
			if d.Fix != nil {
				d.Severity = workflow.Warning
				notes = append(notes, d)
			}
		}
		text = fixed
	}
	_, found := a.Notation.Parse("", text)
	return nil, notes, found
}

// ends are the elements that end where something begins that cannot be in them. Others may contain
// what follows, so that only their author knows where they end. halfEnd is an end tag of which
// something is missing.
var (
	halfEnd = lazy.Regexp(`([^<]/\s*\w+\s*>|</?\s*\w*)\s*$`)
	ends    = lazy.Regexp(`^\s*(</(task|agent|node|step|agents|nodes|steps|workflow|root|name|thought|question)>\s*)+$`)
)

// guesses reports whether a repair depends on where an element begins or ends: an end tag without a
// start tag may mean that the start tag is missing.
func guesses(text []byte, found workflow.Diagnostics) bool {
	return slices.ContainsFunc(found, func(d workflow.Diagnostic) bool {
		return d.Fix != nil && slices.ContainsFunc(d.Fix.Edits, func(e workflow.Edit) bool {
			removes := bytes.Contains(text[e.From:e.To], []byte("</")) && !strings.Contains(e.Text, "</")
			adds := e.From == e.To && strings.Contains(e.Text, "</") && (!ends().MatchString(e.Text) || halfEnd().Match(text[:e.From]))
			return removes || adds
		})
	})
}

var (
	needs     = lazy.Regexp(`(?m)^[\s{-]*["']?needs["']?\s*:|[{,]\s*["']?needs["']?\s*:`)
	execution = lazy.Regexp(`(?m)["']?\bexecution["']?\s*:`)
	note      = lazy.Regexp(`(?m)^\s*(floating )?note\b[^\n]*\n?[^\n]*`)
	keyNote   = lazy.Regexp(`^\s*note\b[^:\n]*\n\s*<<\w+>>\s*$`)
)

// misread finds what a notation reads, but probably not as the model meant it.
func misread(notation string, text []byte) workflow.Diagnostics {
	switch trimmed := bytes.TrimSpace(text); {
	case notation == "yaml" && bytes.HasPrefix(trimmed, []byte("{")) && !json.Valid(trimmed): // YAML reads a quote that is left over as text
		return refuse("write every quote, comma and brace", "the answer is not valid JSON")
	case notation == "yaml" && needs().Match(text) && !execution().Match(text): // a sequence, even if steps say what they need
		return refuse("add `execution: dag` if only `needs` decides the order", "the steps run one after the other, although some say what they need")
	case notation == "plantuml":
		for _, found := range note().FindAll(text, -1) {
			if !keyNote().Match(found) {
				return refuse("begin the note with <<task>>, or remove it", "a note has no effect")
			}
		}
	}
	return nil
}

// errorsIn returns the errors of a reader, or those of a stricter one if that has only warnings.
func errorsIn(found, strict workflow.Diagnostics) workflow.Diagnostics {
	if !found.Errors() {
		return strict
	}
	return slices.DeleteFunc(slices.Clone(found), func(d workflow.Diagnostic) bool { return d.Severity != workflow.Error })
}

// harmless are the codes of warnings that do not mean that something was left out.
var harmless = []string{"xml-plan-name", "plantuml-version", "markdown-fence"}

// split separates the warnings of a reader. Most of them say that a part of the text has no effect:
// then the workflow is not what the model wrote.
func split(found workflow.Diagnostics) (lossless, lossy workflow.Diagnostics) {
	for _, d := range found {
		if d.Severity != workflow.Warning || slices.Contains(harmless, d.Code) {
			lossless = append(lossless, d)
		} else {
			lossy = append(lossy, d)
		}
	}
	return lossless, lossy
}

// asides are what models write before a workflow: what they think, and why they chose the agents.
var (
	asides  = lazy.Regexp(`(?is)<(thought|think|thinking|reasoning|analysis|reasons)>(.*?)(</(?:thought|think|thinking|reasoning|analysis|reasons)>|\z)`)
	rootEnd = lazy.Regexp(`</(workflow|root|agents)\s*>`)
	roots   = lazy.Regexp(`<(workflow|root|agents)\b`)
	begins  = lazy.Regexp("(?im)<(workflow|root|agents)\\b|^\\s*(```|~~~)|^steps:|^@startuml|^(flowchart|graph) |^\\s*[{]")
)

// begun reports whether a model has begun to answer, so that a text is more than what its program prints.
func begun(text string) bool { return begins().MatchString(text) || asides().MatchString(text) }

// setAside returns the text with what comes before the workflow replaced by blanks. The same
// elements inside the workflow are part of it.
func (r *reading) setAside(text []byte) []byte {
	out := slices.Clone(text)
	for at := 0; ; {
		m := asides().FindSubmatchIndex(out[at:])
		if m == nil || begins().Match(out[at:at+m[0]]) {
			return out
		}
		name, said := strings.ToLower(string(out[at+m[2]:at+m[3]])), string(out[at+m[4]:at+m[5]])
		if name == "reasons" {
			r.reasons = reasons(said)
		} else if r.thought == "" || name == "thought" {
			r.thought = strings.TrimSpace(said)
		}
		for i := at + m[0]; i < at+m[1]; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
		at += m[1]
	}
}

// reasons reads lines such as "- search: it can browse".
func reasons(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		step, why, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-*• "), ":")
		if ok {
			all[strings.Trim(strings.TrimSpace(step), "`\"'*")] = strings.TrimSpace(why)
		}
	}
	return all
}

// Limits of the search for a workflow inside JSON: how deep it may be, and how often a brace may be
// something else.
const (
	maxWrapped = 5
	maxBraces  = 20
)

// wrapped finds a workflow in the arguments of a tool that a model has called in its text. JSON inside
// a workflow is a part of that.
func wrapped(text []byte) []syntax.Answer {
	if m := roots().FindIndex(text); m != nil && bytes.IndexByte(text[:m[0]], '{') < 0 {
		return nil
	}
	for range maxBraces {
		start := bytes.IndexByte(text, '{')
		if start < 0 {
			break
		}
		text = text[start:]
		var value any
		if json.NewDecoder(bytes.NewReader(text)).Decode(&value) == nil {
			if v, ok := value.(map[string]any); ok && isWorkflow(v) {
				return nil // it is the answer itself
			}
			if found := inside(value, maxWrapped); len(found) > 0 {
				return found
			}
		}
		text = text[1:]
	}
	return nil
}

func isWorkflow(v map[string]any) bool {
	return v["steps"] != nil || v["nodes"] != nil && v["edges"] != nil
}

// inside finds the workflows in a value: in its texts, or in the objects in it.
func inside(value any, depth int) []syntax.Answer {
	if depth == 0 {
		return nil
	}
	var found []syntax.Answer
	switch v := value.(type) {
	case string:
		if found = syntax.Answers([]byte(v)); len(found) == 0 {
			var more any
			if json.Unmarshal([]byte(v), &more) == nil {
				found = inside(more, depth-1)
			}
		}
	case []any:
		for _, e := range v {
			found = append(found, inside(e, depth-1)...)
		}
	case map[string]any:
		if isWorkflow(v) {
			return syntax.Answers([]byte(workflow.FormatJSON(v)))
		}
		for _, key := range sorted.Keys(v) {
			found = append(found, inside(v[key], depth-1)...)
		}
	}
	return found
}

// characters finds what a person who approves a plan would not see as it is.
func characters(text []byte) workflow.Diagnostics {
	line := 1
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		what := ""
		switch {
		case c == '\n':
			line++
		case c == utf8.RuneError && size == 1:
			what = fmt.Sprintf("the byte 0x%02X, which is not UTF-8", text[i])
		case c == utf8.RuneError:
			what = "U+FFFD, which stands for bytes that are not UTF-8"
		case c == '\t' || c == '\r':
		case unicode.IsControl(c) || isDirection(c):
			what = fmt.Sprintf("the invisible character U+%04X", c)
		}
		if what != "" {
			return workflow.Diagnostics{workflow.Errorf(workflow.Pos{Line: line}, codeAnswer, "write only text that people can read", "the answer contains %s", what)}
		}
		i += size
	}
	return nil
}

// isDirection reports whether a character changes the direction of the text around it.
func isDirection(c rune) bool {
	return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == 0x200e || c == 0x200f
}
