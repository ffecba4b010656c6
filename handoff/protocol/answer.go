package protocol

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/xmltext"
	"github.com/hocket-dev/hocket/workflow"
)

// maxAnswer bounds an answer. What is behind it is left out.
const maxAnswer = 10 << 20

const responseRoot = "agent_response"

// ReadResponse understands the answer of an agent: an <agent_response> anywhere in the text,
// else a JSON object, else prose. It never fails. Of several responses the last one counts.
func ReadResponse(text string) *Response {
	a := &answer{Response: &Response{}}
	if len(text) > maxAnswer {
		text = text[:maxAnswer]
		a.report(workflow.Errorf(workflow.Pos{}, codeResponse, "write long texts to files, and name the files", "the answer is longer than %d MiB, and was cut off", maxAnswer>>20))
	}
	a.text = strings.ToValidUTF8(text, "\uFFFD")
	if !a.xml() && !a.json() {
		a.prose()
	}
	a.Found = a.Found.Sort()
	return a.Response
}

// answer is an answer that is being read.
type answer struct {
	*Response
	text string
}

// maxFound bounds what is reported about an answer.
const maxFound = 100

func (a *answer) report(found ...workflow.Diagnostic) {
	a.Found = append(a.Found, found[:min(len(found), maxFound-len(a.Found))]...)
}

func (a *answer) repaired(pos workflow.Pos, detail, summary string, args ...any) {
	a.report(workflow.Warningf(pos, codeRepaired, detail, summary, args...))
}

// prose reads an answer in words. A fenced request in it is handed on.
func (a *answer) prose() {
	a.Form, a.Summary = ProseForm, strings.TrimSpace(a.text)
	all := blocks([]byte(a.text), isRequest)
	if len(all) == 0 {
		return
	}
	a.Summary = around([]byte(a.text), all)
	a.requests(all)
}

// requests reads the requests that the agent hands on.
func (a *answer) requests(all []block) {
	h := &Handoffs{}
	r := &reader{Options: Options{Lenient: true}, handoffs: h}
	for i, b := range all {
		if i == maxBlocks {
			a.report(workflow.Errorf(workflow.Pos{Line: b.start.Line + 1}, codeBlock, "hand on fewer", "the answer has more than %d requests", maxBlocks))
			break
		}
		if err := r.request(b.text, b.start); err != nil { // only a schema of a project can fail
			a.report(workflow.Errorf(workflow.Pos{Line: b.start.Line + 1}, codeBlock, "", "%v", err))
		}
	}
	r.sessions()
	a.Next = h.Requests
	a.report(h.Found...)
}

// section is an element of a response that contains others.
type section struct {
	item string
	add  func(a *answer, doc *xmltext.Document, e xmltext.Element)
}

// sections are those whose items are texts. The items may also be outside them.
var sections = map[string]section{
	"files":     {"file", (*answer).file},
	"decisions": {"decision", func(a *answer, doc *xmltext.Document, e xmltext.Element) { a.answer(&a.Decisions, doc, e) }},
	"reports":   {"report", func(a *answer, doc *xmltext.Document, e xmltext.Element) { a.answer(&a.Reports, doc, e) }},
	"errors":    {"error", func(a *answer, doc *xmltext.Document, e xmltext.Element) { addText(&a.Errors, content(doc, e)) }},
	"recommendations": {"recommendation", func(a *answer, doc *xmltext.Document, e xmltext.Element) {
		addText(&a.Recommendations, content(doc, e))
	}},
}

// items has the sections by the names of their items.
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

// inResponse reports whether an element may be directly in a response.
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
	// Where tags do not match, it is not certain which texts are quoted.
	certain := !slices.ContainsFunc(doc.Diagnostics(), func(d workflow.Diagnostic) bool { return d.Code != "xml-entity" })
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

func (a *answer) attributes(e xmltext.Element) {
	a.Version = "1.0"
	for attr := range e.Attrs() {
		value := strings.TrimSpace(attr.Value())
		switch lower(attr.Name()) {
		case "version":
			if a.Version = value; value != "1.0" {
				a.repaired(attr.Pos(), "Known versions: 1.0", "version %q was read as 1.0", value)
				a.Version = "1.0"
			}
		case "session_id":
			if !sessionID.MatchString(value) {
				a.repaired(attr.Pos(), "write the id that the task names", "%q cannot be the id of a session", short(value))
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

// statuses are the words that mean a status.
var statuses = map[string]string{
	"completed": Completed, "complete": Completed, "success": Completed, "successful": Completed, "succeeded": Completed,
	"done": Completed, "ok": Completed, "passed": Completed, "finished": Completed,
	"failed": Failed, "failure": Failed, "fail": Failed, "error": Failed, "partial": Failed, "partially completed": Failed,
	"incomplete": Failed, "blocked": Failed, "cancelled": Failed, "canceled": Failed, "timeout": Failed, "aborted": Failed,
}

// status returns the status that a word means; "" if it means none.
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
			a.repaired(e.Pos(), fmt.Sprintf("write <%s>…</%[1]s> around it", section.item), "there is text in <%s>", name)
			if !e.First().Exists() {
				section.add(a, doc, e)
			}
		}
	case !strings.Contains(e.Name(), ":"): // another namespace is an extension
		a.leftOut(e)
	}
}

func (a *answer) leftOut(e xmltext.Element) {
	a.repaired(e.Pos(), "write it into the summary or a report", "<%s> is not a part of a response, and was left out", e.Name())
}

// content returns the text of an element. Elements in it were not meant as such: they are part
// of the text, as written.
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
	if why := badPath(path); why != "" {
		a.report(workflow.Errorf(pos, codePath, "write the path of a file in the project, relative to its root", "the file was left out: %s", strings.TrimSpace(short(path)+" "+why)))
		return
	}
	a.Files = append(a.Files, ResponseFile{path, text})
}

