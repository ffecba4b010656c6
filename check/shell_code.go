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
	variable  string    // that has a value and by which programs are found
	readsCode bool      // the program takes the code that it runs from standard input of the step
	fed       shellWord // code that the script itself gives to its standard input
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
	args, _ := t.Settings["args"].([]any)
	for _, arg := range args {
		v.args = append(v.args, refers(arg))
	}
	return v
}

// commands are those that a task runs: the one that it lists, or those in its script. What
// no shell can read has none.
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
			words = append(words, shellWord{workflow.FormatText(word), isMine && refers(word)})
		}
		return []*shellCommand{{words: words, readsCode: readsCode(words)}}
	case string:
		if mine {
			command = strings.ReplaceAll(command, "$${", "${")
		}
		return v.parse(command)
	}
	return nil
}

// parse finds the commands in the text of a script.
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
				list = append(list, v.call(n, call, fed[n]))
			}
		}
		return true
	})
	return list
}

// call reads a command of a script. fed is what a pipe gives it.
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

// text reads a word, or all words, of a part of a script. What only a run knows is left out
// of the text.
func (v *shellValues) text(part syntax.Node) (word shellWord) {
	var text strings.Builder
	known := 0 // how deep in what only a run knows
	var open []bool
	syntax.Walk(part, func(n syntax.Node) bool {
		if n == nil { // the end of one
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
	at, decides := program(c.words)
	if decides.value {
		return decides, asProgram
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
			return shellWord{}, harmless // what follows is for the code
		}
		// A word like another: only what follows shows that it is a program.
		only := *l
		only.options, only.within = true, true
		if code, _ := only.read(c.words[i+1:]); code.value {
			return code, asCode
		}
	}
	return shellWord{}, harmless
}

// readsCode says whether a command takes the code that it runs from standard input.
func readsCode(words []shellWord) bool {
	at, _ := program(words)
	if at >= len(words) {
		return false
	}
	l := languageOf(words[at].text)
	if l == nil || !l.stdin {
		return false
	}
	_, found := l.read(words[at+1:])
	return !found
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

// program finds the program that a command runs in the end: where its word is, and the word
// that decides which one it is, should that not be the same.
func program(words []shellWord) (at int, decides shellWord) {
	for at < len(words) {
		runner, ok := runners[path.Base(words[at].text)]
		if words[at].value || !ok {
			return at, words[at]
		}
		for at++; at < len(words); at++ {
			name, _, assigns := strings.Cut(words[at].text, "=")
			option := strings.HasPrefix(name, "-")
			if !option && !assigns {
				break
			}
			// env LANG=… changes no program.
			if words[at].value && (option || strings.Contains(name, "$") || name == "" || startsPrograms(name)) {
				return at, words[at]
			}
			if slices.Contains(strings.Fields(runner.takes), words[at].text) {
				at++
			}
		}
		at += runner.before
	}
	return at, shellWord{}
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
	within  bool   // it is named by an argument of another program, maybe
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
	{names: `watch`, takes: "-n", all: true},
	{names: `trap|parallel`, takes: "-j -n"},
	{names: `su|script|flock`, letters: "c", code: "--command", options: true},
	{names: `find|fd`, code: "-exec -execdir -ok -okdir -x -X --exec --exec-batch", options: true},
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
	if program == "" {
		return nil
	}
	if i := slices.IndexFunc(languageNames(), func(r *regexp.Regexp) bool { return r.MatchString(name) }); i >= 0 {
		return languages[i]
	}
	return nil
}

// read looks for code in the arguments of a program that runs it, or for what says where
// the code is. It gives the word of it that has a value, and whether there is any code. A
// word with a value also counts where it could be an option.
func (l *language) read(args []shellWord) (value shellWord, found bool) {
	before, behind := l.before, false
	for i := 0; i < len(args); i++ {
		text, isOption := args[i].text, len(args[i].text) > 1 && args[i].text[0] == '-'
		switch {
		case slices.Contains(strings.Fields(l.code), text) || l.isLetters(text):
			if i+1 < len(args) && args[i+1].value {
				return args[i+1], true
			}
			if i+1 < len(args) && !strings.HasPrefix(args[i+1].text, "-") {
				found = true
				i++
			}
			behind = true // a shell takes more options before the code
		case slices.Contains(strings.Fields(l.takes), text):
			i++
		case text == "-" || l.stdin && text == "-s":
			return shellWord{}, found
		case isOption && args[i].value && !l.within:
			return args[i], true
		case isOption || l.options && !behind:
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
