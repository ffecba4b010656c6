package web

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// change is the diff that a question is about, as git prints it. A person decides by what is shown of it, so every
// line that is not understood is shown as it is.
type change struct {
	Parts   []*changePart
	Message string // of the commit, or ""
	Digest  string // of what lands, or ""
}

// changePart is one of the changes that a person picks from, or the only one.
type changePart struct {
	Title string // "" if there is only one
	Files []*changedFile
	Notes []string // lines that belong to no file, such as that the diff is longer
}

type changedFile struct {
	ID             string // in the page
	Path           string
	From           string // its path before, if it has changed
	Status         string // added, modified, deleted, renamed or copied
	Notes          []string
	Added, Removed int
	Lines          []codeLine
	Rest           []codeLine // those beyond mostLines, which are shown without numbers and colours
}

// codeLine is a line of a file. Kind is ins, del, "" for a line that stays, or gap for what is between.
type codeLine struct {
	Kind     string
	Old, New int // its numbers; 0: it has none
	Text     string
}

const (
	mostLines = 10_000 // of a change, with numbers and colours: browsers take a second for them
	longFile  = 400    // lines; a longer one is folded
)

// The message of the commit comes after the diff, indented.
const (
	messageHeading = "Message of the commit:"
	messageIndent  = "    "
)

