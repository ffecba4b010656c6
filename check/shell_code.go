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
	many  bool   // it is any number of words
}

// shellCommand is a program with its arguments.
type shellCommand struct {
	words     []shellWord
	variable  string    // that has a value and by which programs are found
	readsCode bool      // the program takes the code that it runs from standard input of the step
	fed       shellWord // code that the script itself gives to its standard input
	evaluated shellWord // what the shell itself takes for code, as in $((x)): x may be a[$(date)]
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
	args   []bool   // which of the arguments, the name of the script being the first
	any    bool     // all arguments are one value
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

// inner are the commands of the script that a shell among the words of a command is given:
// sh -c 'wc "$1"' sh x.
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

// evaluated is what a shell takes for code in a part of a script, though it looks like a
// number or a name.
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
		if n.Index != nil {
			add(n.Index)
		}
		if n.Slice != nil {
			add(n.Slice.Offset, n.Slice.Length)
		}
		if n.Excl || n.Exp != nil && n.Exp.Op == syntax.OtherParamOps && n.Exp.Word != nil && n.Exp.Word.Lit() == "P" {
			w = shellWord{text: n.Param.Value, value: v.holds(n.Param.Value)}
		}
	case *syntax.Assign:
		if n.Index != nil {
			add(n.Index)
		}
		if n.Naked && n.Name == nil && n.Value != nil { // declare "$x"
			return v.text(n.Value)
		}
	case *syntax.ArrayElem:
		if n.Index != nil {
			add(n.Index)
		}
	}
	for _, part := range parts {
		if part == nil {
			continue
		}
		syntax.Walk(part, func(n syntax.Node) bool {
			name := ""
			switch n := n.(type) {
			case *syntax.Lit:
				name = n.Value
			case *syntax.ParamExp:
				name = n.Param.Value
				if n.Length {
					return false
				}
			case *syntax.CmdSubst:
				return false
			}
			if name != "" && v.holds(name) {
				w = shellWord{text: name, value: true}
			}
			return true
		})
	}
	return w
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
		return i > 0 && v.any || i >= 0 && i < len(v.args) && v.args[i]
	}
	switch {
	case name == "@" || name == "*":
		return v.any || len(v.args) > 0 && slices.Contains(v.args[1:], true)
	case strings.HasPrefix(name, "HOCKET_INPUT"):
		return len(v.inputs) > 0
	}
	return slices.Contains(v.inputs, name)
}

