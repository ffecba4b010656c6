package check

import (
	"slices"
	"strings"
	"testing"
)

// words splits a command at its blanks. X is a value of the run.
func words(command string) []shellWord {
	var list []shellWord
	for _, text := range strings.Fields(command) {
		before, value := strings.CutSuffix(text, "X")
		list = append(list, shellWord{text: before, value: value})
	}
	return list
}

// executed are commands that run the value X, one for every program that the rule knows.
const executed = `
X
/usr/X
env X
env -u A X
env -C / X
env A=1 X
env -X
xargs -n 1 X
xargs -I % sh -c X
nice -n 3 X
ionice -c 3 X
timeout 5 X
timeout -s KILL 5 X
sudo -u me X
doas -u me X
nohup X
setsid X
stdbuf -o 0 X
time -f %e X
chroot /srv X
flock lock X
flock -w 3 lock X
taskset 1 X
busybox X
exec -a name X
command X
builtin X
npx X
strace -e open X
ltrace -o file X
uvx X
unshare X
nsenter -t 1 X
systemd-run -p A=1 X
chpst -u me X
caffeinate -t 3 X
/lib/ld.so X
ld-linux-x86-64.so.2 X
ld-linux-aarch64.so.1 X
entr X
coproc X
docker exec box X
docker exec -u me box X
docker run image X
podman exec box X
podman run -v a:b image X
kubectl exec pod -- X
sudo docker exec box sh -c X
sh -c X
bash -c X
dash -c X
zsh -c X
ksh -c X
ash -c X
mksh -c X
fish -c X
tcsh -c X
csh -c X
rbash -c X
bash -ec X
bash -o pipefail -c X
bash --rcfile X
sh X
python3 -c X
python3.12 -c X
pypy -c X
python -W ignore -c X
python3 -m X
perl -e X
perl -E X
ruby -e X
lua5.4 -e X
luajit -e X
node -e X
node -p X
node --eval X
nodejs --require X
bun -e X
tsx -e X
ts-node -e X
deno eval X
deno run X
php -r X
php -d a=b -r X
pwsh -c X
powershell.exe -Command X
Rscript -e X
osascript -e X
julia -E X
tclsh -c X
expect -c X
cmd /c X
cmd.exe /K X
mysql -e X
mariadb --execute X
mysql -h host -e X
psql -c X
psql -U me --command X
awk X
awk -v a=b X
gawk -f X
mawk --source X
nawk X
sed X
sed -e X
gsed -f X
source X
. X
eval X
eval echo X
watch X
watch -n 3 ls X
alias X
alias a=b X
trap X
unset X
parallel X
parallel -j 3 X
make -f X
gmake --eval X
make -C dir --makefile X
su -c X
runuser --command X
script -c X
flock -c X
find . -exec X
find . -execdir X
fd -x X
fd --exec-batch X
ssh host X
ssh -p 22 host ls X
git -c X
git --exec-path=X
git rebase -x X
git bisect run X
git submodule foreach X
git filter-branch --tree-filter X
git grep -OX
git clone -u X
tar -I X
tar --to-command=X
tar --checkpoint-action=X
rsync -e X
rsync --rsh=X
scp -S X
scp -o ProxyCommand=X
ssh -o ProxyCommand=X
ssh -oLocalCommand=X
sftp -b X
go test -exec X
go vet -vettool=X
cargo --config X
make SHELL=X
make CC=X
npm exec -c X
npm exec -- X
split --filter=X
sort --compress-program X
zip -TT X
socat EXEC:X
socat system:X
ncat -e X
ncat --sh-exec=X
nc -c X
man -P X
vim -c X
vi --cmd X
nvim -l X
ex -S X
emacs --eval X
gdb -ex X
docker run --entrypoint X image
sudo docker run --entrypoint X image
tar -IX
rsync -eX
podman run --entrypoint=X
wget -e X
curl -K X
printf -v X
mapfile -C X
readarray -C X
test -v X
[ -v X
complete -C X
bind -x X
enable -f X
awk -l X
gawk -i X
openssl dgst -engine X
`