var (
	startsChange = lazy.Regexp(`\A(## [^\n]*\n\n\n)*(## [^\n]*\n\n)?diff --git `)
	hunkLine     = lazy.Regexp(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)$`)
	digestLine   = lazy.Regexp(`^change ([0-9a-f]{64})$`)
)

// readChange reads the detail of a question; nil if it is no diff.
func readChange(detail string) *change {
	if !startsChange().MatchString(detail) {
		return nil
	}
	r := changeReader{part: &changePart{}}
	r.change.Parts = []*changePart{r.part}
	for line := range strings.SplitSeq(strings.TrimSuffix(detail, "\n"), "\n") {
		if !r.code(line) && !r.header(line) {
			r.other(line)
		}
	}
	r.change.Message = strings.Trim(r.change.Message, "\n")
	if first := r.change.Parts[0]; first.Title == "" && len(first.Files) == 0 {
		r.change.Parts = r.change.Parts[1:]
	}
	shown := 0
	for i, p := range r.change.Parts {
		for j, f := range p.Files {
			f.ID = fmt.Sprintf("file-%d-%d", i+1, j+1)
			f.endings()
			if left := max(0, mostLines-shown); len(f.Lines) > left {
				f.Lines, f.Rest = f.Lines[:left], f.Lines[left:]
			}
			shown += len(f.Lines)
		}
	}
	return &r.change
}

type changeReader struct {
	change change
	part   *changePart
	file   *changedFile // nil before the first one

	inMessage bool // of the commit

	old, now         int // the numbers of the next lines
	oldLeft, nowLeft int // how many lines of the hunk follow
}

// code reads a line of a hunk. Its header says how many there are, so no line of a file is taken for something else.
func (r *changeReader) code(line string) bool {
	if r.oldLeft == 0 && r.nowLeft == 0 {
		return false
	}
	sign, text := " ", ""
	if line != "" { // git can be told to omit the space before empty lines
		sign, text = line[:1], line[1:]
	}
	switch {
	case sign == "+" && r.nowLeft > 0:
		r.add(codeLine{Kind: "ins", New: r.now, Text: text})
		r.file.Added, r.now, r.nowLeft = r.file.Added+1, r.now+1, r.nowLeft-1
	case sign == "-" && r.oldLeft > 0:
		r.add(codeLine{Kind: "del", Old: r.old, Text: text})
		r.file.Removed, r.old, r.oldLeft = r.file.Removed+1, r.old+1, r.oldLeft-1
	case sign == " " && r.oldLeft > 0 && r.nowLeft > 0:
		r.add(codeLine{Old: r.old, New: r.now, Text: text})
		r.old, r.now, r.oldLeft, r.nowLeft = r.old+1, r.now+1, r.oldLeft-1, r.nowLeft-1
	case sign == `\`:
		return false
	default: // the diff was cut
		r.oldLeft, r.nowLeft = 0, 0
		return false
	}
	return true
}

func (r *changeReader) add(l codeLine) { r.file.Lines = append(r.file.Lines, l) }

// header reads a line that says something about a file or a hunk.
func (r *changeReader) header(line string) bool {
	if paths, ok := strings.CutPrefix(line, "diff --git "); ok {
		r.file = &changedFile{Status: "modified"}
		r.file.From, r.file.Path = gitPaths(paths)
		r.part.Files = append(r.part.Files, r.file)
		return true
	}
	if r.file == nil {
		return false
	}
	if hunk := hunkLine().FindStringSubmatch(line); hunk != nil {
		number := func(text string) int {
			if text == "" {
				return 1
			}
			n, _ := strconv.Atoi(text) // at most nine digits
			return n
		}
		r.old, r.oldLeft, r.now, r.nowLeft = number(hunk[1]), number(hunk[2]), number(hunk[3]), number(hunk[4])
		r.add(codeLine{Kind: "gap", Text: strings.TrimSpace(fmt.Sprintf("line %d  %s", max(r.now, 1), strings.TrimSpace(hunk[5])))})
		return true
	}
	if note, ok := strings.CutPrefix(line, `\ `); ok && len(r.file.Lines) > 0 {
		r.add(codeLine{Kind: "gap", Text: note})
		return true
	}
	return len(r.file.Lines) == 0 && r.file.extended(line)
}

// extended reads one of the lines between the paths and the first hunk.
func (f *changedFile) extended(line string) bool {
	for _, h := range extendedHeaders {
		if value, ok := strings.CutPrefix(line, h.prefix); ok {
			h.read(f, value)
			return true
		}
	}
	if strings.HasPrefix(line, "Binary files ") && strings.HasSuffix(line, " differ") {
		f.Notes = append(f.Notes, "binary, its content is not shown")
		return true
	}
	return false
}

var extendedHeaders = []struct {
	prefix string
	read   func(f *changedFile, value string)
}{
	{"--- ", func(f *changedFile, v string) {
		if path := gitPath(v, "a/"); path != "/dev/null" {
			f.From = path
		}
	}},
	{"+++ ", func(f *changedFile, v string) {
		if path := gitPath(v, "b/"); path != "/dev/null" {
			f.Path = path
		}
	}},
	{"new file mode ", func(f *changedFile, v string) {
		if f.Status = "added"; v != "100644" {
			f.Notes = append(f.Notes, fileMode(v))
		}
	}},
	{"deleted file mode ", func(f *changedFile, v string) {
		if f.Status = "deleted"; v != "100644" {
			f.Notes = append(f.Notes, fileMode(v))
		}
	}},
	{"old mode ", func(f *changedFile, v string) { f.Notes = append(f.Notes, "was "+fileMode(v)) }},
	{"new mode ", func(f *changedFile, v string) { f.Notes = append(f.Notes, "is now "+fileMode(v)) }},
	{"rename from ", func(f *changedFile, v string) { f.Status, f.From = "renamed", gitPath(v, "") }},
	{"rename to ", func(f *changedFile, v string) { f.Status, f.Path = "renamed", gitPath(v, "") }},
	{"copy from ", func(f *changedFile, v string) { f.Status, f.From = "copied", gitPath(v, "") }},
	{"copy to ", func(f *changedFile, v string) { f.Status, f.Path = "copied", gitPath(v, "") }},
	{"similarity index ", func(*changedFile, string) {}},
	{"dissimilarity index ", func(*changedFile, string) {}},
	{"index ", func(*changedFile, string) {}},
}

// fileMode returns what a mode of git means.
func fileMode(mode string) string {
	switch mode {
	case "100644":
		return "a file that is not executable"
	case "100755":
		return "executable"
	case "120000":
		return "a symbolic link"
	case "160000":
		return "a submodule"
	}
	return "mode " + mode
}

// other reads a line between files.
func (r *changeReader) other(line string) {
	title, isTitle := strings.CutPrefix(line, "## ")
	digest := digestLine().FindStringSubmatch(line)
	text, indented := strings.CutPrefix(line, messageIndent)
	r.inMessage = r.inMessage && (indented || line == "")
	switch {
	case r.inMessage:
		r.change.Message += text + "\n"
	case line == messageHeading && r.change.Message == "":
		r.inMessage = true
	case line == "":
	case isTitle:
		r.part, r.file = &changePart{Title: title}, nil
		r.change.Parts = append(r.change.Parts, r.part)
	case digest != nil:
		r.change.Digest = digest[1]
	default:
		r.part.Notes = append(r.part.Notes, line)
	}
}

// gitPaths returns the two paths of a line such as "a/x b/x". Without quotes, it is ambiguous, unless both are the same;
// otherwise later lines have them.
func gitPaths(text string) (from, to string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		return gitPath(quoted, "a/"), gitPath(strings.TrimSpace(text[len(quoted):]), "b/")
	}
	if half := len(text) / 2; len(text)%2 == 1 && text[half] == ' ' {
		if from, to = gitPath(text[:half], "a/"), gitPath(text[half+1:], "b/"); from == to {
			return from, to
		}
	}
	return text, text
}

// gitPath returns a path without its prefix, and without the quotes that git puts around unusual ones, unless what they
// hide would not be visible in one line.
func gitPath(text, prefix string) string {
	text = strings.TrimSuffix(text, "\t") // after a path with a space
	if strings.HasPrefix(text, `"`) {
		plain, err := strconv.Unquote(text)
		if err != nil || strings.ContainsFunc(plain, unicode.IsControl) || !utf8.ValidString(plain) {
			return strings.Replace(text, `"`+prefix, `"`, 1)
		}
		text = plain
	}
	return strings.ToValidUTF8(strings.TrimPrefix(text, prefix), "\uFFFD")
}