func (a *answer) answer(to *[]Answer, doc *xmltext.Document, e xmltext.Element) {
	if text := content(doc, e); text != "" && text != "…" { // which the guide has in its place
		*to = append(*to, Answer{attribute(e, "for", "question", "name", "title", "id"), text})
	}
}

// attribute returns the value of the first attribute that there is.
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

// next reads the requests in a response. They have effects, so they are only read if the
// response is well-formed: otherwise a text that the agent quotes could be taken for one.
func (a *answer) next(doc *xmltext.Document, e xmltext.Element, certain bool) {
	if !certain {
		a.report(workflow.Errorf(e.Pos(), codeResponse, "close every element, and write < as &lt; in texts", "the requests in <next> were left out: the response is not well-formed"))
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

// within returns an element as a block of its own.
func within(doc *xmltext.Document, e xmltext.Element) block {
	at := e.Span()
	pos := doc.Pos(at)
	return block{
		text:  []byte(doc.Text()[at.From:at.To]),
		start: xmltext.Start{Line: pos.Line - 1, Column: pos.Column - 1, Offset: doc.Edit(at, "").From},
	}
}

// lastResponse returns where the last response in a text is. One that is never closed reaches
// to the end. A response in another one is quoted there; but a response in which nothing comes
// before the next one is only a mention of the name.
func lastResponse(text string) (last xmltext.Span, ok bool) {
	var open int            // where the outermost response begins
	var depth int           // how many are open
	var filled, claims bool // it has elements, attributes
	for from := strings.IndexByte(text, '<'); from >= 0; {
		rest := text[from+1:]
		closes := strings.HasPrefix(rest, "/")
		name := tagName(rest)
		at := from + 1
		switch {
		case depth > 0 && (strings.HasPrefix(rest, "!--") || strings.HasPrefix(rest, "![CDATA[")):
			at = from + skipped(text[from:])
		case name != responseRoot:
			filled = filled || depth > 0 && !closes && inResponse(name)
		default:
			at = tagEnd(text, at)
			empty, attributes := strings.HasSuffix(text[from:at], "/>"), strings.Contains(text[from:at], "=")
			switch {
			case closes:
				if depth = max(depth-1, 0); depth == 0 && (filled || claims) {
					last, ok = xmltext.Span{From: open, To: at}, true
					filled, claims = false, false
				}
			case depth > 0 && filled:
				if !empty {
					depth++
				}
			case empty:
				if depth = 0; attributes {
					last, ok = xmltext.Span{From: from, To: at}, true
				}
			default:
				open, depth, claims = from, 1, attributes
			}
		}
		next := strings.IndexByte(text[at:], '<')
		if from = at + next; next < 0 {
			break
		}
	}
	if depth > 0 && filled {
		last, ok = xmltext.Span{From: open, To: len(text)}, true
	}
	if ok {
		last.From = declared(text, last.From)
	}
	return last, ok
}

// skipped returns the length of the section or comment with which a text begins.
func skipped(text string) int {
	closing := "-->"
	if strings.HasPrefix(text, "<![") {
		closing = "]]>"
	}
	if i := strings.Index(text, closing); i >= 0 {
		return i + len(closing)
	}
	return len(text)
}

// tagName returns the name in a tag, from which the < is missing.
func tagName(rest string) string {
	rest = strings.TrimPrefix(rest[:min(len(rest), 100)], "/") // no name is longer
	if end := strings.IndexAny(rest, xmltext.Layout+"/<>"); end >= 0 {
		rest = rest[:end]
	}
	return lower(rest)
}

// tagEnd returns the end of the tag in which an offset is.
func tagEnd(text string, at int) int {
	end := strings.IndexAny(text[at:], "<>")
	switch {
	case end < 0:
		return len(text)
	case text[at+end] == '>':
		end++
	}
	return at + end
}

// declared returns where the document type of a response begins, if it has one, else where the
// response does.
func declared(text string, at int) int {
	from := max(strings.LastIndex(text[:at], "<!DOCTYPE"), strings.LastIndex(text[:at], "<!doctype"))
	if from >= 0 && lower(xmltext.FirstName(text[from:])) == responseRoot {
		return from
	}
	return at
}