// unharmed are commands that only receive the value.
const unharmed = `
echo X
cat -- X
sh -c code X
sh -c code name X
bash script.sh X
env LANG=X ls
env ls X
timeout 5 ls X
docker exec -e A=X box ls
docker exec box ls X
kubectl exec pod ls X
python3 -c code X
python3 script.py X
node script.js X
perl -e code X
awk code X
sed -e code X
mysql -h X
psql -d X
find X -name a
fd a X
ssh host -p 22
git -C X status
git commit -m X
git rebase X
tar -xf X
rsync a X
go test -run X
npm run X
make -j 3 X
make -C X
printf %s X
curl X
vim X
watch -n X ls
parallel -j X ls
sort X
`

func TestExecutedValues(t *testing.T) {
	for command := range strings.Lines(strings.TrimSpace(executed)) {
		if _, danger := (&shellCommand{words: words(command)}).executes(); danger == harmless {
			t.Errorf("%q is harmless", strings.TrimSpace(command))
		}
	}
	for command := range strings.Lines(strings.TrimSpace(unharmed)) {
		if w, danger := (&shellCommand{words: words(command)}).executes(); danger != harmless {
			t.Errorf("%q runs %q", strings.TrimSpace(command), w.text)
		}
	}
}

// A program reads its code from standard input if nothing else says where the code is.
func TestReadsCode(t *testing.T) {
	for command, want := range map[string]bool{
		"sh": true, "bash -s a": true, "sh -": true, "env sh": true, "sh script.sh": false, "sh -c code": false, "sh -c code arg": false, "sh -c X": false, "sh -X": false, "sh X": false, "python3": true, "python3 -": true, "python3 a.py": false,
		"perl": true, "ruby": true, "node": true, "php": true, "pwsh": true, "julia": true, "tclsh": true, "cmd": true, "mysql": true, "mysql -e code": false, "psql": true, "psql -c code": false,
		"awk -f -": true, "awk code": false, "sed -f -": true, "source -": true, "source a": false, "make -f -": true, "make": false, "parallel": true, "parallel ls": false,
		"at now": true, "batch": true, "crontab": true, "ssh host": true, "ssh host ls": false, "ssh host bash": true, "cat": false, "": false, "find .": false, "deno": false, "eval": false, "watch sh": false,
	} {
		if readsCode(words(command)) != want {
			t.Errorf("%q reads code: %v", command, !want)
		}
	}
}

// executedScripts are scripts that run the input v or the argument $1 of a step.
const executedScripts = `
$v
"$1" x
${v} x
exec $v
[[ v -eq 3 ]]
[[ v -ne 3 ]]
[[ v -le 3 ]]
[[ v -ge 3 ]]
[[ v -lt 3 ]]
[[ v -gt 3 ]]
[[ 3 -eq $1 ]]
[[ -v $v ]]
[[ -R $v ]]
(( v ))
(( $1 ))
(( HOCKET_INPUT_v ))
echo $((1 + v))
let v+1
echo ${a[v]}
echo ${x:v}
echo ${x:0:v}
echo ${!v}
echo ${v@P}
a[v]=1
a=([v]=1)
declare "$v"
PATH=$v ls
export PATH=$v
echo "$v" | sh
echo "$v" |& bash
echo $v | tee log | sh
sh <<< "$v"
sh < "$v"
sh <<E
$v
E
sh <<-E
	$v
E
bash <(echo "$v")
sh -c "$v"
python3 -c"$v"
perl -"$v"
sh -"$1"
sh -s"$v"
find . -exec python3 -c"$v" {} +
$HOME/bin/sh -c "$v"
$(dirname "$HOME")/python3 -c "$v"
sh -c 'eval "$1"' sh "$v"
bash -o pipefail -c 'exec $0' "$v"
bash +e -c 'sh -c "$v"'
sh --norc -c 'eval $v'
sh -ec 'eval $v'
sh -c -e 'eval $v'
sh -c 'eval "$@"' sh a "$v"
sh -c 'eval "$*"' sh "$v"
eval "$HOCKET_INPUT_v"
eval "$@"
`