// endings says how the lines of a file end, and makes all other carriage returns visible: browsers would show them as
// line breaks.
func (f *changedFile) endings() {
	all, some := true, false
	for _, l := range f.Lines {
		if l.Kind != "gap" {
			some = some || strings.Contains(l.Text, "\r")
			all = all && strings.HasSuffix(l.Text, "\r")
		}
	}
	if !some {
		return
	}
	if all {
		f.Notes = append(f.Notes, "lines end with CRLF")
	}
	for i, l := range f.Lines {
		if all {
			l.Text = strings.TrimSuffix(l.Text, "\r")
		}
		f.Lines[i].Text = strings.ReplaceAll(l.Text, "\r", `\r`)
	}
}

// Folded reports whether a file is too long to be shown at once.
func (f *changedFile) Folded() bool { return len(f.Lines) > longFile || len(f.Rest) > 0 }

// Renamed reports whether the file had another path.
func (f *changedFile) Renamed() bool {
	return f.From != f.Path && (f.Status == "renamed" || f.Status == "copied")
}

// Code renders the lines, with numbers and colours. A template would take ten times as long.
func (f *changedFile) Code() template.HTML {
	var b strings.Builder
	colours := colourer{language: languageOf(f.Path)}
	for _, l := range f.Lines {
		tag, sign := l.Kind, " "
		switch l.Kind {
		case "gap":
			colours.old, colours.now = "", "" // what is between may end a comment
			b.WriteString("<i>⋯ " + html.EscapeString(l.Text) + "\n</i>")
			continue
		case "ins":
			sign = "+"
		case "del":
			sign = "-"
		default:
			tag = "span"
		}
		b.WriteString("<" + tag)
		for _, number := range []struct {
			name string
			n    int
		}{{"old", l.Old}, {"new", l.New}} {
			if number.n > 0 {
				fmt.Fprintf(&b, ` data-%s="%d"`, number.name, number.n)
			}
		}
		b.WriteString(">" + sign)
		for _, t := range colours.line(l) {
			if text := html.EscapeString(t.text); t.class == "" {
				b.WriteString(text)
			} else {
				b.WriteString(`<span class="` + t.class + `">` + text + "</span>")
			}
		}
		b.WriteString("\n</" + tag + ">")
	}
	return template.HTML(b.String()) //nolint:gosec // all text of a file is escaped
}

// Plain returns the lines that are shown without numbers and colours.
func (f *changedFile) Plain() string {
	var b strings.Builder
	for _, l := range f.Rest {
		b.WriteString(map[string]string{"ins": "+", "del": "-", "gap": "⋯ ", "": " "}[l.Kind] + l.Text + "\n")
	}
	return b.String()
}

// summary returns the change without its lines.
func (c *change) summary() *change {
	if c == nil {
		return nil
	}
	short := &change{Message: c.Message, Digest: c.Digest}
	for _, p := range c.Parts {
		part := &changePart{Title: p.Title}
		for _, f := range p.Files {
			part.Files = append(part.Files, &changedFile{Path: f.Path, From: f.From, Status: f.Status, Added: f.Added, Removed: f.Removed})
		}
		short.Parts = append(short.Parts, part)
	}
	return short
}
