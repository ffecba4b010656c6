package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// This file is what the check knows about programs: which ones run another program, and how
// interpreters receive their code.

// standardInput lists the names that programs accept for their standard input.
var standardInput = []string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}

// runner describes where the arguments of a program name the program that it runs.
type runner struct {
	takes  string // options that are followed by a value
	before int    // number of arguments before the name
	plain  bool   // none of its options runs anything
}

var container = runner{
	takes: "-e --env --env-file -u --user -w --workdir -v --volume -p --publish --name --network --mount -l --label -m --memory --cpus --platform --pull -h --hostname --add-host --tmpfs -n --namespace -c --container --entrypoint", before: 1, plain: true,
}

// runners are programs that run another one, which their arguments name. Some do so only in a
// subcommand, such as docker run.
var runners = map[string]runner{
	"env": {takes: "-u -C"}, "xargs": {takes: "-n -I -P -L -d -a -s -E"}, "nice": {takes: "-n"}, "ionice": {takes: "-c -n"}, "timeout": {takes: "-s -k", before: 1},
	"sudo": {takes: "-u -g -h -p -C"}, "doas": {takes: "-u -C"}, "nohup": {}, "setsid": {}, "stdbuf": {takes: "-i -o -e"}, "time": {takes: "-f -o"}, "chroot": {before: 1},
	"flock": {takes: "-w -E", before: 1}, "taskset": {before: 1}, "busybox": {}, "exec": {takes: "-a"}, "command": {}, "builtin": {}, "npx": {}, "strace": {takes: "-e -o -p"},
	"ltrace": {takes: "-e -o -p"}, "uvx": {}, "unshare": {}, "nsenter": {takes: "-t -S -G"}, "systemd-run": {takes: "-p -u --unit --property"}, "chpst": {takes: "-u -n"}, "caffeinate": {takes: "-t -w"},
	"ld.so": {}, "ld-linux-x86-64.so.2": {}, "ld-linux-aarch64.so.1": {}, "entr": {}, "coproc": {},
	"docker exec": container, "docker run": container, "podman exec": container, "podman run": container, "kubectl exec": container,
}

// program finds the program that a command finally runs. It returns the index of its word, and
// the word that decides which program it is, which may be another one.
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
			// env LANG=… does not change which program runs.
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

// language describes how an interpreter receives its code.
type language struct {
	names   string // regular expression for the names of its programs
	letters string // short options followed by code, which may be combined: -ec
	code    string // other options followed by code
	takes   string // options followed by something else
	before  int    // number of arguments before the code
	all     bool   // all arguments from there on are code
	options bool   // only options contain code
	within  bool   // an argument of another program may name it
	stdin   bool   // without any of these, it reads its code from standard input
	dash    bool   // it reads its code from standard input if the file is -
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

// taking lists, for programs that take code in a few arguments only, the words that precede the
// code. The code is the next word, or the rest of the same word if the entry ends with = or :. An
// entry that applies only to one subcommand has its name before it: rebase/-x.
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

// read returns the word that contains code which a program would run.
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
			joined := strings.HasSuffix(word, "=") || strings.HasSuffix(word, ":") || len(word) == 2 && word[0] == '-'
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

// read looks for code in the arguments of an interpreter, or for the argument that says where the
// code is. It returns the word of it that contains a value, and whether there is any code. A word
// with a value also counts if it could be an option.
func (l *language) read(args []shellWord) (code shellWord, found bool) {
	before, behind := l.before, false
	for i := 0; i < len(args); i++ {
		text, value, isOption := args[i].text, args[i].value, strings.HasPrefix(args[i].text, "-")
		switch {
		case args[i].many && !found:
			return args[i], true
		case slices.Contains(strings.Fields(l.code), text) || l.isLetters(text):
			if value { // joined to the option: -c"$x"
				return args[i], true
			}
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
		case !value && (slices.Contains(standardInput, text) || l.stdin && text == "-s"):
			return shellWord{}, found
		case isOption && value && !l.within:
			return args[i], true
		case isOption || l.options && !behind:
		case found:
			return shellWord{}, true // the remaining words are arguments of the code
		case before > 0:
			before--
		default:
			end := i + 1
			if l.all {
				end = len(args)
			}
			if j := slices.IndexFunc(args[i:end], func(w shellWord) bool { return w.value }); j >= 0 {
				code = args[i+j]
			}
			return code, true
		}
	}
	return shellWord{}, found
}

// isLetters reports whether an option consists of short options, the last of which is followed by
// code.
func (l *language) isLetters(option string) bool {
	return len(option) > 1 && option[0] == '-' && option[1] != '-' && l.letters != "" && strings.Contains(l.letters, option[len(option)-1:])
}
