package protocol

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

const responseRoot = "agent_response"

// section is an element of a response that contains others.
type section struct {
	item string
	add  func(a *answer, doc *xmltext.Document, e xmltext.Element)
}

// sections are the elements that contain items. Items may also appear outside them.
var sections = map[string]section{
	"files":     {"file", (*answer).file},
	"decisions": {"decision", func(a *answer, doc *xmltext.Document, e xmltext.Element) { a.answer(&a.Decisions, doc, e) }},
	"reports":   {"report", func(a *answer, doc *xmltext.Document, e xmltext.Element) { a.answer(&a.Reports, doc, e) }},
	"errors":    {"error", func(a *answer, doc *xmltext.Document, e xmltext.Element) { addText(&a.Errors, content(doc, e)) }},
	"recommendations": {"recommendation", func(a *answer, doc *xmltext.Document, e xmltext.Element) {
		addText(&a.Recommendations, content(doc, e))
	}},
}

// items maps the names of items to their sections.
var items = func() map[string]section {
	all := map[string]section{}
	for _, s := range sections {
		all[s.item] = s
	}
	return all
}()

// responseRules let the recovering reader distinguish the elements of a response from text.
var responseRules = xmltext.Rules{
	Known: func(name string) bool {
		return lower(name) == responseRoot || inResponse(lower(name)) || rules.Known(name)
	},
	Root: func(name string) bool { return lower(name) == responseRoot },
	Inside: func(parent xmltext.Element, name string) bool {
		switch in, own := lower(parent.Name()), lower(name); in {
		case responseRoot:
			return inResponse(own)
		case "next":
			return own == root
		default:
			return sections[in].item == own || rules.Inside(parent, name)
		}
	},
}

// inResponse reports whether an element may be a direct child of a response.
func inResponse(name string) bool {
	return name == "summary" || name == "next" || sections[name].item != "" || items[name].item != ""
}

func lower(name string) string { return strings.ToLower(local(name)) }

// xml reads the last response in the text. It reports whether there is one.
func (a *answer) xml() bool {
	at, ok := lastResponse(a.text)
	if !ok {
		return false
	}
	source, rules := []byte(a.text[at.From:at.To]), responseRules
	line := strings.LastIndexByte(a.text[:at.From], '\n') + 1
	rules.Start = xmltext.Start{Line: strings.Count(a.text[:line], "\n"), Column: utf8.RuneCountInString(a.text[line:at.From]), Offset: at.From}
	doc := xmltext.Read("", source, rules)
	if doc.HasDoctype() {
		a.report(doc.Diagnostics()...)
		return false
	}
	certain := tagsMatch(doc.Diagnostics())
	if doc.Broken() {
		doc = xmltext.Recover("", source, rules)
	}
	if !doc.Root().Exists() {
		return false
	}
	a.Form = XMLForm
	a.report(doc.Diagnostics()...)
	a.attributes(doc.Root())
	for c := range doc.Root().Children() {
		a.child(doc, c, certain)
	}
	if a.Summary == "" {
		a.Summary = strings.TrimSpace(a.text[:at.From] + a.text[at.To:])
		a.repaired(doc.Root().Pos(), "write <summary>…</summary>", "<%s> has no summary", responseRoot)
	}
	return true
}

// tagsMatch reports whether a response has no errors other than bad references, so that it is clear
// where its texts end. It is false if there are too many errors, because the reader stops after
// some of them.
func tagsMatch(found workflow.Diagnostics) bool {
	return len(found) < 50 && !slices.ContainsFunc(found, func(d workflow.Diagnostic) bool { return d.Code != "xml-entity" })
}

func (a *answer) attributes(e xmltext.Element) {
	a.Version = "1.0"
	for attr := range e.Attrs() {
		value := strings.TrimSpace(attr.Value())
		switch lower(attr.Name()) {
		case "version":
			if value != a.Version {
				a.repaired(attr.Pos(), "Known versions: 1.0", "version %q was read as 1.0", short(value))
			}
		case "session_id":
			if !sessionID().MatchString(value) {
				a.repaired(attr.Pos(), "use the id from the task", "invalid session id %q", short(value))
				continue
			}
			a.SessionID = value
		case "status":
			a.Status = status(value)
			if a.Status != value {
				a.repaired(attr.Pos(), "Allowed values: "+Completed+", "+Failed, "status %q was read as %q", short(value), a.Status)
			}
		}
	}
}

