package activity

import "strings"

// heading reads title, caption, legend, header, footer and mainframe. Without a
// text they go on until their end.
func heading(s string) stmt {
	at, name := headingWord(s)
	if at < 0 {
		return stmt{}
	}
	text := blanks(s, at)
	colon := byteAt(s, text, ':')
	st := stmt{kind: kHeading, keyword: part{0, at}}
	if text == len(s) {
		if name == "mainframe" {
			return stmt{}
		}
		st.kind = kHeadingOpen
		return st
	}
	if colon > 0 {
		text = blanks(s, colon)
	} else if text == at {
		return stmt{}
	}
	if name == "legend" && legendPlace(s[text:]) {
		st.kind = kHeadingOpen
	}
	st.test = part{text, len(s)}
	if q := unquote(s[text:]); len(q) < len(s)-text {
		from := text + strings.Index(s[text:], q)
		if q == "" {
			from = text + 1
		}
		st.test = part{from, from + len(q)}
		return st
	}
	if !named(s[text:]) {
		return stmt{}
	}
	return st
}

func headingWord(s string) (at int, name string) {
	for _, name := range []string{"title", "caption", "legend", "mainframe", "header", "footer"} {
		if at := word(s, 0, name); at > 0 {
			return at, name
		}
	}
	for _, place := range []string{"left", "right", "center"} {
		if at := word(s, 0, place); at > 0 {
			for _, name := range []string{"header", "footer"} {
				if end := word(s, blanks(s, at), name); end > 0 {
					return end, name
				}
			}
		}
	}
	return -1, ""
}

// legendPlace says whether a legend goes on in the next line: what stands
// behind it is its place.
func legendPlace(s string) bool {
	places := strings.Fields(strings.ToLower(s))
	if len(places) > 0 && (places[0] == "top" || places[0] == "bottom") {
		places = places[1:]
	}
	if len(places) > 0 && (places[0] == "left" || places[0] == "right" || places[0] == "center") {
		places = places[1:]
	}
	return len(places) == 0
}

// unquote takes away quotes of any kind around a text.
func unquote(s string) string {
	for _, open := range []string{`"`, "“", "”"} {
		if rest, ok := strings.CutPrefix(s, open); ok {
			for _, end := range []string{`"`, "“", "”"} {
				if inner, ok := strings.CutSuffix(rest, end); ok {
					return inner
				}
			}
		}
	}
	return s
}

// setting reads the statements that only say how to draw.
func setting(s string) stmt {
	fields := strings.Fields(strings.ToLower(s))
	if len(fields) == 0 {
		return stmt{}
	}
	rest := fields[1:]
	known := false
	switch fields[0] {
	case "skinparam", "skinparamlocked":
		if strings.HasSuffix(s, "{") {
			return stmt{kind: kSkinOpen}
		}
		known = len(rest) > 1 && parameter(trimSpace(s[len(fields[0]):])) && !strings.ContainsAny(s, "{}")
	case "skin", "minwidth", "page":
		known = len(rest) > 0
	case "rotate":
		known = len(rest) == 0
	case "scale":
		known = len(rest) > 0 && strings.Trim(strings.Join(rest, ""), "0123456789./*xmawidtheg") == ""
	case "sprite":
		if strings.HasSuffix(s, "{") || strings.Contains(s, "<svg") && !strings.HasSuffix(s, "</svg>") {
			return stmt{kind: kSpriteOpen}
		}
		known = len(rest) > 1
	case "set":
		known = len(rest) == 2 && (rest[0] == "separator" || rest[0] == "namespaceseparator")
	case "hide", "show":
		known = len(rest) > 0 && hidden(rest[len(rest)-1])
	case "!pragma":
		known = len(rest) > 0
	case "!assume":
		known = len(rest) == 2 && rest[0] == "transparent" && (rest[1] == "dark" || rest[1] == "light")
	}
	if fields[0] == "skinparam{" {
		return stmt{kind: kSkinOpen}
	}
	if known {
		return stmt{kind: kSetting}
	}
	return stmt{}
}

func hidden(what string) bool {
	switch what {
	case "footbox", "description", "member", "members", "attribute", "attributes", "field", "fields",
		"method", "methods", "circle", "circles", "circled", "stereotype", "stereotypes":
		return true
	}
	return false
}

func style(s string) stmt {
	lower := strings.ToLower(s)
	switch {
	case lower == "<style>":
		return stmt{kind: kStyleOpen}
	case strings.HasPrefix(lower, "<style>") && strings.HasSuffix(lower, "</style>"),
		strings.HasPrefix(lower, "<style") && strings.HasSuffix(s, ">") && strings.Contains(s, "="):
		return stmt{kind: kSetting}
	}
	return stmt{}
}
