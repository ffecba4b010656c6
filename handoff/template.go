package handoff

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/internal/lazy"
)

// Template is a handoff with placeholders: {{key}} for a required value, and {{key=default}} for an
// optional one. A line whose placeholders are all empty is omitted. A comment in the first line
// describes the template.
type Template struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	File        string `json:"file,omitempty"` // in the project; "" for a built-in one
	Keys        []Key  `json:"keys"`           // in the order of the text
	text        string
}

// Key is a placeholder of a template.
type Key struct {
	Name     string `json:"name"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required"`
}

//go:embed templates/*.md
var builtIn embed.FS

// templateFolder has the project's own templates.
const templateFolder = ".hocket/handoffs"

// Templates returns the project's own templates and the built-in ones, sorted by name. A template
// of the project replaces a built-in one with the same name.
func Templates(p *hocket.Project) ([]Template, error) {
	own, err := os.ReadDir(filepath.Join(p.Root(), templateFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Template
	for _, e := range own {
		if file := filepath.Join(p.Root(), templateFolder, e.Name()); filepath.Ext(file) == ".md" {
			text, err := p.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, template(filepath.Join(templateFolder, e.Name()), string(text)))
		}
	}
	entries, err := builtIn.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := builtIn.ReadFile("templates/" + e.Name())
		if err != nil {
			return nil, err
		}
		t := template(e.Name(), string(text))
		if t.File = ""; !slices.ContainsFunc(all, func(o Template) bool { return o.Name == t.Name }) {
			all = append(all, t)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

var (
	description = lazy.Regexp(`^<!--\s*(.*?)\s*-->\r?\n`)
	heading     = lazy.Regexp(`(?m)^#+ +(.+?)\s*$`)
	placeholder = lazy.Regexp(`\{\{([a-z][a-z0-9_-]*)(=[^\n]*?)?\}\}`)
)

func template(file, text string) Template {
	text = strings.TrimPrefix(text, "\uFEFF")
	t := Template{Name: strings.TrimSuffix(filepath.Base(file), ".md"), File: file, Keys: []Key{}, text: text}
	if m := description().FindStringSubmatch(text); m != nil {
		t.Description, t.text = m[1], text[len(m[0]):]
	} else if m := heading().FindStringSubmatch(text); m != nil {
		t.Description = m[1]
	}
	for _, m := range placeholder().FindAllStringSubmatch(t.text, -1) {
		key := Key{m[1], strings.TrimPrefix(m[2], "="), m[2] == ""}
		if i := slices.IndexFunc(t.Keys, func(k Key) bool { return k.Name == key.Name }); i < 0 {
			t.Keys = append(t.Keys, key)
		} else if key.Required {
			t.Keys[i] = key
		}
	}
	return t
}

// escaped makes a value plain text in XML, and in the Markdown around it: it cannot begin a
// tag, end an attribute, or close a fence.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "```", "&#96;``", "~~~", "&#126;~~")

// Fill fills in a template. It returns the required keys without a value; their placeholders stay
// in the text. An unknown key is an error.
func Fill(t Template, values map[string]string) (text string, missing []string, err error) {
	var names []string
	for _, k := range t.Keys {
		names = append(names, k.Name)
		if k.Required && strings.TrimSpace(values[k.Name]) == "" {
			missing = append(missing, k.Name)
		}
	}
	for key := range values {
		if !slices.Contains(names, key) {
			return "", nil, fmt.Errorf("handoff: unknown key %q in the template %s; its keys are %s", key, t.Name, strings.Join(names, ", "))
		}
	}
	var lines []string
	gap := false // a line was omitted between empty ones
	for line := range strings.Lines(t.text) {
		filled, ok := fillLine(line, values)
		blank := strings.TrimSpace(filled) == ""
		switch {
		case !ok:
			gap = len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == ""
		case gap && blank:
			gap = false
		default:
			lines, gap = append(lines, filled), false
		}
	}
	return strings.Join(lines, ""), missing, nil
}

// fillLine fills in the placeholders of a line. It reports whether to keep the line.
func fillLine(line string, values map[string]string) (filled string, stays bool) {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	stays = !placeholder().MatchString(line)
	filled = placeholder().ReplaceAllStringFunc(line, func(written string) string {
		m := placeholder().FindStringSubmatch(written)
		text := escaped.Replace(strings.ReplaceAll(strings.TrimSpace(values[m[1]]), "\n", "\n"+indent))
		switch {
		case text == "" && m[2] == "":
			text = written // it is missing
		case text == "":
			text = m[2][len("="):]
		}
		stays = stays || text != ""
		return text
	})
	return filled, stays
}
