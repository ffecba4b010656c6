package check

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hocket-dev/hocket/workflow"
)

// shellWord is a word of a command.
type shellWord struct {
	text  string // without quotes; "" in place of what only a run knows
	value bool   // a value of the run is part of it
}

// shellCommand is a program with its arguments.
type shellCommand struct {
	words     []shellWord
	readsCode bool // the program takes the code that it runs from standard input of the step
}

// danger is what a program would do with a value.
type danger int

const (
	harmless danger = iota
	asProgram
	asCode
)

// shellValues are the places where a command of a task finds values of the run.
type shellValues struct {
	inputs []string // names; nil: all inputs are written down
	args   []bool   // which of the arguments
	stdin  bool
}

func valuesOf(t *workflow.Task, settings map[string]any) *shellValues {
	v := &shellValues{stdin: hasReference(t.Prompt.Text)}
	if stdin, ok := settings["stdin"]; ok {
		v.stdin = refers(stdin)
	}
	for _, in := range t.Inputs {
		if refers(in.Value) {
			v.inputs = append(v.inputs, in.Name)
		}
	}
	args, _ := settings["args"].([]any)
	for _, arg := range args {
		v.args = append(v.args, refers(arg))
	}
	return v
}

// commands are those that a task runs: the one that it lists, or those in its script. What
// no shell can read has none.
func (v *shellValues) commands(settings map[string]any) []*shellCommand {
	switch command := settings["command"].(type) {
	case []any:
		args, _ := settings["args"].([]any)
		c := &shellCommand{}
		for _, word := range slices.Concat(command, args) {
			c.words = append(c.words, shellWord{workflow.FormatText(word), refers(word)})
		}
		c.readsCode = readsCode(c.words)
		return []*shellCommand{c}
	case string:
		return v.parse(command)
	}
	return nil
}

// parse finds the commands in the text of a script.
func (v *shellValues) parse(script string) []*shellCommand {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		return nil
	}
	var list []*shellCommand
	syntax.Walk(file, func(n syntax.Node) bool {
		stmt, ok := n.(*syntax.Stmt)
		if !ok {
			return true
		}
		call, ok := stmt.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		c := &shellCommand{}
		for _, arg := range call.Args {
			c.words = append(c.words, v.word(arg))
		}
		c.readsCode = readsCode(c.words)
		for _, r := range stmt.Redirs {
			given := r.Word
			switch r.Op {
			case syntax.RdrIn, syntax.WordHdoc:
			case syntax.Hdoc, syntax.DashHdoc:
				given = r.Hdoc
			default:
				continue
			}
			if c.readsCode && given != nil { // from there, and not from the step
				text := v.word(given)
				c.words = append(c.words, shellWord{"-c", false}, text)
			}
			c.readsCode = false
		}
		list = append(list, c)
		return true
	})
	return list
}

