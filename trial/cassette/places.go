package cassette

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/internal/lazy"
)

// Places are what differs from run to run, so that recordings have placeholders for it. They are safe for concurrent
// use.
type Places struct {
	Run   string // the id of the run
	Dir   string // where its tasks work
	State string // where it is stored
	Since time.Time

	Other map[string]string // further texts, with the names of their placeholders

	// Secret reports whether a text contains the value of a secret. Such a text has no placeholders: one that stands for
	// a part of the value would hide from [Cassette.Check] that the rest of it is recorded. nil: none does.
	Secret func(text string) bool

	mu    sync.Mutex
	ports map[string]int // of workspaces: the first one, by the address of the step
}

// AddPorts says from which port on a step with a workspace of its own has workspacePorts. They have placeholders with
// its address, because other steps may name them.
func (p *Places) AddPorts(address string, first int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ports == nil {
		p.ports = map[string]int{}
	}
	p.ports[address] = first
}

// workspacePorts is how many ports a workspace has.
const workspacePorts = 10

const (
	opening, closing = "⟨", "⟩"
	literal          = opening + "open" + closing // an opening bracket that was there before
	timePlace        = opening + "time" + closing
	portPlace        = opening + "port" + closing
)

// texts returns what is replaced, longest first, with the placeholders.
func (p *Places) texts() [][2]string {
	var all [][2]string
	add := func(name, text string) {
		if text != "" {
			all = append(all, [2]string{text, opening + name + closing})
		}
	}
	for name, path := range map[string]string{"dir": p.Dir, "state": p.State} {
		if !filepath.IsAbs(path) || filepath.Dir(path) == path { // it says nothing, and would be found everywhere
			continue
		}
		add(name, path)
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			add(name, real)
		}
	}
	add("run", p.Run)
	for text, name := range p.Other {
		add(name, text)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i][0], all[j][0]
		return len(a) > len(b) || len(a) == len(b) && a < b
	})
	return all
}

