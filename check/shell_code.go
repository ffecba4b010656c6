package check

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hocket-dev/hocket/workflow"
)

// shellWord is a word of a command.
type shellWord struct {
	text  string // without quotes, and without values that only a run knows
	value bool   // it contains a value of the run
	many  bool   // it may expand to any number of words
}

// shellCommand is a program with its arguments.
type shellCommand struct {
	words     []shellWord
	variable  string    // a variable with a value of the run that decides which programs are found
	readsCode bool      // the program reads its code from the standard input of the step
	fed       shellWord // code that the script itself pipes to its standard input
	evaluated shellWord // what the shell evaluates as code, as in $((x)): x may be a[$(date)]
}

// danger is what a program would do with a value.
type danger int

const (
	harmless danger = iota
	asProgram
	asCode
)

// shellValues describes where a command of a task finds values of the run.
type shellValues struct {
	inputs []string // the names of those that are values
	args   []bool   // which arguments are values; the first is the name of the script
	any    bool     // all arguments come from one value
	stdin  bool
}

func valuesOf(t *workflow.Task, agent map[string]any) *shellValues {
	v := &shellValues{stdin: hasReference(t.Prompt.Text)}
	if stdin, ok := t.Settings["stdin"]; ok {
		v.stdin = refers(stdin)
	} else if _, ok := agent["stdin"]; ok {
		v.stdin = false
	}
	for _, in := range t.Inputs {
		if refers(in.Value) {
			v.inputs = append(v.inputs, in.Name)
		}
	}
	v.args = []bool{false}
	switch args := t.Settings["args"].(type) {
	case []any:
		for _, arg := range args {
			v.args = append(v.args, refers(arg))
		}
	case string:
		v.any = refers(args)
	}
	return v
}

// commands returns the commands that a task runs: the one that it lists, or those in its script.
// A script that no shell can parse has none.
func (v *shellValues) commands(task, agent map[string]any) []*shellCommand {
	command, mine := task["command"]
	if !mine {
		command = agent["command"]
	}
	args, written := task["args"].([]any)
	if !written {
		args, _ = agent["args"].([]any)
	}
	switch command := command.(type) {
	case []any:
		var words []shellWord
		for i, word := range slices.Concat(command, args) {
			isMine := mine && i < len(command) || written && i >= len(command)
			text := workflow.FormatText(word)
			if isMine {
				text = strings.ReplaceAll(text, "$${", "${")
			}
			words = append(words, shellWord{text: text, value: isMine && refers(word)})
		}
		if v.any {
			words = append(words, shellWord{value: true, many: true})
		}
		return append([]*shellCommand{{words: words, readsCode: readsCode(words)}}, v.inner(words)...)
	case string:
		if mine {
			command = strings.ReplaceAll(command, "$${", "${")
		}
		return v.parse(command)
	}
	return nil
}

// inner returns the commands of a script that is passed to a shell in the words of a command: sh
// -c 'wc "$1"' sh x.
func (v *shellValues) inner(words []shellWord) []*shellCommand {
	for i, w := range words {
		if w.value || languageOf(w.text) != shells {
			continue
		}
		option := false
		for j := i + 1; j < len(words); j++ {
			text := words[j].text
			switch isOption := len(text) > 1 && strings.ContainsAny(text[:1], "-+"); {
			case slices.Contains(strings.Fields(shells.takes), text):
				j++
			case isOption:
				option = option || text[1] != '-' && strings.Contains(text, "c")
			case option && !words[j].value:
				script := &shellValues{inputs: v.inputs, stdin: v.stdin}
				for _, arg := range words[j+1:] {
					script.args, script.any = append(script.args, arg.value), script.any || arg.many
				}
				return script.parse(text)
			default:
				return nil
			}
		}
	}
	return nil
}

// parse returns the commands in a script.
func (v *shellValues) parse(script string) (list []*shellCommand) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	fed := map[*syntax.Stmt]shellWord{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				fed[n.Y] = v.text(n.X)
			}
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil && startsPrograms(n.Name.Value) && v.text(n.Value).value {
				list = append(list, &shellCommand{variable: n.Name.Value})
			}
		case *syntax.Stmt:
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				c := v.call(n, call, fed[n])
				list = append(append(list, c), v.inner(c.words)...)
			}
		}
		if n != nil {
			if w := v.evaluated(n); w.value {
				list = append(list, &shellCommand{evaluated: w})
			}
		}
		return true
	})
	return list
}

