package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/handoff"
)

func (a *app) handoffNewVerb() *cobra.Command {
	var values []string
	var file string
	cmd := &cobra.Command{
		Use:   "new [TEMPLATE] [FLAGS]",
		Short: "Write a handoff from a template",
		Long: `Write a handoff from a template. Without a name, list the templates: those of the
project, in .hocket/handoffs, and the built-in ones. Values are inserted as plain
text. All required values must be set. The handoff is
checked before it is written, and an existing file is never changed.`,
		Example: `  hocket handoff new
  hocket handoff new review --set subject="the last commit" --set intent="Release 2.0" -o review.md`,
		Args: argsBetween(0, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			all, _ := a.handoffTemplates() // completion is silent
			return templateNames(all), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				if len(values) > 0 || file != "" {
					return usagef("`hocket handoff new` lists the templates", "missing template name")
				}
				return a.listTemplates()
			}
			return a.newHandoff(args[0], values, file)
		},
	}
	cmd.Flags().StringArrayVar(&values, "set", nil, "set a value of the template, as `KEY=VALUE`; can be repeated")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE`")
	return cmd
}

func (a *app) handoffTemplates() ([]handoff.Template, error) {
	p, err := a.openProject()
	if err != nil {
		return nil, err
	}
	return handoff.Templates(p)
}

func templateNames(all []handoff.Template) []string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.Name
	}
	return names
}

func (a *app) listTemplates() error {
	all, err := a.handoffTemplates()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(all)
	}
	t := &view.Table{Head: []string{"TEMPLATE", "NEEDS", "DESCRIPTION"}}
	for _, one := range all {
		t.Row(view.Cell{Text: one.Name}, view.Cell{Text: strings.Join(keyNames(one, true), ", ")}, view.Cell{Text: one.Description})
	}
	return a.print(t.Draw(a.outStyle))
}

// keyNames returns the required or the optional keys of a template.
func keyNames(t handoff.Template, required bool) []string {
	var names []string
	for _, k := range t.Keys {
		if k.Required == required {
			names = append(names, k.Name)
		}
	}
	return names
}

func (a *app) newHandoff(name string, given []string, file string) error {
	all, err := a.handoffTemplates()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(t handoff.Template) bool { return t.Name == name })
	if at < 0 {
		return usagef(orList(name, templateNames(all)), "unknown template %q", name)
	}
	t := all[at]
	values := map[string]string{}
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, "=")
		keys := append(keyNames(t, true), keyNames(t, false)...)
		switch {
		case !slices.Contains(keys, key):
			return usagef(orList(key, keys), "invalid --set %q: %q is not a key of the template %s", pair, key, name)
		case !ok:
			return usagef("write --set "+key+"=VALUE", "--set %s has no value", key)
		}
		values[key] = value
	}
	text, missing, err := handoff.Fill(t, values)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return usagef(fmt.Sprintf("set each of them: --set %s=…; optional keys: %s", missing[0], strings.Join(keyNames(t, false), ", ")),
			"the template %s requires values for %s", name, strings.Join(missing, ", "))
	}
	return a.writeHandoff(t, text, file)
}

// writeHandoff checks a handoff and writes it to a file, or prints it.
func (a *app) writeHandoff(t handoff.Template, text, file string) error {
	p, err := a.openProject()
	if err != nil {
		return err
	}
	name := cmp.Or(file, t.Name+".md")
	h, err := handoff.Check(p, name, []byte(text), false)
	if err != nil {
		return err
	}
	if h.Blocks == 0 {
		return usagef("write one in a block of XML; `hocket handoff new review` shows how", "the template %s has no <agent_request>", t.Name)
	}
	a.unsaved = map[string][]byte{name: []byte(text)}
	if h.Found.Errors() {
		return &diagnosticsError{h.Found}
	}
	a.note(a.showDiagnostics(h.Found, a.errStyle))
	return a.putNew(text, file)
}

// putNew prints a text, or writes it to a file that does not exist yet.
func (a *app) putNew(text, file string) error {
	if file == "" {
		return a.print(a.outText(text))
	}
	made, err := writeNew(a.outPath(file), []byte(text))
	if err == nil && !made {
		err = existsAlready(file)
	}
	return err
}

func existsAlready(file string) error {
	return usagef("choose another name, or delete it", "%s already exists", file)
}
