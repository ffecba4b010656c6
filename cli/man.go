package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manVerb is for make install: it writes the help of all commands as man pages.
func (a *app) manVerb() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write man pages", Hidden: true, Args: argsBetween(1, 1), DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.outPath(args[0])
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return err
			}
			return writeMan(cmd.Root(), dir)
		},
	}
}

// writeMan writes the page of a command and those of its subcommands.
func writeMan(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manPage(cmd, name)), 0o666); err != nil {
		return err
	}
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			if err := writeMan(verb, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func manPage(cmd *cobra.Command, name string) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			b.WriteString(".SH " + title + "\n" + text)
		}
	}
	b.WriteString(".TH " + roff(strings.ToUpper(name)) + " 1\n")
	section("NAME", roff(name+" - "+cmd.Short)+"\n")
	section("SYNOPSIS", ".nf\n"+roff(cmd.UseLine())+"\n.fi\n")
	section("DESCRIPTION", manText(cmd.Long))
	section("OPTIONS", manFlags(cmd.LocalNonPersistentFlags())+manFlags(cmd.Root().PersistentFlags()))
	if cmd.Example != "" {
		section("EXAMPLES", ".nf\n"+roff(cmd.Example)+"\n.fi\n")
	}
	var also []string
	for _, verb := range cmd.Commands() {
		if !verb.Hidden {
			also = append(also, ".BR "+roff(name+"-"+verb.Name())+" (1)\n")
		}
	}
	section("SEE ALSO", strings.Join(also, ""))
	return b.String()
}

// paragraph is a paragraph of a help text. One with indented lines is printed verbatim,
// and others are filled.
type paragraph struct {
	text     string
	indented bool
}

func paragraphs(text string) []paragraph {
	var list []paragraph
	for part := range strings.SplitSeq(text, "\n\n") {
		list = append(list, paragraph{part, strings.HasPrefix(part, " ") || strings.Contains(part, "\n ")})
	}
	return list
}

func manText(text string) string {
	var list []string
	for _, p := range paragraphs(text) {
		text := roff(p.text) + "\n"
		if p.indented {
			text = ".nf\n" + text + ".fi\n"
		}
		list = append(list, text)
	}
	return strings.Join(list, ".PP\n")
}

func manFlags(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		names := "--" + f.Name
		if f.Shorthand != "" {
			names = "-" + f.Shorthand + ", " + names
		}
		if !f.Hidden {
			b.WriteString(".TP\n" + roff(strings.TrimSpace(names+" "+value)) + "\n" + roff(usage) + "\n")
		}
	})
	return b.String()
}

// roff escapes text so that man shows it verbatim.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