// executes finds the word through which a value would be run.
func (c *shellCommand) executes() (shellWord, danger) {
	if c.evaluated.value {
		return c.evaluated, asCode
	}
	at, decides := program(c.words)
	if decides.value {
		return decides, asProgram
	}
	if at < len(c.words) {
		if code := takers.read(c.words[at:]); code.value {
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
				return shellWord{}, harmless // what follows is for the code
			}
			continue
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
	l, rest := languageOf(words[at].text), words[at+1:]
	if l == nil || !l.stdin && !(l.dash && slices.ContainsFunc(rest, func(w shellWord) bool { return slices.Contains(standardInput, w.text) })) {
		return false
	}
	if _, found := l.read(rest); !found {
		return true
	}
	for i := range rest { // ssh host bash
		if other := languageOf(rest[i].text); l.all && other != nil && other.stdin && readsCode(rest[i:]) {
			return true
		}
	}
	return false
}

// standardInput are the names of the file that a program is given.
var standardInput = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

type runner struct {
	takes  string
	before int
	plain  bool // no option of it runs anything
}

var container = runner{
	takes: "-e --env --env-file -u --user -w --workdir -v --volume -p --publish --name --network --mount -l --label -m --memory --cpus --platform --pull -h --hostname --add-host --tmpfs -n --namespace -c --container", before: 1, plain: true,
}

// runners are programs that run the one that their arguments name: which of their options
// have a word of their own, and how many words stand before the program. Of some it is one
// of their commands that does.
var runners = map[string]runner{
	"env": {takes: "-u -C"}, "xargs": {takes: "-n -I -P -L -d -a -s -E"}, "nice": {takes: "-n"}, "ionice": {takes: "-c -n"}, "timeout": {takes: "-s -k", before: 1},
	"sudo": {takes: "-u -g -h -p -C"}, "doas": {takes: "-u -C"}, "nohup": {}, "setsid": {}, "stdbuf": {takes: "-i -o -e"}, "time": {takes: "-f -o"}, "chroot": {before: 1},
	"flock": {takes: "-w -E", before: 1}, "taskset": {before: 1}, "busybox": {}, "exec": {takes: "-a"}, "command": {}, "builtin": {}, "npx": {}, "strace": {takes: "-e -o -p"},
	"ltrace": {takes: "-e -o -p"}, "uvx": {}, "unshare": {}, "nsenter": {takes: "-t -S -G"}, "systemd-run": {takes: "-p -u --unit --property"}, "chpst": {takes: "-u -n"}, "caffeinate": {takes: "-t -w"},
	"ld.so": {}, "ld-linux-x86-64.so.2": {}, "ld-linux-aarch64.so.1": {}, "entr": {}, "coproc": {},
	"docker exec": container, "docker run": container, "podman exec": container, "podman run": container, "kubectl exec": container,
}

// program finds the program that a command runs in the end: where its word is, and the word
// that decides which one it is, should that not be the same.
func program(words []shellWord) (at int, decides shellWord) {
	for at < len(words) {
		name := path.Base(words[at].text)
		runner, ok := runners[name]
		if !ok && at+1 < len(words) {
			if runner, ok = runners[name+" "+words[at+1].text]; ok {
				at++
			}
		}
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
			if words[at].value && !runner.plain && (option || strings.Contains(name, "$") || name == "" || startsPrograms(name)) {
				return at, words[at]
			}
			if slices.Contains(strings.Fields(runner.takes), words[at].text) {
				at++
			}
		}
		if at += runner.before; at < len(words) && words[at].text == "--" {
			at++
		}
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
	dash    bool   // it does so where it is told to, with a file called -
}

var shells = &language{names: `(ba|da|z|k|a|mk|fi|tc|c|rba)?sh`, letters: "c", takes: "-o +o -O +O", code: "--rcfile --init-file", stdin: true}

var languages = []*language{
	shells,
	{names: `(python|pypy)[0-9.]*`, letters: "cm", takes: "-W -X", stdin: true},
	{names: `perl[0-9.]*`, letters: "eE", stdin: true},
	{names: `(ruby|lua|luajit)[0-9.]*`, letters: "e", stdin: true},
	{names: `node|nodejs|bun|tsx|ts-node`, letters: "ep", code: "--eval --print -r --require --import", stdin: true},
	{names: `deno`, code: "eval run"},
	{names: `php[0-9.]*`, letters: "rBRE", takes: "-d -c", stdin: true},
	{names: `(pwsh|powershell)(\.exe)?`, code: "-c -Command -command -EncodedCommand -File", stdin: true},
	{names: `Rscript|osascript|julia`, letters: "eE", stdin: true},
	{names: `tclsh[0-9.]*|expect`, letters: "c", stdin: true},
	{names: `cmd(\.exe)?`, code: "/c /C /k /K", stdin: true},
	{names: `mysql|mariadb`, letters: "e", code: "--execute", takes: "-h -P -u -D", options: true, stdin: true},
	{names: `psql`, letters: "c", code: "--command", takes: "-h -p -U -d -v -o", options: true, stdin: true},
	{names: `[gmn]?awk`, code: "-f -e --source", takes: "-v -F", dash: true},
	{names: `g?sed`, letters: "ef", dash: true},
	{names: `source|\.`, dash: true},
	{names: `eval`, all: true},
	{names: `watch`, takes: "-n", all: true},
	{names: `alias`, all: true},
	{names: `trap|unset`},
	{names: `parallel`, takes: "-j -n", stdin: true},
	{names: `at|batch|crontab`, options: true, stdin: true},
	{names: `make|gmake`, code: "-f --file --makefile --eval", takes: "-C -j -o -W", options: true, within: true, dash: true},
	{names: `su|runuser|script|flock`, letters: "c", code: "--command", options: true},
	{names: `find|fd`, code: "-exec -execdir -ok -okdir -x -X --exec --exec-batch", options: true},
	{names: `ssh`, takes: "-p -i -l -o -F -J -L -R -D -b -c -E -m -S -W -w", before: 1, all: true, stdin: true},
}

// taking are programs that have a few arguments with code and many without. What they run
// stands behind a word, or in the same word behind what this ends with: = or :. A word
// that counts only for a command of the program has that before it: rebase/-x.
type taking map[string]string

var takers = taking{
	"git": `-c --config-env --exec-path= --upload-pack= --upload-pack --receive-pack= --receive-pack --exec= rebase/-x rebase/--exec clone/-u fetch/-u bisect/run submodule/foreach
		--tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --open-files-in-pager= grep/-O clone/--config difftool/-x difftool/--extcmd`,
	"tar":    `-I --use-compress-program --use-compress-program= --to-command --to-command= --checkpoint-action --checkpoint-action= -F --info-script= --new-volume-script= --rsh-command=`,
	"rsync":  `-e --rsh --rsh= --rsync-path --rsync-path=`,
	"scp":    `-S ProxyCommand= LocalCommand=`,
	"ssh":    `ProxyCommand= LocalCommand= KnownHostsCommand= -oProxyCommand= -oLocalCommand= -oKnownHostsCommand= -F`,
	"sftp":   `-S -b ProxyCommand= -oProxyCommand=`,
	"go":     `-exec -exec= -toolexec -toolexec= -vettool= -overlay=`,
	"cargo":  `--config`,
	"make":   `SHELL= MAKEFLAGS= CC= --eval=`,
	"npm":    `exec/-c exec/--call --script-shell= --node-options= exec/--`,
	"split":  `--filter --filter=`,
	"sort":   `--compress-program --compress-program=`,
	"zip":    `-TT --unzip-command`,
	"socat":  `EXEC: exec: SYSTEM: system: SHELL: shell:`,
	"ncat":   `-c -e --sh-exec --exec --sh-exec= --exec= --lua-exec`,
	"nc":     `-c -e`,
	"man":    `-P --pager --pager= -H`,
	"vim":    `-c --cmd -S -s`,
	"vi":     `-c --cmd -S`,
	"nvim":   `-c --cmd -S -l`,
	"ex":     `-c --cmd -S`,
	"emacs":  `--eval --eval= --execute --execute= -l --load -f --funcall --script`,
	"gdb":    `-ex -iex -x -ix --eval-command --eval-command= --command --command=`,
	"docker": `--entrypoint --entrypoint=`,
	"podman": `--entrypoint --entrypoint=`,
	"wget":   `-e --execute --execute= --use-askpass= --config=`,
	"curl":   `-K --config --config= --engine`,
	"printf": `-v`, "mapfile": `-C`, "readarray": `-C`, "test": `-v`, "[": `-v`, "complete": `-C`, "bind": `-x`, "enable": `-f`,
	"awk": `-l -i`, "gawk": `-l -i`, "openssl": `-engine -provider -config`,
}

// read gives the word with a value that a program would run.
func (t taking) read(words []shellWord) shellWord {
	code, known := t[path.Base(words[0].text)]
	if !known {
		return shellWord{}
	}
	args := words[1:]
	if i := slices.IndexFunc(args, func(w shellWord) bool { return w.many }); i >= 0 {
		return args[i]
	}
	for entry := range strings.FieldsSeq(code) {
		command, word, only := strings.Cut(entry, "/")
		if !only {
			command, word = "", entry
		}
		for i, arg := range args {
			within := command == "" || slices.ContainsFunc(args[:i], func(w shellWord) bool { return w.text == command })
			joined := strings.HasSuffix(word, "=") || strings.HasSuffix(word, ":") || len(word) == 2 && word[0] == '-' && arg.text != word
			switch {
			case !within:
			case joined && arg.value && strings.HasPrefix(arg.text, word):
				return arg
			case arg.text == word && i+1 < len(args) && args[i+1].value:
				return args[i+1]
			}
		}
	}
	return shellWord{}
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
		case args[i].many && !found:
			return args[i], true
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
		case slices.Contains(standardInput, text) || l.stdin && text == "-s":
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
