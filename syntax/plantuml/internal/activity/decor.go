package activity

import (
	"regexp"
	"strings"
	"sync"
)

// heading parses title, caption, legend, header, footer and mainframe. Without a text on the same
// line, they continue until their end.
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

// legendPlace reports whether a legend continues on the next line, because only its position
// follows it.
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

// unquote removes quotes of any kind around a text.
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

// settings are PlantUML's patterns of statements that only affect the appearance.
var (
	settings = pattern(
		`skinparam(?:locked)? +[\w.]*(?:<<[^<>]*>>)?[\w.]* +[^{}]*`,
		`skin +[\w.]+`, `minwidth +\d+`, `page +\d+ *x* *\d+`, `rotate`,
		`scale +[\d.]+(?: */ *[\d.]+)?`, `scale +(?:max +)?[\d.]+(?: *[*x] *[\d.]+| +width| +height)`,
		`(?:(?:hide|show) *)?footbox`, `(?:hide|show) +empty +description`,
		`(?:hide|show) +(?:(?:[\pL\pN_.]+|"[^"]+"|<<.*>>),? +)*(?:members?|attributes?|fields?|methods?|circle[sd]?|stereotypes?)`,
		`set +(?:namespace)?separator +(?:none|null|\\\\|::|[^\pL\pN\s_$#\\{}<>"])`,
		`sprite +\$?[-.\pL\pN_]+ *[^\pL\pN_.-].*`,
		`!pragma +[a-z_]\w*(?: .*)?`, `!assume +transparent +(?:dark|light)`,
	)
	skinOpeners   = pattern(`skinparam *(?: [\w.]*(?:<<.*>>)?[\w.]*)? *\{`)
	spriteOpeners = pattern(`sprite .*\{`, `sprite .*<svg.*`)
)

// pattern returns an expression that matches if one of the parts matches the whole text. A space
// in it matches any white space of PlantUML. It is compiled when it is first used: most commands
// read no PlantUML, and would start a millisecond later.
func pattern(parts ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(strings.ReplaceAll(`(?i)^(?:`+strings.Join(parts, "|")+`)$`, " ", `[\s\x{a0}]`))
	})
}

func setting(s string) stmt {
	switch {
	case skinOpeners().MatchString(s):
		return stmt{kind: kSkinOpen}
	case spriteOpeners().MatchString(s) && !strings.HasSuffix(s, "</svg>"):
		return stmt{kind: kSpriteOpen}
	case settings().MatchString(s):
		return stmt{kind: kSetting}
	}
	return stmt{}
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