// unharmedScripts are scripts that only use the values, and one that no shell can parse.
const unharmedScripts = `
echo $v "$1" $0 $2 $-1
[[ $v == 3 && -n $v && v -ef x ]]
echo $(( 1 + ${#v} + $(wc -l <"$v") ))
echo $((x + 1)) ${a[1]} "${a[@]}" ${a[*]}
echo ${v:0:3} ${v@Q} ${v:-x} ${a[0]} ${!x}
a[0]=$v
declare x="$v"
LANG=$v ls
echo "$v" | cat
sh -c 'echo "$1"' sh "$v"
sh -c 'eval "$1"' sh a "$v"
sh -c 'eval $0' sh "$v"
sh script.sh "$v"
sh --color script.sh 'eval $v'
sh -x script.sh 'eval $v'
sh -o c script.sh 'eval $v'
echo "$v" | sh script.sh
sh script.sh <<< "$v"
sh <<< "$x"
sh < x
cat <<< "$v"
echo "$v" > sh
eval $x $HOME $2
if
`

func TestScripts(t *testing.T) {
	runs := func(script string) bool {
		v := &shellValues{inputs: []string{"v"}, args: []bool{false, true}}
		return slices.ContainsFunc(v.parse(script), func(c *shellCommand) bool {
			_, danger := c.executes()
			return danger != harmless || c.variable != ""
		})
	}
	for _, script := range scripts(executedScripts) {
		if !runs(script) {
			t.Errorf("%q is harmless", script)
		}
	}
	for _, script := range scripts(unharmedScripts) {
		if runs(script) {
			t.Errorf("%q runs a value", script)
		}
	}
}

// scripts splits a list of scripts. A script is a line, or ends with the line E.
func scripts(text string) (list []string) {
	open := false
	for _, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		if open {
			list[len(list)-1] += "\n" + line
		} else {
			list = append(list, line)
		}
		open = (open || strings.HasSuffix(line, "E")) && line != "E"
	}
	return list
}

func TestVariablesThatStartPrograms(t *testing.T) {
	for name, want := range map[string]bool{
		"MAKEFILES": true, "GNUMAKEFLAGS": true, "GIT_SEQUENCE_EDITOR": true, "GIT_AUTHOR_NAME": false, "PYTHONUSERBASE": true, "DOTNET_STARTUP_HOOKS": true, "PSQL_PAGER": true,
		"XDG_STATE_HOME": true, "XDG_CONFIG_HOME": true, "HOCKET_X": true, "RUSTC": true, "LD": true, "CC": true, "CXX": true, "GOENV": true, "CARGO_HOME": true, "GIT_SSH_COMMAND": true,
		"PATH": true, "LD_PRELOAD": true, "DYLD_INSERT_LIBRARIES": true, "BASH_FUNC_ls%%": true, "GIT_CONFIG_COUNT": true, "npm_config_script_shell": true, "NPM_CONFIG_SCRIPT_SHELL": true,
		"LANG": false, "MY_PATH": false, "PATHS": false, "BUILD_": false, "": false,
	} {
		if startsPrograms(name) != want {
			t.Errorf("%s starts programs: %v", name, !want)
		}
	}
}

func TestShorten(t *testing.T) {
	forty := strings.Repeat("ä", 40)
	for text, want := range map[string]string{"": "", " a\n b": "a", forty: forty, forty + "ä": forty[:2*39] + "…"} {
		if got := shorten(text); got != want {
			t.Errorf("%q is shortened to %q, want %q", text, got, want)
		}
	}
}
