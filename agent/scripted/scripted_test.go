package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/scripted"
	"github.com/hocket-dev/hocket/workflow"
)

func parse(t *testing.T, text string) *scripted.Replies {
	t.Helper()
	r, found := scripted.Parse("replies.yml", []byte(text))
	if len(found) > 0 {
		t.Fatalf("the replies of the test: %s", found)
	}
	return r
}

func TestParse(t *testing.T) {
	r := parse(t, `
evaluate:
  - '{"pass": false}'
  - {output: '{"pass": true}', delay: 50ms, cost_usd: 0.01, tokens_in: 10, tokens_out: 20}
flaky: [{error: boom}, {error: bad, permanent: true}, {error: slow down, retry_after: 2s}, fine]
approve: yes
price: 1.10
nothing: ''
word: null
long: |
  two
  lines
json: {output: {b: [1.50, yes, true], a: null}}
hang: {delay: 1h}
made: {files: {a/b.txt: "text\n", version: 2, gone: null}}
call/score#2: x
"*": ok
`)
	const want = `{"*":[{"output":"ok"}],"approve":[{"output":"yes"}],"call/score#2":[{"output":"x"}],` +
		`"evaluate":[{"output":"{\"pass\": false}"},{"output":"{\"pass\": true}","delay":50000000,"cost_usd":0.01,"tokens_in":10,"tokens_out":20}],` +
		`"flaky":[{"error":"boom"},{"error":"bad","permanent":true},{"error":"slow down","retry_after":2000000000},{"output":"fine"}],` +
		`"hang":[{"delay":3600000000000}],"json":[{"output":"{\"a\":null,\"b\":[1.50,\"yes\",true]}"}],"long":[{"output":"two\nlines\n"}],"made":[{"files":{"a/b.txt":"text\n","gone":null,"version":"2"}}],` +
		`"nothing":[{}],"price":[{"output":"1.10"}],"word":[{"output":"null"}]}`
	if diff := cmp.Diff(want, string(r.Encode())); diff != "" {
		t.Error(diff)
	}
	again, err := scripted.Decode(r.Encode())
	if err != nil || string(again.Encode()) != want {
		t.Errorf("decoded: %s, %v", again.Encode(), err)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a:", `r.yml:1:1: error[replies]: "a" has no reply; write a reply; an empty reply is ''`},
		{"a: []", `r.yml:1:4: error[replies]: "a" has no replies; write at least one reply, or remove the key`},
		{"a: [x, ]\nb: [y,\n  ~, [z]]", `r.yml:3:6: error[replies]: a list inside a list is not a reply; write JSON in quotes, or under ` + "`output`"},
		{"a: {pass: true}", `r.yml:1:4: error[replies]: this map is not a reply; put it under ` + "`output`, or in quotes"},
		{"a: {}", `r.yml:1:4: error[replies]: this map is not a reply; put it under ` + "`output`, or in quotes"},
		{"a: {outptu: x}", `r.yml:1:5: error[yaml-unknown-key]: unknown key "outptu"; did you mean "output"?`},
		{"a: {output: x, error: y}", `r.yml:1:5: error[replies]: an attempt can have an output or an error, not both; keep one of them`},
		{"a: {error: ''}", `r.yml:1:12: error[replies]: the error has no text; write what went wrong`},
		{"a: {permanent: true, output: x}", `r.yml:1:5: error[replies]: "permanent" applies to errors only; add ` + "`error`"},
		{"a: {error: x, permanent: true, retry_after: 1s}", `r.yml:1:32: error[replies]: a permanent error is not retried; keep one of them`},
		{"a: {output: x, delay: 5}", `r.yml:1:23: error[yaml-duration]: "5" is not a duration; write a number with its unit, such as 90s, 10m, 2h or 1h30m`},
		{"a: {output: x, tokens_in: -1}\nb: {output: x, cost_usd: much}", `r.yml:1:27: error[yaml-number]: "tokens_in" cannot be -1; write 0 or more` + "\n" + `r.yml:2:26: error[yaml-type]: "cost_usd" must be a number, not text`},
		{"a: {output: x, tokens_in: 9223372036854775807}", `r.yml:1:27: error[replies]: no attempt uses that many tokens; write fewer`},
		{"a#1: x", `r.yml:1:1: error[replies]: invalid address "a#1": the first iteration has no number; remove #1; a list of replies continues from one iteration to the next`},
		{"a#1#2: x\na#11: x\na[1]: x", ``},
		{"'': x", `r.yml:1:1: error[replies]: the key is empty; write the id of a node`},
		{"a: {files: {../b: x}}", `r.yml:1:13: error[replies]: invalid file: the path "../b" leaves the directory, or is not in its plain form; write a path in the directory of the step, such as docs/notes.md`},
		{"- a", `r.yml:1:1: error[yaml-type]: the file must be a map, not a list`},
		{"a: x\na: y", `r.yml:2:1: error[yaml-duplicate-key]: duplicate key "a"; remove one of them`},
		{"", ""},
	} {
		_, found := scripted.Parse("r.yml", []byte(c.text))
		if diff := cmp.Diff(c.want, found.String()); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{"", "[]", `{"a": []}`, `{"a": [{"outptu": "x"}]}`, `{"a": ["x"]}`} {
		if _, err := scripted.Decode([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// reply runs a script's reply to an attempt and returns it as text.
func reply(t *testing.T, s *scripted.Script, address, node string, attempt int) string {
	t.Helper()
	exec, ok := s.Task(address, node, attempt, false)
	if !ok {
		return "the real agent"
	}
	r, err := exec.Run(t.Context(), &agent.Task{}, func([]byte) {})
	if err != nil {
		return "error " + err.Error()
	}
	return r.Output
}

// play goes through a script of starts (address@attempt) and ends (-address), and returns
// the answers.
func play(t *testing.T, s *scripted.Script, script string) string {
	t.Helper()
	var said []string
	for step := range strings.FieldsSeq(script) {
		if address, ended := strings.CutPrefix(step, "-"); ended {
			s.Ended(address)
			continue
		}
		address, number, _ := strings.Cut(step, "@")
		var attempt int
		fmt.Sscan(number, &attempt)
		node := address[strings.LastIndexByte(address, '/')+1:]
		if cut := strings.IndexAny(node, "#["); cut > 0 {
			node = node[:cut]
		}
		said = append(said, reply(t, s, address, node, attempt))
	}
	return strings.Join(said, " ")
}

func TestWhichEntry(t *testing.T) {
	for _, c := range []struct{ name, replies, script, want string }{
		{"one entry repeats", `n: x`, "n@1 -n n@2 -n n@3", "x x x"},
		{"a list is used up, its last entry repeats", `n: [a, b]`, "n@1 -n n@2 -n n@3", "a b b"},
		{"a list goes on over iterations", `n: [a, b, c]`, "n@1 -n n#2@1 -n#2 n#2@2 -n#2 n#3@1", "a b c c"},
		{"a list goes from item to item", `n: [a, b, c, d]`, "n[0]@1 n[1]@1 n[2]@1 -n[0] n[0]@2", "a b c d"},
		{"an instance has its own list", `{n: [a, b, c], "n#2": [x, y]}`, "n@1 -n n#2@1 -n#2 n#2@2 -n#2 n#3@1", "a x y b"},
		{"the most exact key wins", `{n: id, call/n: path, "call/n#2": address, "*": other}`, "n@1 call/n@1 call/n#2@1 call/n#3@1 other/n@1 m@1", "id path address path id other"},
		{"a path is for all iterations of the call", `{call/n: [a, b]}`, "call/n@1 call#2/n@1", "a b"},
		{"the others share one list", `"*": [a, b, c]`, "n@1 m@1 n#2@1 k@1", "a b c c"},
		{"no entry", `m: x`, "n@1", "the real agent"},
		{"cut off by a crash", `n: [a, b]`, "n@1 n@1 n@1 -n n@2", "a a a b"},
		{"again after a quota", `n: [{error: wait, retry_after: 1s}, a]`, "n@1 -n n@1", "error wait a"},
		{"timed out, and the crash hid its end", `n: [a, b]`, "n@1 n@2 n@2", "a b b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := play(t, parse(t, c.replies).Script(), c.script); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestPeople(t *testing.T) {
	s := parse(t, `{approve: [no, {output: yes, delay: 2s}], "*": ok}`).Script()
	if got, _, ok := s.Person("other", "other"); ok {
		t.Errorf("a person answered from *: %s", got)
	}
	var said []string
	for _, address := range []string{"approve", "approve", "approve#2"} {
		answer, delay, ok := s.Person(address, "approve")
		said = append(said, fmt.Sprintf("%s %s %v", answer, delay, ok))
	}
	if got := strings.Join(said, " "); got != "no 0s true no 0s true yes 2s true" {
		t.Errorf("got %s", got)
	}
}

func TestReplyOfAnAttempt(t *testing.T) {
	r := scripted.Reply{Output: "x", CostUSD: 0.5, TokensIn: 1, TokensOut: 2}
	got, err := r.Run(t.Context(), &agent.Task{}, func([]byte) {})
	if want := (agent.Result{Output: "x", Usage: agent.Usage{CostUSD: 0.5, TokensIn: 1, TokensOut: 2}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = scripted.Reply{Error: "boom", Permanent: true, CostUSD: 0.5}.Run(t.Context(), &agent.Task{}, func([]byte) {})
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Message != "boom" || !failed.Permanent || failed.Kind != agent.Failed || got.Usage.CostUSD != 0.5 {
		t.Errorf("got %+v, %#v", got, err)
	}
	before := time.Now()
	_, err = scripted.Reply{Error: "later", RetryAfter: time.Minute}.Run(t.Context(), &agent.Task{}, func([]byte) {})
	if !errors.As(err, &failed) || failed.Kind != agent.Quota || failed.Until.Before(before.Add(time.Minute)) || time.Until(failed.Until) > time.Minute {
		t.Errorf("got %#v", err)
	}
}

// An attempt that fails leaves files, too. No reply reaches what is outside of the directory, or a repository of git.
func TestFilesOfAReply(t *testing.T) {
	text := "new\n"
	outside, dir := filepath.Join(t.TempDir(), "outside"), t.TempDir()
	if err := os.WriteFile(outside, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	r := scripted.Reply{Error: "boom", Files: map[string]*string{"a/b": &text, "old": nil}}
	if _, err := r.Run(t.Context(), &agent.Task{Dir: dir}, func([]byte) {}); err == nil || err.Error() != "boom" {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a/b")); err != nil || string(got) != text {
		t.Errorf("a/b is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("old is not deleted: %v", err)
	}
	for _, name := range []string{"../outside", outside, ".git/config", "a/.GIT/x", "link", "missing/../a"} {
		r := scripted.Reply{Files: map[string]*string{name: &text}}
		if _, err := r.Run(t.Context(), &agent.Task{Dir: dir}, func([]byte) {}); err == nil {
			t.Errorf("a reply wrote %s", name)
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "untouched" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
	if scripted.ChangesFiles(scripted.Reply{}) || !scripted.ChangesFiles(r) {
		t.Error("it is wrong which replies change files")
	}
}

func TestDelay(t *testing.T) {
	start := time.Now()
	if _, err := (scripted.Reply{Delay: 30 * time.Millisecond}).Run(t.Context(), &agent.Task{}, func([]byte) {}); err != nil || time.Since(start) < 30*time.Millisecond {
		t.Errorf("the reply came after %s, %v", time.Since(start), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := scripted.Reply{Delay: time.Hour}.Run(ctx, &agent.Task{}, func([]byte) {})
	var failed *agent.Error
	if !errors.As(err, &failed) || failed.Kind != agent.TimedOut {
		t.Errorf("got %v", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (scripted.Reply{}).Run(gone, &agent.Task{}, func([]byte) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled attempt gave a reply: %v", err)
	}
}

// What a task may hand off is covered only by "*", and its ids are no typos.
func TestCoversHandoffs(t *testing.T) {
	b := &workflow.Bundle{Root: &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{node("a", &workflow.Task{Handoffs: &workflow.Handoffs{To: []string{"x"}}})}}}}
	named := parse(t, `{a: x, handoff-1: y, "a/handoff-2": z}`)
	if named.CoversAll(b) || len(named.Strangers(b)) > 0 || !named.Answers("a/handoff-2") || named.Answers("a/handoff-3") {
		t.Error(named.Keys(), named.Strangers(b))
	}
	if all := parse(t, `{a: x, "*": y}`); !all.CoversAll(b) || !all.Answers("a/handoff-1") {
		t.Error("\"*\" does not cover it")
	}
	if got := named.Strangers(bundle()); len(got) != 2 {
		t.Errorf("strangers %q", got)
	}
}

func node(id string, step workflow.Step) workflow.Node { return workflow.Node{ID: id, Step: step} }

// bundle returns a workflow with the tasks a and b (in a loop), the gate g, and c in a
// called workflow.
func bundle() *workflow.Bundle {
	loop := &workflow.Loop{Body: workflow.Graph{Nodes: []workflow.Node{node("b", &workflow.Task{})}}}
	return &workflow.Bundle{
		Root: &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{
			node("a", &workflow.Task{}), node("loop", loop), node("g", &workflow.Human{}), node("call", &workflow.Call{Workflow: "other"}),
		}}},
		Called: map[string]*workflow.Workflow{"other": {Body: workflow.Graph{Nodes: []workflow.Node{node("c", &workflow.Task{})}}}},
	}
}

func TestCovers(t *testing.T) {
	b := bundle()
	for _, c := range []struct {
		replies     string
		task, gate  bool // of a, of g
		tasks       bool // all
		strangers   string
		cost        float64
		tokensOfOne int64
	}{
		{`{}`, false, false, false, "", 0, 0},
		{`a: {output: x, cost_usd: 2, tokens_in: 3, tokens_out: 4}`, true, false, false, "", 2, 7},
		{`{a: x, b: x, call/c: x}`, true, false, false, "", 0, 0},
		{`{a: x, b: x, c: x}`, true, false, true, "", 0, 0},
		{`{"*": [x, {output: y, cost_usd: 1}]}`, true, false, true, "", 1, 0},
		{`{a: {output: x, cost_usd: 2}, "a#2": {output: x, cost_usd: 3}, "*": {output: y, cost_usd: 9}}`, true, false, true, "", 3, 0},
		{`{"a#2": x, g: y}`, true, true, false, "", 0, 0},
		{`{aa: x, call/d: y, loop: z, "a[3]": x}`, true, false, false, "aa call/d loop", 0, 0},
	} {
		r := parse(t, c.replies)
		if r.CoversTask("a") != c.task || r.CoversPerson("g") != c.gate || r.CoversAll(b) != c.tasks {
			t.Errorf("%s: covers %v, %v, %v", c.replies, r.CoversTask("a"), r.CoversPerson("g"), r.CoversAll(b))
		}
		if got := strings.Join(r.Strangers(b), " "); got != c.strangers {
			t.Errorf("%s: strangers %q", c.replies, got)
		}
		if most := r.Bound(&workflow.Node{ID: "a", Step: &workflow.Task{}}, workflow.Free); most != (workflow.Budget{CostUSD: workflow.AtMost(c.cost), Tokens: workflow.AtMost(c.tokensOfOne)}) {
			t.Errorf("%s: at most %v", c.replies, most)
		}
	}
}

// Replies bound what a task may use, except in instances that its agent does.
func TestBound(t *testing.T) {
	node := &workflow.Node{ID: "a", Step: &workflow.Task{}}
	dollars := func(usd float64) workflow.Budget {
		return workflow.Budget{CostUSD: workflow.AtMost(usd), Tokens: workflow.AtMost(0)}
	}
	for replies, want := range map[string]workflow.Budget{
		`{}`:                                      dollars(5),
		`a: {output: x, cost_usd: 1}`:             dollars(1),
		`"a#2": {output: x, cost_usd: 1}`:         dollars(5),
		`"a#2": {output: x, cost_usd: 9}`:         dollars(9),
		`{"*": {output: x, cost_usd: 2}, b: "y"}`: dollars(2),
	} {
		if got := parse(t, replies).Bound(node, dollars(5)); got != want {
			t.Errorf("%s: %v, want %v", replies, got, want)
		}
	}
	if got := (*scripted.Replies)(nil).Bound(node, dollars(5)); got != dollars(5) {
		t.Errorf("without replies: %v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: x\n\"*\": [1, {error: y, permanent: true}, {output: {a: [b]}}]\ncall/b#2[3]: {delay: 1s}")
	f.Add("a: &x [b, c]\nd: *x\n? [e]\n: f")
	f.Add("a: {output: !!binary x}\nb: 0x1F\nc: .inf\nd: 2001-01-01")
	f.Fuzz(func(t *testing.T, text string) {
		r, found := scripted.Parse("r.yml", []byte(text))
		if found.Errors() {
			return
		}
		again, err := scripted.Decode(r.Encode())
		if err != nil || string(again.Encode()) != string(r.Encode()) {
			t.Fatalf("stored and read again: %v", err)
		}
		s := r.Script()
		for _, key := range r.Keys() {
			if _, ok := s.Task(key, key, 1, false); !ok {
				t.Errorf("no reply for %q", key)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"a":[{"output":"x","delay":5}],"*":[{}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := scripted.Decode([]byte(text))
		if err != nil {
			return
		}
		again, err := scripted.Decode(r.Encode())
		if err != nil || string(again.Encode()) != string(r.Encode()) {
			t.Fatalf("stored and read again: %v", err)
		}
	})
}

// The question of a choice is answered by its name, never by "*".
func TestQuestionsAreAnsweredByName(t *testing.T) {
	question := workflow.Node{ID: "good", Step: &workflow.Choice{Ask: &workflow.Task{}}}
	b := &workflow.Bundle{Root: &workflow.Workflow{Body: workflow.Graph{Nodes: []workflow.Node{node("a", &workflow.Task{}), question}}}}
	all, named := parse(t, `{"*": ok}`), parse(t, `{"*": ok, good: "no"}`)
	if _, ok := all.Script().Task("good#2", "good", 1, true); ok || all.Covers(&question) || all.CoversAll(b) {
		t.Error("a reply for every task answers a question")
	}
	if _, ok := named.Script().Task("good#2", "good", 1, true); !ok || !named.Covers(&question) || !named.CoversAll(b) || len(named.Strangers(b)) > 0 {
		t.Error("a question is not answered by its name")
	}
}

// A question takes a reply if the replies have one for its address that it offers.
func TestTakes(t *testing.T) {
	r := parse(t, "ok: [reject, approve]\nround/ok: maybe\nround#3/ok: [approve, maybe]\n\"*\": approve\n")
	options := []workflow.Option{{Value: "approve"}, {Value: "reject"}}
	for address, want := range map[string]bool{"ok": true, "round#2/ok": false, "round#3/ok": false, "other": false} {
		if got := r.Takes(address, address[strings.LastIndexByte(address, '/')+1:], options, false); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
	if !r.Takes("round#1/ok", "ok", options, true) {
		t.Error("a question that accepts any answer does not take one")
	}
}
