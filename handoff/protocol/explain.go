package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/handoff/protocol/internal/xsd"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// The codes of diagnostics about handoffs, in addition to those of the XML itself.
const (
	CodeBlock     = "handoff-block"
	CodeElement   = "handoff-element"
	CodeMissing   = "handoff-missing"
	CodeValue     = "handoff-value"
	CodeAttribute = "handoff-attribute"
	CodeVersion   = "handoff-version"
	CodeSession   = "handoff-session"
	CodePath      = "handoff-path"
	CodeEncoding  = "handoff-encoding"
	CodeResponse  = "handoff-response"
	CodeRepaired  = "handoff-repaired"
)

// Codes lists them with their meanings.
var Codes = []xmltext.Code{
	{Name: CodeBlock, Meaning: "A text has no block with a request, too many of them, or one that is not closed."},
	{Name: CodeElement, Meaning: "An element or a text is not allowed here."},
	{Name: CodeMissing, Meaning: "A required element is missing."},
	{Name: CodeValue, Meaning: "A value is not allowed."},
	{Name: CodeAttribute, Meaning: "An attribute is missing or not allowed."},
	{Name: CodeVersion, Meaning: "The version of the protocol is unknown."},
	{Name: CodeSession, Meaning: "The id of a session is invalid or already in use, or sessions wait for each other."},
	{Name: CodePath, Meaning: "A deliverable has a path that is not allowed."},
	{Name: CodeEncoding, Meaning: "A Markdown file is not UTF-8."},
	{Name: CodeResponse, Meaning: "A part of a response was left out."},
	{Name: CodeRepaired, Meaning: "A request or response does not quite follow the schema, but could be repaired."},
}

var required = []string{"mode", "original_intent", "current_task_summary", "workflow", "task_details", "deliverables"}

// explain turns a violation of the schema into a diagnostic, with the wording that the protocol
// defines.
func explain(doc *xmltext.Document, v xsd.Violation, lenient bool) workflow.Diagnostic {
	name := v.At.Name()
	switch v.Kind {
	case xsd.UnknownRoot:
		return workflow.Errorf(v.At.Pos(), CodeElement, "begin with <"+root+">, without a namespace or with "+Namespace, "the document is <%s>, not a handoff", name)
	case xsd.Missing:
		return missing(v, lenient)
	case xsd.Unexpected:
		d := workflow.Errorf(v.At.Pos(), CodeElement, "", "Element '%s': This element is not expected", name)
		if meant := nearest(v.At); meant != "" {
			return d.Near(name, []string{meant})
		}
		if len(v.Expected) > 0 {
			d.Detail = "Expected here: " + strings.Join(v.Expected, ", ") + ". "
		}
		if slices.ContainsFunc(slices.Collect(v.At.Parent().Children()), func(o xmltext.Element) bool { return o != v.At && o.Name() == name }) {
			d.Detail += "<" + name + "> may occur once"
		} else if slices.Contains(ordered, local(name)) {
			d.Detail += "Move it to the right place: the order is " + strings.Join(ordered, ", ")
		} else {
			d.Detail += "Remove it, or give it a namespace of its own and write it after the others"
		}
		return d
	case xsd.BadText:
		pos := doc.Pos(v.At.TextSpan())
		if !v.At.HasText() {
			pos = v.At.Pos()
		}
		return value(pos, v, "Element '"+name+"'")
	case xsd.BadAttribute:
		return value(v.Attr.Pos(), v, "Attribute '"+v.Name+"'")
	case xsd.Folded:
		pos := doc.Pos(v.At.TextSpan())
		if v.Attr.Exists() {
			pos = v.Attr.Pos()
		}
		return workflow.Warningf(pos, CodeRepaired, "write it like this", "%q was read as %s", strings.TrimSpace(v.Value), v.Expected[0])
	case xsd.Moved:
		return workflow.Warningf(v.At.Pos(), CodeRepaired, "the order is "+strings.Join(ordered, ", "), "<%s> is out of order", name)
	case xsd.NoText:
		return workflow.Errorf(v.At.Pos(), CodeElement, "put it into one of the elements, or remove it", "unexpected text between the elements of <%s>", name)
	case xsd.NoElements:
		parent := v.At.Parent().Name()
		return workflow.Errorf(v.At.Pos(), CodeElement, fmt.Sprintf("write &lt;%s&gt; if it is part of the text", name), "<%s> is inside <%s>, which contains only text", name, parent)
	case xsd.MissingAttribute:
		return workflow.Errorf(v.At.Pos(), CodeAttribute, fmt.Sprintf("write <%s %s=\"…\">", name, v.Name), "Element '%s': The attribute '%s' is required but missing", name, v.Name)
	}
	return workflow.Errorf(v.Attr.NamePos(), CodeAttribute, "remove it", "Element '%s': The attribute '%s' is not allowed", name, v.Name)
}