// instants and ports match what may be the time of the run, and a port that the system chose.
var (
	instants = lazy.Regexp(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?`)
	ports    = lazy.Regexp(`((?:localhost|127\.0\.0\.1|\[::1\]):)(\d{5})\b`)
)

// Hide replaces what differs from run to run.
func (p *Places) Hide(text string) string {
	if p.Secret != nil && p.Secret(text) {
		return text
	}
	text = strings.ReplaceAll(text, opening, literal)
	for _, t := range p.texts() {
		text = strings.ReplaceAll(text, t[0], t[1])
	}
	text = instants().ReplaceAllStringFunc(text, func(s string) string {
		if p.during(s) {
			return timePlace
		}
		return s
	})
	text = p.hidePorts(text)
	return ports().ReplaceAllStringFunc(text, func(s string) string {
		if port := s[len(s)-5:]; port < firstPort || port > lastPort {
			return s
		}
		return s[:len(s)-5] + portPlace
	})
}

// number matches what may be a port of a workspace.
var number = lazy.Regexp(`\b\d{5}\b`)

// hidePorts replaces the ports of workspaces.
func (p *Places) hidePorts(text string) string {
	names := map[string]string{}
	for name, port := range p.portNames() {
		names[port] = name
	}
	if len(names) == 0 {
		return text
	}
	return number().ReplaceAllStringFunc(text, func(s string) string { return cmp.Or(names[s], s) })
}

// portNames returns the ports of workspaces by their placeholders.
func (p *Places) portNames() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	names := map[string]string{}
	for address, first := range p.ports {
		for i := range workspacePorts {
			name := opening + "port of " + address
			if i > 0 {
				name += "+" + strconv.Itoa(i)
			}
			names[name+closing] = strconv.Itoa(first + i)
		}
	}
	return names
}

// Ports that systems choose.
const firstPort, lastPort = "32768", "65535"

// during reports whether a time is in the run.
func (p *Places) during(text string) bool {
	if p.Since.IsZero() {
		return false
	}
	text = strings.Replace(text, " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05"} {
		for _, zone := range []*time.Location{time.UTC, time.Local} {
			at, err := time.ParseInLocation(layout, text, zone)
			if err == nil && !at.Before(p.Since.Truncate(time.Second)) && !at.After(time.Now().Add(time.Second)) {
				return true
			}
		}
	}
	return false
}

// Show replaces the placeholders with what they stand for in this run.
func (p *Places) Show(text string) string {
	if !strings.Contains(text, opening) {
		return text
	}
	var pairs []string
	seen := map[string]bool{}
	for _, t := range p.texts() {
		if !seen[t[1]] {
			seen[t[1]] = true
			pairs = append(pairs, t[1], t[0])
		}
	}
	for name, port := range p.portNames() {
		pairs = append(pairs, name, port)
	}
	pairs = append(pairs, timePlace, p.Since.UTC().Format(time.RFC3339), portPlace, firstPort, literal, opening)
	return strings.NewReplacer(pairs...).Replace(text)
}

func (p *Places) hideValue(v any) any {
	switch v := v.(type) {
	case string:
		return p.Hide(v)
	case []any:
		for i := range v {
			v[i] = p.hideValue(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = p.hideValue(v[key])
		}
	}
	return v
}

// Private is what a file that others read must not contain.
type Private struct {
	Secret func(text string) bool // whether a text contains the value of a secret
	Homes  []string               // the user's home directory, by all its names
	User   string                 // the user's name
}

// A LeakError reports that a cassette would contain something private.
type LeakError struct{ Leaks []Leak }

// Leak is one place of a cassette with something private.
type Leak struct {
	Where string // such as "reply of fix, attempt 2: line 3 of the output"
	What  string // such as "a secret"
}

func (e *LeakError) Error() string {
	lines := []string{"the recording was not written, because it contains private data:"}
	for _, l := range e.Leaks {
		lines = append(lines, fmt.Sprintf("  %s contains %s", l.Where, l.What))
	}
	return strings.Join(lines, "\n")
}

// Hint returns what to do about it.
func (*LeakError) Hint() string {
	return "change the inputs, files or commands of the test so that agents neither see nor return it, and record again"
}

// Check returns a *[LeakError] if a cassette contains something private.
func (c *Cassette) Check(p Private) error {
	e := &LeakError{}
	for _, i := range c.Interactions {
		for part, text := range i.parts() {
			for what, found := range p.in(text) {
				where := fmt.Sprintf("%s of %s", part, i)
				if line := lineOf(text, found); line > 1 || strings.Contains(strings.TrimSpace(text), "\n") {
					where = fmt.Sprintf("line %d of the %s", max(line, 1), where)
				} else {
					where = "the " + where
				}
				e.Leaks = append(e.Leaks, Leak{where, what})
			}
		}
	}
	for _, digest := range c.named() {
		for name := range c.Bases[digest] {
			for what := range p.in(name) {
				if leak := (Leak{"the name of the file " + name + " at the start of a step", what}); !slices.Contains(e.Leaks, leak) {
					e.Leaks = append(e.Leaks, leak)
				}
			}
		}
	}
	if e.Leaks == nil {
		return nil
	}
	sort.Slice(e.Leaks, func(i, j int) bool {
		a, b := e.Leaks[i], e.Leaks[j]
		return cmp.Or(strings.Compare(a.Where, b.Where), strings.Compare(a.What, b.What)) < 0
	})
	return e
}

// parts returns the texts of an interaction by their names.
func (i Interaction) parts() map[string]string {
	all := map[string]string{"output": i.Reply.Output, "address": i.Address, "decision": i.Reply.Decision}
	for key, value := range i.Request.fields() {
		all[key] = textOf(value)
	}
	if i.Reply.Error != nil {
		all["error"] = i.Reply.Error.Message
	}
	for _, f := range i.Reply.Files {
		all["path "+f.Path] = f.Path
		all["file "+f.Path] = string(f.Content)
	}
	return all
}

// in finds what is private in a text: what it is, and the text of the line that has it, as far as it is known.
func (p Private) in(text string) map[string]func(line string) bool {
	found := map[string]func(string) bool{}
	add := func(what string, has func(string) bool) {
		if has(text) || has(unescaped(text)) {
			found[what] = func(line string) bool { return has(line) || has(unescaped(line)) }
		}
	}
	if p.Secret != nil && p.Secret(text) {
		found["the value of a secret"] = p.Secret
	}
	for _, home := range p.Homes {
		if home = filepath.Clean(home); filepath.IsAbs(home) && filepath.Dir(home) != home {
			add("your home directory", func(s string) bool { return hasWord(s, home, isLetter) || hasWord(s, filepath.ToSlash(home), isLetter) })
		}
	}
	switch long := utf8.RuneCountInString(p.User) > 4; {
	case !isPersonal(p.User):
	case long: // a short one is often another word, or a part of a name
		user := strings.ToLower(p.User)
		add("your user name", func(s string) bool {
			return hasWord(strings.ToLower(s), user, func(r rune) bool { return r != '_' && isLetter(r) })
		})
	default:
		add("your user name", func(s string) bool { return hasWord(s, p.User, isLetter) })
	}
	return found
}

var percents = lazy.Regexp(`%[0-9A-Fa-f]{2}`)

// unescaped returns a text without the escapes of JSON and of URLs, which may be escaped twice.
func unescaped(text string) string {
	text = strings.NewReplacer(`\\`, `\`, `\/`, "/", `\u002f`, "/", `\u002F`, "/", `\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`).Replace(text)
	for range 2 {
		text = percents().ReplaceAllStringFunc(text, func(s string) string {
			b, _ := hex.DecodeString(s[1:])
			return string(b)
		})
	}
	return text
}

// isPersonal reports whether the name of a user says who that is. Others are words that texts need.
func isPersonal(user string) bool {
	common := []string{
		"admin", "administrator", "ansible", "build", "builder", "ci", "codespace", "debian", "default", "deploy", "dev", "developer", "docker", "fedora", "git", "github", "gitlab", "guest",
		"home", "jenkins", "local", "node", "nobody", "owner", "postgres", "root", "runner", "server", "service", "student", "system", "test", "tester", "ubuntu", "user", "username",
		"vagrant", "vscode", "work", "worker",
	}
	return utf8.RuneCountInString(user) > 2 && !slices.Contains(common, strings.ToLower(user))
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// hasWord reports whether a text contains a word that is not a part of a longer one.
func hasWord(text, word string, inWord func(rune) bool) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(word):])
		first, _ := utf8.DecodeRuneInString(word)
		if !(inWord(before) && inWord(first)) && !inWord(after) {
			return true
		}
		at += i + len(word)
	}
}

// lineOf returns the first line of a text for which has holds, zero if it is only in several lines together.
func lineOf(text string, has func(string) bool) int {
	for i, line := range strings.Split(text, "\n") {
		if has(line) {
			return i + 1
		}
	}
	return 0
}
