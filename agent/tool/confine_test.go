//go:build unix

package tool_test

import (
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/agenttest"
	"github.com/hocket-dev/hocket/agent/tool"
)

// confined creates a project whose home directory is next to it, with the given tools:
// their permissions and their lines of shell.
func confined(t *testing.T, o tool.Options, tools map[string][2]string) (*tool.Set, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"home/.ssh/key": "private", "home/.gitconfig": "[user]\nname = Ada", "home/data/x": "data", "project/src/x": "source", "project/out/x": "old"}
	for name, parts := range tools {
		files["project/.hocket/tools/"+name+"/tool.yml"] = "description: d\nkind: script\npermissions: {" + strings.ReplaceAll(parts[0], "DIR", dir) + "}\nscript: {file: run.sh, interpreter: sh}"
		files["project/.hocket/tools/"+name+"/run.sh"] = parts[1]
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"project/leak": "../home/.ssh", "project/src/leak": "../../home/.ssh/key"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	o.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=/nowhere"}
	s, found, err := tool.Load(filepath.Join(dir, "project"), o)
	if err != nil || found.Errors() {
		t.Fatal(err, found)
	}
	return s, dir
}

func enforced(t *testing.T) {
	t.Helper()
	s, _, err := tool.Load(t.TempDir(), tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Enforcement(); !e.Held {
		t.Skip(e.Why)
	}
}

func TestFilesOfPrograms(t *testing.T) {
	enforced(t)
	nothing, hint := "The tool may read nothing in the project, write nothing and reach no host.", "If it needs more, add `fs: {read: [PATH], write: [PATH]}` under `permissions` in .hocket/tools/"
	cases := map[string]struct {
		permissions, script string
		want                string
	}{
		"own_folder":   {"", "cat \"$HOCKET_TOOL/run.sh\" | wc -l", "0"},
		"no_project":   {"", "cat src/x", nothing + " " + hint + "no_project/tool.yml."},
		"no_home":      {"fs: [.]", "cat ~/.ssh/key", "The tool may read ., write nothing and reach no host. " + hint},
		"no_own_write": {"fs: [.]", "echo x >\"$HOCKET_TOOL/run.sh\"", hint},
		"reads":        {"fs: [src]", "cat src/x", "source"},
		"all":          {"fs: [.]", "cat src/x out/x", "sourceold"},
		"home_path":    {"fs: [~/data]", "cat ~/data/x", "data"},
		"other_path":   {"fs: [~/data]", "cat ~/.ssh/key", hint},
		"absolute":     {"fs: [DIR/home/data]", "cat ~/data/x", "data"},
		"above":        {"fs: [../home/data]", "cat ../home/data/x", "data"},
		"above_only":   {"fs: [../home/data]", "cat ../home/.ssh/key", hint},
		"far_above":    {"fs: [..]", "cat ../home/.ssh/key", "private"},
		"links":        {"fs: [src]", "cat src/leak", "ermission denied"},
		"leaks":        {"fs: [leak]", "echo ran", `fs names "leak", in which "leak" is a link to "../home/.ssh"; write the path without links in .hocket/tools/leaks/tool.yml`},
		"leaks_below":  {"fs: {write: [leak/key]}", "echo ran", `in which "leak" is a link`},
		"absent_read":  {"fs: [src, absent]", "cat src/x", "source"},
		"absent_write": {"fs: {write: [new]}", "echo ran", `fs names "new" for writing, which does not exist; create it, or write "new/" in .hocket/tools/absent_write/tool.yml`},
		"makes":        {"fs: {write: [deep/new/]}", "echo made >deep/new/x; cat deep/new/x", "made"},
		"is_file":      {"fs: {write: [src/x/]}", "echo ran", `fs names "src/x/", which cannot be used: not a directory`},
		"writes":       {"fs: {write: [out]}", "echo new >out/y; mkdir out/d; chmod 700 out/d; cat out/y", "new"},
		"reads_only":   {"fs: {read: [src], write: [out]}", "echo new >src/x", "The tool may read src, out, write out and reach no host."},
		"temp":         {"", "umask 777; mkdir $TMPDIR/locked; umask 0; mkdir -p $TMPDIR/a/b; chmod 500 $TMPDIR/a; echo $TMPDIR", "/hocket-tool-"},
		"git":          {"fs: [.]", "command -v git >/dev/null || { echo absent; exit; }; git config --get user.name || echo nobody", "nobody|absent"},
		"git_settings": {"fs: [., ~/.gitconfig]", "command -v git >/dev/null || { echo absent; exit; }; git config --get user.name", "Ada|absent"},
		"ordinary":     {"", "echo it went wrong >&2; exit 3", "exit status 3: it went wrong"},
	}
	tools := map[string][2]string{}
	for name, c := range cases {
		tools[name] = [2]string{c.permissions, c.script}
	}
	s, dir := confined(t, tool.Options{Sandbox: tool.SandboxRequired}, tools)
	for name, c := range cases {
		out, err := call(t, s, name, nil)
		got := out
		if err != nil {
			got = err.Error()
		}
		if !containsAny(got, strings.ReplaceAll(c.want, "DIR", dir)) || name == "ordinary" && strings.Contains(got, "permissions") {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
		if name == "temp" {
			if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("afterwards %s: %v", out, err)
			}
		}
	}
	for file, want := range map[string]string{"home/.ssh/key": "private", "project/src/x": "source"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
}

// A tool whose folder is a link can use its script, but not the files that the link leads
// to.
func TestLinkedFolder(t *testing.T) {
	enforced(t)
	s, dir := confined(t, tool.Options{}, map[string][2]string{"a": {"", "cat \"$HOCKET_TOOL\"/tool.yml || cat src/x"}})
	folder := filepath.Join(dir, "project/.hocket/tools/a")
	for _, file := range []string{tool.File, "run.sh"} {
		if err := os.Rename(filepath.Join(folder, file), filepath.Join(dir, "project", file)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(folder), os.Symlink("../..", folder)); err != nil {
		t.Fatal(err)
	}
	if out, err := call(t, s, "a", nil); err == nil || strings.Count(err.Error(), "ermission denied") != 2 {
		t.Error(out, err)
	}
}

func containsAny(text, wanted string) bool {
	for want := range strings.SplitSeq(wanted, "|") {
		if strings.Contains(text, want) {
			return true
		}
	}
	return false
}

func TestNetworkOfPrograms(t *testing.T) {
	enforced(t)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	server := echo(t)
	address := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := net.SplitHostPort(address)
	other := echo(t).URL
	const curl = "curl -sS -m 20 "
	cases := map[string]struct{ permissions, script, want string }{
		"none":      {"", curl + "HOST/echo/", "If it needs more, add `network: [HOST]` under `permissions` in .hocket/tools/none/tool.yml."},
		"named":     {"network: ['localhost:PORT']", curl + "http://localhost:PORT/echo/x", "GET /echo/x auth= "},
		"connect":   {"network: ['localhost:PORT']", curl + "-p http://localhost:PORT/echo/x", "GET /echo/x auth= "},
		"direct":    {"network: ['localhost:PORT']", curl + "--noproxy '*' http://localhost:PORT/echo/x", "GET /echo/x auth= "},
		"address":   {"network: [127.0.0.1]", curl + "--noproxy '*' HOST/echo/x", "GET /echo/x auth= "},
		"port":      {"network: ['localhost:PORT']", curl + "OTHER/echo/x", "may not connect to 127.0.0.1; its permissions allow localhost:PORT"},
		"direct_no": {"network: ['localhost:PORT']", curl + "--noproxy '*' OTHER/echo/x", "add `network: [127.0.0.1:"},
		"private":   {"network: true", curl + "-f HOST/echo/x", "reach every public host. If it needs more, add `network: [127.0.0.1:PORT]`"},
		"private_d": {"network: true", curl + "--noproxy '*' HOST/echo/x", "add `network: [127.0.0.1:PORT]`"},
		"denied":    {"network: [a.example]", curl + "https://b.example/", "add `network: [b.example]`"},
		"redirect":  {"network: ['localhost:PORT']", curl + "-L 'http://localhost:PORT/goto?to=OTHER/echo/'", "may not connect to 127.0.0.1"},
		"no_token":  {"network: ['localhost:PORT']", "p=${http_proxy##*@}; " + curl + "-x http://$p http://localhost:PORT/echo/x", "this proxy belongs to another program"},
		"python":    {"network: ['localhost:PORT']", "command -v python3 >/dev/null || { echo absent; exit; }; python3 -c 'import urllib.request as u; print(u.urlopen(\"http://localhost:PORT/echo/x\").read())'", "GET /echo/x|absent"},
		"git":       {"network: [a.example]", "command -v git >/dev/null || { echo absent; exit; }; git ls-remote https://b.example/x.git", "add `network: [b.example]`|absent"},
	}
	fill := strings.NewReplacer("[HOST]", "[HOST]", "HOST", server.URL, "OTHER", other, "PORT", port).Replace
	tools := map[string][2]string{}
	for name, c := range cases {
		tools[name] = [2]string{fill(c.permissions), fill(c.script)}
	}
	s, _ := confined(t, tool.Options{}, tools)
	for name, c := range cases {
		got, err := call(t, s, name, nil)
		if err != nil {
			got = err.Error()
		}
		if want := fill(c.want); !containsAny(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// Programs also use the proxy of this machine.
func TestProgramsGoThroughTheProxy(t *testing.T) {
	if os.Getenv("HOCKET_TEST_PROXY") == "" { // the variables are read once in a process
		enforced(t)
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		var mu sync.Mutex
		var seen []string
		proxy := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
			w.WriteHeader(http.StatusTeapot)
		})}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go proxy.Serve(l)
		defer proxy.Close()
		self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		self.Env = append(os.Environ(), "HOCKET_TEST_PROXY=1", "HTTP_PROXY=http://"+l.Addr().String(), "HTTPS_PROXY=http://u:p@"+l.Addr().String())
		out, err := self.CombinedOutput()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(seen)
		want := "CONNECT a.example:443 Basic dTpw|GET http://a.example/ "
		if err != nil || strings.Join(seen, "|") != want {
			t.Errorf("%v, the proxy saw %q, want %s\n%s", err, seen, want, out)
		}
		return
	}
	s, _ := confined(t, tool.Options{}, map[string][2]string{
		"plain":  {"network: [a.example]", "curl -sS -m 20 -o $TMPDIR/x -w '%{http_code}' http://a.example/"},
		"secure": {"network: [a.example]", "curl -sS -m 20 https://a.example/"},
		"inside": {"network: true", "curl -sSf -m 20 http://10.1.2.3/"},
	})
	for name, want := range map[string]string{"plain": "418", "secure": "It could not reach a.example (the proxy 127.0.0.1:", "inside": "add `network: [10.1.2.3]`"} {
		got, err := call(t, s, name, nil)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// If nothing confines a program, the log says so, once per attempt, unless a sandbox is required.
func TestNotEnforced(t *testing.T) {
	s, _ := confined(t, tool.Options{Sandbox: tool.SandboxNone}, map[string][2]string{"free": {"fs: {write: [made/here/]}", "cat ~/.ssh/key; echo >made/here/x; test -d \"$TMPDIR\" && rmdir \"$TMPDIR\""}})
	one, err := s.Tool("free")
	if err != nil {
		t.Fatal(err)
	}
	var log agenttest.Log
	for _, key := range []string{"a", "a", "b"} {
		if out, err := one.Call(t.Context(), nil, &agent.Task{Key: key, Agent: &agent.Definition{}}, log.Add); err != nil || out != "private" {
			t.Errorf("%s, %v", out, err)
		}
	}
	line := "the network and file permissions of tools are not enforced for programs: your own config.yml says `sandbox: none` under `tools`\n"
	if log.String() != line+line {
		t.Errorf("the log is %q", log.String())
	}
}
