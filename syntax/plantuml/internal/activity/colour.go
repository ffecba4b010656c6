package activity

import (
	"strings"

	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// colours checks the colours of a line: PlantUML refuses a diagram with a colour that it does not
// know. It reports whether parsing stops there.
func (r *reader) colours(l *line, st *stmt) bool {
	switch st.kind {
	case kLane, kGroup, kNote, kNoteOpen, kLink, kConnector:
		if st.color.to > 0 && !knownColours(st.color.of(l.text)) {
			cut := st.color
			if st.kind == kLane {
				cut.to += len("|")
			} else {
				cut.from = back(l.text, cut.from)
			}
			return r.strangeColour(l, st.color.of(l.text), cut, "")
		}
	case kArrow, kArrowOpen, kRepeatWhile:
		for item := range strings.FieldsFuncSeq(st.style.of(l.text), func(c rune) bool { return c == ',' || c == ';' }) {
			if item[0] == '#' && !knownColour(item[1:]) {
				return r.strangeColour(l, item, part{st.style.from - len("-["), st.style.to + len("]->")}, "->")
			}
		}
	}
	if st.group.to == 0 || st.kind == kBackward || st.kind == kNote || st.kind == kNoteOpen || st.kind == kGroup {
		return false
	}
	for at := st.group.from; at < st.group.to; {
		end := strings.Index(l.text[at:st.group.to], ">>")
		if end < 0 {
			break
		}
		end += at
		label := trimSpace(strings.TrimLeft(l.text[at:end], "< \t"))
		if strings.HasPrefix(label, "#") && !strings.HasPrefix(label, "##") && !knownColours(label) {
			return r.strangeColour(l, label, part{back(l.text, at), end + 2}, "")
		}
		at = end + 2
	}
	return false
}

func (r *reader) strangeColour(l *line, colour string, cut part, instead string) bool {
	if r.refuse(l) {
		return true
	}
	at := l.span(cut.from, cut.to)
	var edits []workflow.Edit
	if !l.made {
		edits = append(edits, r.src.Edit(source.Span{From: at.From, To: at.To}, instead))
	}
	r.problem(workflow.Error, codeColour, at, "PlantUML does not know the colour "+quoted(colour),
		"write "+trimSpace(l.text[:cut.from]+instead+l.text[cut.to:])+", or a colour like #LightBlue or #AABBCC", edits...)
	return false
}

// knownColours reports whether PlantUML knows all colours of a list such as
// #red;line:blue;text:green. Those with another name before them may be anything.
func knownColours(s string) bool {
	for item := range strings.SplitSeq(strings.ReplaceAll(s, "#", ""), ";") {
		if item != "" && !strings.ContainsAny(item, ":.") && !knownColour(item) {
			return false
		}
	}
	return true
}

// knownColour reports whether PlantUML knows a colour, or two colours with a sign between them
// for a gradient.
func knownColour(s string) bool {
	if simpleColour(s) {
		return true
	}
	for i := range len(s) {
		if strings.IndexByte(`-\|/`, s[i]) >= 0 && simpleColour(s[:i]) && simpleColour(strings.TrimPrefix(s[i+1:], "#")) {
			return true
		}
	}
	return false
}

func simpleColour(s string) bool {
	switch len(s) {
	case 1, 3, 6, 8:
		if strings.Trim(s, "0123456789abcdefABCDEF") == "" {
			return true
		}
	}
	switch lower(s) {
	case "transparent", "background", "automatic", "business", "application", "motivation", "strategy",
		"technology", "physical", "implementation",
		"aliceblue", "antiquewhite", "aqua", "aquamarine", "azure", "beige", "bisque", "black", "blanchedalmond",
		"blue", "blueviolet", "brown", "burlywood", "cadetblue", "chartreuse", "chocolate", "coral",
		"cornflowerblue", "cornsilk", "crimson", "cyan", "darkblue", "darkcyan", "darkgoldenrod", "darkgray",
		"darkgreen", "darkgrey", "darkkhaki", "darkmagenta", "darkolivegreen", "darkorange", "darkorchid",
		"darkred", "darksalmon", "darkseagreen", "darkslateblue", "darkslategray", "darkslategrey",
		"darkturquoise", "darkviolet", "deeppink", "deepskyblue", "dimgray", "dimgrey", "dodgerblue",
		"firebrick", "floralwhite", "forestgreen", "fuchsia", "gainsboro", "ghostwhite", "gold", "goldenrod",
		"gray", "green", "greenyellow", "grey", "honeydew", "hotpink", "indianred", "indigo", "ivory", "khaki",
		"lavender", "lavenderblush", "lawngreen", "lemonchiffon", "lightblue", "lightcoral", "lightcyan",
		"lightgoldenrodyellow", "lightgray", "lightgreen", "lightgrey", "lightpink", "lightsalmon",
		"lightseagreen", "lightskyblue", "lightslategray", "lightslategrey", "lightsteelblue", "lightyellow",
		"lime", "limegreen", "linen", "magenta", "maroon", "mediumaquamarine", "mediumblue", "mediumorchid",
		"mediumpurple", "mediumseagreen", "mediumslateblue", "mediumspringgreen", "mediumturquoise",
		"mediumvioletred", "midnightblue", "mintcream", "mistyrose", "moccasin", "navajowhite", "navy",
		"oldlace", "olive", "olivedrab", "orange", "orangered", "orchid", "palegoldenrod", "palegreen",
		"paleturquoise", "palevioletred", "papayawhip", "peachpuff", "peru", "pink", "plum", "powderblue",
		"purple", "red", "rosybrown", "royalblue", "saddlebrown", "salmon", "sandybrown", "seagreen",
		"seashell", "sienna", "silver", "skyblue", "slateblue", "slategray", "slategrey", "snow",
		"springgreen", "steelblue", "tan", "teal", "thistle", "tomato", "turquoise", "violet", "wheat",
		"white", "whitesmoke", "yellow", "yellowgreen":
		return true
	}
	return false
}
