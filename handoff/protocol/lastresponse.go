package protocol

import (
	"strings"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// lastResponse returns the position of the last response in a text. A response that is never closed
// extends to the end. A response inside another one is a quotation; but a start tag with nothing
// before the next one is only a mention of the name.
func lastResponse(text string) (last xmltext.Span, ok bool) {
	var open int            // where the outermost response begins
	var depth int           // how many are open
	var filled, claims bool // the response has elements, attributes
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

// skipped returns the length of the CDATA section or comment at the beginning of a text.
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

// tagName returns the name in a tag. The text begins after the <.
func tagName(rest string) string {
	rest = strings.TrimPrefix(rest[:min(len(rest), 100)], "/") // no name is longer
	if end := strings.IndexAny(rest, xmltext.Layout+"/<>"); end >= 0 {
		rest = rest[:end]
	}
	return lower(rest)
}

// tagEnd returns the end of the tag that contains an offset.
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

// declared returns where the document type of a response begins or, without one, where the response
// begins.
func declared(text string, at int) int {
	from := max(strings.LastIndex(text[:at], "<!DOCTYPE"), strings.LastIndex(text[:at], "<!doctype"))
	if from >= 0 && lower(xmltext.FirstName(text[from:])) == responseRoot {
		return from
	}
	return at
}
