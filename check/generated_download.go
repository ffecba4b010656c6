package check

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hocket-dev/hocket/workflow"
)

var generatedDownload = rule{
	code:     "generated-download",
	severity: workflow.Warning,
	summary:  "a command that a model wrote runs what it downloads, or cannot be read",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil || !p.generated(n) || p.in.agent(p.w, n, t).Executor != "shell" {
			return
		}
		for _, script := range scriptsOf(t.Settings["command"]) {
			switch runs, read := runsDownload(script); {
			case !read:
				p.warnf(splicePos(n, t, "command"), "look at it closely before you approve it", "the command of %q cannot be read as a shell script", n.ID)
				return
			case runs:
				p.warnf(splicePos(n, t, "command"), "nobody can review what it will download; store the script in the project instead", "%q downloads code and runs it: %s", n.ID, shorten(script))
				return
			}
		}
	},
}

// scriptsOf returns the scripts in a command: the text itself, or the words of a list that are
// scripts for a shell.
func scriptsOf(command any) (list []string) {
	switch c := command.(type) {
	case string:
		return []string{strings.ReplaceAll(c, "$${", "${")}
	case []any:
		var quoted []string
		for i, word := range c {
			text := workflow.FormatText(word)
			if i > 0 && languageOf(workflow.FormatText(c[0])) == shells && strings.ContainsAny(text, " |;") {
				list = append(list, text)
			}
			quoted = append(quoted, "'"+strings.ReplaceAll(text, "'", `'\''`)+"'")
		}
		return append(list, strings.Join(quoted, " "))
	}
	return nil
}

var (
	downloaders = strings.Fields("curl wget fetch aria2c http https xh lynx nc ncat ftp scp rsync")
	evaluators  = strings.Fields("eval source . exec xargs")
)

// runsDownload reports whether a script passes what it downloads to something that runs code.
func runsDownload(script string) (runs, read bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return false, false
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && calls(n.X, isDownloader) && runsInput(n.Y) {
				runs = true
			}
		case *syntax.CallExpr:
			if len(n.Args) > 1 && isInterpreter(literal(n.Args[0])) {
				for _, arg := range n.Args[1:] {
					runs = runs || substitutes(arg)
				}
			}
		}
		return !runs
	})
	return runs, true
}

// substitutes reports whether a word contains the output of a download: $(curl …), <(curl …).
func substitutes(word *syntax.Word) (yes bool) {
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			yes = yes || slices.ContainsFunc(n.Stmts, func(s *syntax.Stmt) bool { return calls(s, isDownloader) })
		case *syntax.ProcSubst:
			yes = yes || slices.ContainsFunc(n.Stmts, func(s *syntax.Stmt) bool { return calls(s, isDownloader) })
		}
		return !yes
	})
	return yes
}

// calls reports whether a part of a script calls a program.
func calls(part syntax.Node, is func(program string) bool) (yes bool) {
	syntax.Walk(part, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			yes = yes || slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return is(literal(w)) }) // sudo -E sh
		}
		return !yes
	})
	return yes
}

// runsInput reports whether a part of a script runs its standard input as code.
func runsInput(part syntax.Node) (yes bool) {
	syntax.Walk(part, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			var words []shellWord
			for _, arg := range call.Args {
				words = append(words, (&shellValues{}).text(arg))
			}
			yes = yes || len(words) > 0 && (readsCode(words) || slices.Contains(evaluators, words[0].text))
		}
		return !yes
	})
	return yes
}

// literal returns the text of a word, without quotes; "" if only a run knows it.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				if lit, ok := inner.(*syntax.Lit); ok {
					b.WriteString(lit.Value)
				}
			}
		}
	}
	return b.String()
}

func isDownloader(program string) bool {
	return slices.Contains(downloaders, program[strings.LastIndexByte(program, '/')+1:])
}

func isInterpreter(program string) bool {
	return languageOf(program) != nil || slices.Contains(evaluators, program)
}