// evaluated returns what a shell evaluates as code in a part of a script, although it looks like
// a number or a name.
func (v *shellValues) evaluated(n syntax.Node) (w shellWord) {
	var parts []syntax.Node
	add := func(more ...syntax.Node) { parts = append(parts, more...) }
	switch n := n.(type) {
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause:
		add(n)
	case *syntax.BinaryTest:
		if slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, n.Op) {
			add(n)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return v.text(n.X)
		}
	case *syntax.ParamExp:
		add(n.Index)
		if n.Slice != nil {
			add(n.Slice.Offset, n.Slice.Length)
		}
		if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
			w = shellWord{text: n.Param.Value, value: v.holds(n.Param.Value)}
		}
	case *syntax.Assign:
		add(n.Index)
		if n.Name == nil && n.Value != nil { // declare "$x"
			return v.text(n.Value)
		}
	case *syntax.ArrayElem:
		add(n.Index)
	}
	for _, part := range parts {
		if part == nil {
			continue
		}
		syntax.Walk(part, func(n syntax.Node) bool {
			name, holds := "", false
			switch n := n.(type) {
			case *syntax.Lit: // 1 is a number here, not $1
				name, holds = n.Value, v.variable(n.Value)
			case *syntax.ParamExp:
				if n.Length {
					return false
				}
				name, holds = n.Param.Value, v.holds(n.Param.Value)
			case *syntax.CmdSubst:
				return false
			}
			if holds {
				w = shellWord{text: name, value: true}
			}
			return true
		})
	}
	return w
}

// call reads a command of a script. fed is what a pipe sends to it.
func (v *shellValues) call(stmt *syntax.Stmt, call *syntax.CallExpr, fed shellWord) *shellCommand {
	c := &shellCommand{}
	for _, arg := range call.Args {
		c.words = append(c.words, v.text(arg))
	}
	if c.readsCode = readsCode(c.words); !c.readsCode {
		return c
	}
	c.fed = fed
	for _, r := range stmt.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.WordHdoc:
			c.readsCode, c.fed = false, v.text(r.Word)
		case syntax.Hdoc, syntax.DashHdoc:
			c.readsCode, c.fed = false, v.text(r.Hdoc)
		}
	}
	return c
}

// text reads a word, or all words, of a part of a script. Values that only a run knows are left
// out of the text.
func (v *shellValues) text(part syntax.Node) (word shellWord) {
	var text strings.Builder
	known := 0 // nesting depth inside parts that only a run knows
	var open []bool
	syntax.Walk(part, func(n syntax.Node) bool {
		if n == nil { // the end of a node
			if last := len(open) - 1; open[last] {
				known--
			}
			open = open[:len(open)-1]
			return true
		}
		unknown := false
		switch n := n.(type) {
		case *syntax.Lit:
			if known == 0 {
				text.WriteString(strings.ReplaceAll(n.Value, `\`, ""))
			}
		case *syntax.SglQuoted:
			if known == 0 {
				text.WriteString(n.Value)
			}
		case *syntax.ParamExp:
			word.value = word.value || v.holds(n.Param.Value)
			unknown = true
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
			unknown = true
		}
		if open = append(open, unknown); unknown {
			known++
		}
		return true
	})
	word.text = text.String()
	return word
}

// holds reports whether a parameter of a script, such as $1 or $name, holds a value of the run.
func (v *shellValues) holds(name string) bool {
	if i, err := strconv.Atoi(name); err == nil {
		return i > 0 && v.any || i < len(v.args) && v.args[i]
	}
	if name == "@" || name == "*" {
		return v.any || len(v.args) > 0 && slices.Contains(v.args[1:], true)
	}
	return v.variable(name)
}

// variable reports whether a variable of a script holds a value of the run.
func (v *shellValues) variable(name string) bool {
	return slices.Contains(v.inputs, name) || len(v.inputs) > 0 && strings.HasPrefix(name, "HOCKET_INPUT")
}

// executes returns the word through which a value would be executed.
func (c *shellCommand) executes() (shellWord, danger) {
	if c.evaluated.value {
		return c.evaluated, asCode
	}
	at, decides := program(c.words)
	if decides.value {
		return decides, asProgram
	}
	for i := range c.words[:min(at+1, len(c.words))] { // docker run --entrypoint, too
		if code := takers.read(c.words[i:]); code.value {
			return code, asCode
		}
	}
	for i, w := range c.words {
		l := languageOf(w.text)
		switch {
		case l == nil || w.value:
			continue
		case i == at:
			code, _ := l.read(c.words[i+1:])
			if code.value {
				return code, asCode
			}
			if c.fed.value {
				return c.fed, asCode
			}
			if !l.options {
				return shellWord{}, harmless // the remaining words are arguments of the code
			}
			continue
		}
		// Looks like any other word: only the words after it show that it is a program.
		only := *l
		only.options, only.within = true, true
		if code, _ := only.read(c.words[i+1:]); code.value {
			return code, asCode
		}
	}
	return shellWord{}, harmless
}

// readsCode reports whether a command reads the code that it runs from standard input.
func readsCode(words []shellWord) bool {
	at, _ := program(words)
	if at >= len(words) {
		return false
	}
	l, rest := languageOf(words[at].text), words[at+1:]
	if l == nil || !l.stdin && !(l.dash && slices.ContainsFunc(rest, func(w shellWord) bool { return slices.Contains(standardInput, w.text) })) {
		return false
	}
	if _, found := l.read(rest); !found {
		return true
	}
	for i := range rest { // such as ssh host bash
		if other := languageOf(rest[i].text); l.all && other != nil && other.stdin && readsCode(rest[i:]) {
			return true
		}
	}
	return false
}