// statuses maps words to the status that they mean.
var statuses = map[string]string{
	"completed": Completed, "complete": Completed, "success": Completed, "successful": Completed, "succeeded": Completed,
	"done": Completed, "ok": Completed, "passed": Completed, "finished": Completed,
	"failed": Failed, "failure": Failed, "fail": Failed, "error": Failed, "partial": Failed, "partially completed": Failed,
	"incomplete": Failed, "blocked": Failed, "cancelled": Failed, "canceled": Failed, "timeout": Failed, "aborted": Failed,
}

// status returns the status that a word means, or "".
func status(word string) string { return statuses[words(word)] }

func (a *answer) child(doc *xmltext.Document, e xmltext.Element, certain bool) {
	name := lower(e.Name())
	section, isSection := sections[name]
	switch item, isItem := items[name]; {
	case name == "summary":
		if text := content(doc, e); a.Summary == "" {
			a.Summary = text
		} else {
			a.Summary += "\n\n" + text
		}
	case name == "next":
		a.next(doc, e, certain)
	case isItem:
		a.repaired(e.Pos(), fmt.Sprintf("write <%ss> around it", name), "<%s> is not in <%[1]ss>", name)
		item.add(a, doc, e)
	case isSection:
		for c := range e.Children() {
			if lower(c.Name()) == section.item {
				section.add(a, doc, c)
			} else {
				a.leftOut(c)
			}
		}
		if e.HasText() {
			a.repaired(e.Pos(), fmt.Sprintf("write <%s>…</%[1]s> around it", section.item), "unexpected text in <%s>", name)
			if !e.First().Exists() {
				section.add(a, doc, e)
			}
		}
	case !strings.Contains(e.Name(), ":"): // another namespace is an extension
		a.leftOut(e)
	}
}

func (a *answer) leftOut(e xmltext.Element) {
	a.repaired(e.Pos(), "put it into the summary or a report", "<%s> is not part of a response and was ignored", e.Name())
}

// content returns the text of an element. Elements inside it become part of the text, as written.
func content(doc *xmltext.Document, e xmltext.Element) string {
	if e.First().Exists() {
		inner := e.Inner()
		return strings.TrimSpace(doc.Text()[inner.From:inner.To])
	}
	return strings.TrimSpace(e.Text())
}

// addText adds a text that is not blank.
func addText(to *[]string, text string) {
	if text != "" {
		*to = append(*to, text)
	}
}

func (a *answer) file(doc *xmltext.Document, e xmltext.Element) {
	path, text := attribute(e, "path", "name", "href"), content(doc, e)
	if path == "" && !strings.ContainsAny(text, " \n") {
		path, text = text, "" // <file>notes.md</file>
	}
	a.addFile(e.Pos(), path, text)
}

func (a *answer) addFile(pos workflow.Pos, path, text string) {
	path = strings.TrimPrefix(path, "./")
	if why := badPath(path, ""); why != "" {
		a.report(workflow.Errorf(pos, CodePath, "write the path of a file in the project, relative to its root", "the file was ignored: %s", strings.TrimSpace(short(path)+" "+why)))
		return
	}
	a.Files = append(a.Files, ResponseFile{path, text})
}

func (a *answer) answer(to *[]Answer, doc *xmltext.Document, e xmltext.Element) {
	if text := content(doc, e); text != "" && text != "…" { // the placeholder in the guide
		*to = append(*to, Answer{attribute(e, "for", "question", "name", "title", "id"), text})
	}
}

// attribute returns the value of the first of these attributes that exists.
func attribute(e xmltext.Element, names ...string) string {
	for _, name := range names {
		for a := range e.Attrs() {
			if strings.EqualFold(a.Name(), name) {
				return strings.TrimSpace(a.Value())
			}
		}
	}
	return ""
}

// next reads the requests in a response. Requests have side effects, so they are read only if the
// response is well-formed; otherwise text that the agent quotes could be mistaken for a request.
func (a *answer) next(doc *xmltext.Document, e xmltext.Element, certain bool) {
	if !certain {
		a.report(workflow.Errorf(e.Pos(), CodeResponse, "close every element, and write < as &lt; in texts", "the requests in <next> were ignored: the response is not well-formed"))
		return
	}
	var all []block
	for c := range e.Children() {
		if lower(c.Name()) != root {
			a.leftOut(c)
			continue
		}
		all = append(all, within(doc, c))
	}
	a.requests(all)
}

// within returns an element as a separate block.
func within(doc *xmltext.Document, e xmltext.Element) block {
	at := e.Span()
	pos := doc.Pos(at)
	return block{
		text:  []byte(doc.Text()[at.From:at.To]),
		start: xmltext.Start{Line: pos.Line - 1, Column: pos.Column - 1, Offset: doc.Edit(at, "").From},
	}
}