// word reads a word of a script.
func (v *shellValues) word(w *syntax.Word) (word shellWord) {
	var text strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			text.WriteString(strings.ReplaceAll(n.Value, `\`, ""))
		case *syntax.SglQuoted:
			text.WriteString(n.Value)
		case *syntax.ParamExp:
			word.value = word.value || v.holds(n.Param.Value)
			return false
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.ArithmExp:
			return false
		}
		return true
	})
	word.text = text.String()
	return word
}

// holds says whether a variable of a script holds a value of the run.
func (v *shellValues) holds(name string) bool {
	if i, err := strconv.Atoi(name); err == nil {
		return i > 0 && i <= len(v.args) && v.args[i-1]
	}
	switch {
	case name == "@" || name == "*":
		return slices.Contains(v.args, true)
	case strings.HasPrefix(name, "HOCKET_INPUT"):
		return len(v.inputs) > 0
	}
	return slices.Contains(v.inputs, name)
}

// executes finds the word through which a value would be run.
func (c *shellCommand) executes() (shellWord, danger) {
	if w := programWord(c.words); w.value {
		return w, asProgram
	}
	for i, w := range c.words {
		l := languageOf(w.text)
		if l == nil || w.value {
			continue
		}
		code, found := l.read(c.words[i+1:])
		if code.value {
			return code, asCode
		}
		if found {
			break // what follows is for the code
		}
	}
	return shellWord{}, harmless
}

// readsCode says whether a command takes the code that it runs from standard input.
func readsCode(words []shellWord) bool {
	for i, w := range words {
		if l := languageOf(w.text); l != nil {
			_, found := l.read(words[i+1:])
			return !found && l.stdin
		}
	}
	return false
}

// runners are programs that run the one that their arguments name: which of their options
// have a word of their own, and how many words stand before the program.
var runners = map[string]struct {
	takes  string
	before int
}{
	"env": {takes: "-u -C"}, "xargs": {takes: "-n -I -P -L -d -a -s -E"}, "nice": {takes: "-n"}, "ionice": {takes: "-c -n"}, "timeout": {takes: "-s -k", before: 1},
	"sudo": {takes: "-u -g -h -p -C"}, "doas": {takes: "-u -C"}, "nohup": {}, "setsid": {}, "stdbuf": {takes: "-i -o -e"}, "time": {takes: "-f -o"}, "chroot": {before: 1},
	"flock": {takes: "-w -E", before: 1}, "taskset": {before: 1}, "busybox": {}, "exec": {takes: "-a"}, "command": {}, "builtin": {}, "npx": {}, "strace": {takes: "-e -o -p"},
}

// programWord is the word that names the program which a command runs in the end, or one
// before it that decides about that.
func programWord(words []shellWord) shellWord {
	for len(words) > 0 {
		runner, ok := runners[path.Base(words[0].text)]
		if words[0].value || !ok {
			return words[0]
		}
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0].text, "-") || strings.Contains(words[0].text, "=")) {
			if words[0].value {
				return words[0]
			}
			n := 1
			if slices.Contains(strings.Fields(runner.takes), words[0].text) {
				n = 2
			}
			words = words[min(n, len(words)):]
		}
		words = words[min(runner.before, len(words)):]
	}
	return shellWord{}
}

// language is how a program that runs code is given it.
type language struct {
	names   string // of programs, a regular expression
	letters string // options with code behind them, which may stand behind others: -ec
	code    string // options with code behind them, in full
	takes   string // options with something else behind them
	before  int    // how many words that are no options stand before the code
	all     bool   // all words from there on are code
	options bool   // only options have code
	stdin   bool   // without any of these it takes the code from standard input
}

var languages = []*language{
	{names: `(ba|da|z|k|a|mk|fi)?sh`, letters: "c", takes: "-o +o -O +O --rcfile --init-file", stdin: true},
	{names: `(python|pypy)[0-9.]*`, letters: "cm", takes: "-W -X", stdin: true},
	{names: `perl[0-9.]*`, letters: "eE", stdin: true},
	{names: `(ruby|lua|luajit)[0-9.]*`, letters: "e", stdin: true},
	{names: `node|nodejs|bun|tsx|ts-node`, letters: "ep", code: "--eval --print", takes: "-r --require --import", stdin: true},
	{names: `deno`, code: "eval run"},
	{names: `php[0-9.]*`, letters: "rBRE", takes: "-d -c", stdin: true},
	{names: `(pwsh|powershell)(\.exe)?`, code: "-c -Command -command -EncodedCommand -File", stdin: true},
	{names: `Rscript|osascript`, letters: "e", stdin: true},
	{names: `mysql|mariadb`, letters: "e", code: "--execute", takes: "-h -P -u -D", options: true, stdin: true},
	{names: `psql`, letters: "c", code: "--command", takes: "-h -p -U -d -v -o", options: true, stdin: true},
	{names: `[gmn]?awk`, code: "-f -e --source", takes: "-v -F"},
	{names: `g?sed`, letters: "ef"},
	{names: `source|\.`},
	{names: `eval`, all: true},
	{names: `ssh`, takes: "-p -i -l -o -F -J -L -R -D -b -c -E -m -S -W -w", before: 1, all: true},
}

var languageNames = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, l := range languages {
		list = append(list, regexp.MustCompile("^("+l.names+")$"))
	}
	return list
})

func languageOf(program string) *language {
	name := path.Base(program)
	if i := slices.IndexFunc(languageNames(), func(r *regexp.Regexp) bool { return r.MatchString(name) }); i >= 0 {
		return languages[i]
	}
	return nil
}

// read looks for code in the arguments of a program that runs it, or for what says where
// the code is. It gives the word of it that has a value, and whether there is any code. A
// word with a value also counts where it could be an option.
func (l *language) read(args []shellWord) (value shellWord, found bool) {
	before := l.before
	for i := 0; i < len(args); i++ {
		text, isOption := args[i].text, len(args[i].text) > 1 && args[i].text[0] == '-'
		switch {
		case slices.Contains(strings.Fields(l.code), text) || l.isLetters(text):
			if found = found || i+1 < len(args); i+1 < len(args) && args[i+1].value {
				return args[i+1], true
			}
			if i+1 < len(args) && !strings.HasPrefix(args[i+1].text, "-") {
				i++
			}
		case slices.Contains(strings.Fields(l.takes), text):
			i++
		case text == "-" || l.stdin && text == "-s":
			return shellWord{}, found
		case isOption && args[i].value:
			return args[i], true
		case isOption || l.options:
		case found:
			return shellWord{}, true // what follows is for the code
		case before > 0:
			before--
		default:
			end := i + 1
			if l.all {
				end = len(args)
			}
			if j := slices.IndexFunc(args[i:end], func(w shellWord) bool { return w.value }); j >= 0 {
				value = args[i+j]
			}
			return value, true
		}
	}
	return shellWord{}, found
}

// isLetters says whether an option consists of letters of which the last has code behind it.
func (l *language) isLetters(option string) bool {
	return len(option) > 1 && option[0] == '-' && option[1] != '-' && l.letters != "" && strings.Contains(l.letters, option[len(option)-1:])
}