// ordered are the elements of a request, in their order.
var ordered = []string{"mode", "original_intent", "current_task_summary", "workflow", "task_details", "constraints", "deliverables", "backlog_notes"}

func isRequired(name string) bool { return slices.Contains(required, name) }

// missing reports elements that are missing inside an element or before it.
func missing(v xsd.Violation, lenient bool) workflow.Diagnostic {
	if len(v.Expected) == 0 {
		return workflow.Errorf(v.At.Pos(), CodeMissing, "see the schema", "<%s> requires an element from another namespace", v.At.Name())
	}
	if slices.ContainsFunc(v.Expected, isRequired) { // the others may be left out
		v.Expected = slices.DeleteFunc(slices.Clone(v.Expected), func(name string) bool { return !isRequired(name) })
	}
	first := v.Expected[0]
	where := fmt.Sprintf("before <%s>", v.At.Name())
	if inside[first] == local(v.At.Name()) {
		where = place(v.At, first)
	}
	switch inside[first] {
	case "constraints":
		d := workflow.Errorf(v.At.Pos(), CodeMissing, "write <constraint>…</constraint> in it, or remove it", "<constraints> is empty")
		if lenient {
			d.Severity = workflow.Warning
		}
		return d
	case "deliverables":
		return workflow.Errorf(v.At.Pos(), CodeMissing, `write at least one of <file path="…">, <decision> and <report>`, "<deliverables> is empty")
	}
	return workflow.Errorf(v.At.Pos(), CodeMissing, fmt.Sprintf("write <%s>…</%[1]s> %s. Required fields: %s", first, where, strings.Join(required, ", ")),
		"Missing required element: %s", strings.Join(v.Expected, ", "))
}

// place says where in a request to add a missing element: after the nearest earlier element of the
// schema that is present or required.
func place(request xmltext.Element, name string) string {
	at := slices.Index(ordered, name)
	for _, before := range slices.Backward(ordered[:max(at, 0)]) {
		there := slices.ContainsFunc(slices.Collect(request.Children()), func(e xmltext.Element) bool { return local(e.Name()) == before })
		if there || isRequired(before) {
			return "after <" + before + ">"
		}
	}
	return "at the beginning of <" + request.Name() + ">"
}

// wanted describes the types of values that have no list of allowed values.
var wanted = map[string]string{
	"DurationType": "a duration such as 90s, 10m or 1h30m", "nonNegativeInteger": "a number such as 2", "boolean": "true or false",
}

// value reports a text that is not allowed.
func value(pos workflow.Pos, v xsd.Violation, what string) workflow.Diagnostic {
	found := strings.TrimSpace(v.Value)
	switch {
	case len(v.Expected) > 0 && found == "":
		return workflow.Errorf(pos, CodeValue, "Allowed values: "+strings.Join(v.Expected, ", "), "%s is empty", what)
	case len(v.Expected) > 0:
		d := workflow.Errorf(pos, CodeValue, "Allowed values: "+strings.Join(v.Expected, ", "), "%s: '%s' is not valid", what, short(found))
		for _, allowed := range v.Expected {
			if strings.EqualFold(allowed, found) {
				return d.Instead(v.Value, allowed)
			}
		}
		return d
	case found == "":
		return workflow.Errorf(pos, CodeValue, "write some text", "%s is empty", what)
	}
	return workflow.Errorf(pos, CodeValue, "write "+cmp.Or(wanted[v.Type], "a value of the type "+v.Type), "%s: '%s' is not valid", what, short(found))
}

func short(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return text
}

// nearest returns the element that an unknown one was probably meant to be, or "".
func nearest(e xmltext.Element) string {
	if slices.Contains(elements, local(e.Name())) {
		return ""
	}
	present := map[string]bool{}
	for sibling := range e.Parent().Children() {
		present[local(sibling.Name())] = true
	}
	var names []string
	for _, name := range sorted.Keys(inside) {
		if inside[name] == local(e.Parent().Name()) && !present[name] {
			names = append(names, name)
		}
	}
	return workflow.Nearest(e.Name(), names)
}
