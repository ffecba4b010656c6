package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/hocket-dev/hocket/workflow/expr"
)

// Prompt is a prompt in .hocket/prompts, for front ends that offer it to people.
type Prompt struct {
	Name        string // of its file, without the extension, with slashes
	Description string
	Inputs      []PromptInput
	text        *expr.Template
}

// PromptInput is an input of a prompt.
type PromptInput struct {
	Name, Description string
	HasDefault        bool
	Default           any
}

// Prompts returns the prompts of the project by name. It skips those that tasks could not use either.
func (p *Project) Prompts() []Prompt {
	var all []Prompt
	l := p.newLoaded() // p is shared, and reading notes what was read
	for _, home := range p.homes {
		dir := filepath.Join(home, "prompts")
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			file, ok := strings.CutSuffix(path, ".md")
			if err != nil || d.IsDir() || !ok {
				return nil // skip what cannot be read
			}
			name := filepath.ToSlash(strings.TrimPrefix(file, dir+string(os.PathSeparator)))
			if slices.ContainsFunc(all, func(p Prompt) bool { return p.Name == name }) {
				return nil
			}
			if t := l.template(name, []string{home}); t != nil {
				if text, err := t.ofInputs(); err == nil {
					all = append(all, Prompt{name, t.description, t.wants(text), text})
				}
			}
			return nil
		})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// ofInputs parses a prompt whose names all mean inputs: there is no workflow around it.
func (t *template) ofInputs() (*expr.Template, error) {
	text, err := namesAsInputs(expr.Late(t.src.Text, expr.Mixed))
	if err != nil {
		return nil, err
	}
	return expr.ParseTemplate(text, expr.Canonical)
}

// namesAsInputs returns a canonical text in which the names that nothing defines mean inputs.
func namesAsInputs(text string) (string, error) {
	parsed, err := expr.ParseTemplate(text, expr.Canonical)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	at := 0
	for _, ref := range parsed.Refs() {
		if ref.Kind != expr.Unresolved || len(ref.Path) == 0 || ref.Path[0].IsIndex {
			continue
		}
		input := expr.Ref{Kind: expr.Inputs, Name: ref.Path[0].Name, Path: ref.Path[1:]}
		written := input.String()
		if text[ref.From] == '$' {
			written = "${" + written + "}"
		}
		b.WriteString(text[at:ref.From] + written)
		at = ref.To
	}
	return b.String() + text[at:], nil
}

// wants returns the inputs of a prompt: those that it declares, otherwise those that it uses.
func (t *template) wants(text *expr.Template) []PromptInput {
	var all []PromptInput
	for _, in := range t.inputs {
		all = append(all, PromptInput{in.name, in.description, in.hasDefault, in.value})
	}
	for _, ref := range text.Refs() {
		known := func(in PromptInput) bool { return in.Name == ref.Name }
		if ref.Kind == expr.Inputs && ref.Name != "" && !t.declares && !slices.ContainsFunc(all, known) {
			all = append(all, PromptInput{Name: ref.Name, HasDefault: ref.Guarded()})
		}
	}
	return all
}

// Text returns the text of the prompt with the given inputs.
func (p *Prompt) Text(given map[string]string) (string, error) {
	values := map[string]any{}
	for _, in := range p.Inputs {
		value, ok := given[in.Name]
		switch {
		case ok:
			values[in.Name] = value
		case in.HasDefault:
			values[in.Name] = in.Default
		default:
			return "", fmt.Errorf("the prompt %q requires the input %q", p.Name, in.Name)
		}
	}
	return p.text.Text(promptValues(values))
}

// promptValues are the values that references in a prompt can have.
type promptValues map[string]any

// Lookup returns the value of an input.
func (v promptValues) Lookup(ref *expr.Ref) (any, bool) {
	value, ok := v[ref.Name]
	return value, ok && ref.Kind == expr.Inputs
}
