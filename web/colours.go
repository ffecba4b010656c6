package web

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// language is what is coloured in the files of a kind of language.
type language struct {
	comment string      // starts one that ends with the line, or ""
	spans   [][3]string // class, start and end of what may have several lines
	quotes  string      // around strings that end on their line
	words   string      // keywords, each between spaces
}

// The keywords are those of several languages together: that one of them is a name in another does little harm.
const (
	cWords = " abstract as async await bool break case catch chan char class const continue default defer defined delete do double else enum export extends false final finally float fn for from func function go goto if impl implements import in instanceof int interface let long loop map match mod mut namespace new nil null of override package private protected pub public range ref return select self short static string struct super switch template this throw throws trait true try type typedef typeof union unsigned use using var virtual void volatile where while with yield "
	pWords = " and as assert async await begin break case class continue def del do done elif else elsif end ensure esac except export false False fi finally for from function global if import in is lambda local module next nil None nonlocal not null or pass raise require rescue return self set super then true True try unless until when while with yield "
	sWords = " add all alter and as asc between by case constraint create default delete desc distinct drop else end exists foreign from function group having if in index inner insert into is join key left like limit local nil not null on or order primary references return right select set table then true union unique update using values view when where with ADD ALL ALTER AND AS ASC BETWEEN BY CASE CONSTRAINT CREATE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXISTS FOREIGN FROM GROUP HAVING IF IN INDEX INNER INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER PRIMARY REFERENCES RIGHT SELECT SET TABLE THEN UNION UNIQUE UPDATE USING VALUES VIEW WHEN WHERE WITH "
)

var (
	cLike  = &language{"//", [][3]string{{"c", "/*", "*/"}, {"s", "`", "`"}}, `"'`, cWords}
	css    = &language{"", [][3]string{{"c", "/*", "*/"}}, `"'`, ""}
	python = &language{"#", [][3]string{{"s", `"""`, `"""`}, {"s", "'''", "'''"}}, `"'`, pWords}
	shell  = &language{"#", nil, `"'`, pWords}
	data   = &language{"#", nil, `"'`, " true false null yes no "}
	sql    = &language{"--", [][3]string{{"c", "/*", "*/"}}, `"'`, sWords}
	markup = &language{"", [][3]string{{"c", "<!--", "-->"}}, `"`, ""}
)

// languages has them by the names of files, or by how these end.
var languages = func() map[string]*language {
	all := map[string]*language{}
	for names, l := range map[string]*language{
		".go .c .h .cc .cpp .cxx .hpp .m .java .kt .kts .scala .swift .cs .js .mjs .cjs .jsx .ts .tsx .mts .rs .php .dart .zig .proto .groovy .jsonc": cLike,
		".css .scss .less": css, ".py .pyi": python,
		".sh .bash .zsh .fish .rb .pl .r .ex .exs Makefile Dockerfile Gemfile Rakefile": shell,
		".yml .yaml .toml .ini .cfg .conf .tf .json .env .properties .gitignore":        data,
		".sql .lua .hs .elm": sql, ".html .xml .svg .vue .svelte": markup,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = l
		}
	}
	return all
}()

// languageOf returns the language of a file; nil if it is unknown.
func languageOf(file string) *language {
	if l := languages[path.Base(file)]; l != nil {
		return l
	}
	return languages[strings.ToLower(path.Ext(file))]
}

// token is a part of a line. Its class is c for a comment, s for a string, n for a number, k for a keyword, or "".
type token struct{ class, text string }

// colourer colours the lines of a diff. What is open at the end of a line, such as a comment, is kept for each side of the diff.
type colourer struct {
	*language
	old, now begun
}

// begun is what has begun on an earlier line: its class and what ends it, with a space between; "" if nothing has.
type begun string

const longLine = 2000 // bytes; a longer one is not coloured

func (c *colourer) line(l codeLine) []token {
	if c.language == nil || len(l.Text) > longLine {
		return []token{{"", l.Text}}
	}
	open := c.now
	if l.Kind == "del" {
		open = c.old
	}
	tokens, open := c.tokens(l.Text, open)
	if l.Kind != "del" {
		c.now = open
	}
	if l.Kind != "ins" {
		c.old = open
	}
	return tokens
}

// tokens divides a line. Together, the tokens are the line.
func (l *language) tokens(line string, open begun) (all []token, _ begun) {
	put := func(class string, n int) {
		if n == 0 {
			return
		}
		if last := len(all) - 1; last >= 0 && all[last].class == class {
			all[last].text += line[:n]
		} else {
			all = append(all, token{class, line[:n]})
		}
		line = line[n:]
	}
	before := ' ' // the character before the rest of the line
	for line != "" {
		if open != "" {
			class, end, _ := strings.Cut(string(open), " ")
			at := strings.Index(line, end)
			if at < 0 {
				put(class, len(line))
				return all, open
			}
			put(class, at+len(end))
			open, before = "", ' '
			continue
		}
		class, n, opens := l.next(line, before)
		open = opens
		before, _ = utf8.DecodeLastRuneInString(line[:n])
		put(class, n)
	}
	return all, open
}

// next returns the class and the length of what a text begins with, and what that opens.
func (l *language) next(text string, before rune) (class string, n int, opens begun) {
	for _, s := range l.spans {
		if strings.HasPrefix(text, s[1]) {
			return s[0], len(s[1]), begun(s[0] + " " + s[2])
		}
	}
	r, size := utf8.DecodeRuneInString(text)
	inWord := wordRune(before)
	switch {
	case l.comment != "" && strings.HasPrefix(text, l.comment) && (l.comment != "#" || unicode.IsSpace(before)):
		return "c", len(text), ""
	case strings.ContainsRune(l.quotes, r) && (r != '\'' || !inWord): // an apostrophe is no quote
		if n = quotedLen(text); n > 0 {
			return "s", n, ""
		}
	case wordRune(r):
		n = len(text)
		if end := strings.IndexFunc(text, func(r rune) bool { return !wordRune(r) }); end >= 0 {
			n = end
		}
		switch {
		case r >= '0' && r <= '9':
			return "n", n, ""
		case strings.Contains(l.words, " "+text[:n]+" "):
			return "k", n, ""
		}
		return "", n, ""
	}
	return "", size, ""
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// quotedLen returns the length of the string that a text begins with; 0 if it does not end on the line.
func quotedLen(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 0
}
