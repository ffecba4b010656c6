package session_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/disktest"
	"github.com/hocket-dev/hocket/session"
)

const writerVariable = "SESSION_TEST_WRITER"

// TestMain is also the second process of a test, which adds to a session.
func TestMain(m *testing.M) {
	name := os.Getenv(writerVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := addMany(session.Open(os.Args[1]), os.Args[2], name); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

const many = 10

func addMany(s *session.Store, id, name string) error {
	for i := range many {
		said := []agent.Message{{Role: agent.RoleUser, Content: fmt.Sprintf("%s %d", name, i)}}
		_, err := s.Append(id, said, func(now *session.Session) { now.Spent.TokensIn++ })
		if err != nil {
			return err
		}
	}
	return nil
}

func create(t *testing.T, s *session.Store) *session.Session {
	t.Helper()
	made, err := s.Create("reviewer", "claude")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestSyncedBeforeReplaced(t *testing.T) {
	disktest.Unsynced(t, func() {
		dir := t.TempDir()
		if made, err := session.Open(dir).Create("reviewer", "claude"); err == nil {
			t.Errorf("the session %s was written without a sync", made.ID)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*.json")); len(files) > 0 {
			t.Errorf("there are %v", files)
		}
	})
}

func TestConversationComesBack(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	made := create(t, s)
	if !regexp.MustCompile(`^task-[0-9a-f]{8}$`).MatchString(made.ID) {
		t.Errorf("the id is %q", made.ID)
	}
	said := []agent.Message{{Role: agent.RoleUser, Content: "hi\n<b>"}, {Role: agent.RoleAssistant, Content: "ho \u202e \x00"}}
	usage := agent.Usage{CostUSD: 0.5, CostUnknown: true, TokensIn: 3, TokensOut: 4}
	want, err := s.Append(made.ID, said, func(now *session.Session) {
		now.Remember("claude", usage, &agent.Conversation{Native: "abc", Spent: usage})
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{made.ID, made.ID[:9], strings.TrimPrefix(made.ID, "task-")} {
		got, err := session.Open(dir).Load(id)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: loaded %+v, want %+v", id, got, want)
		}
	}
	if len(want.Messages) != 2 || want.Messages[0].At.IsZero() || want.Messages[0].Content != said[0].Content {
		t.Errorf("the messages are %+v", want.Messages)
	}
	if c := want.Conversation("claude"); c == nil || c.Native != "abc" || c.Spent != usage {
		t.Errorf("the conversation is %+v", c)
	}
}

// Usage is counted for every executor. An executor's own memory of a conversation is
// valid only for that executor, and only until another one has continued the
// conversation.
func TestSeveralExecutorsInOneConversation(t *testing.T) {
	s := session.Open(t.TempDir())
	id := create(t, s).ID
	own := func(native string, cents float64) *agent.Conversation {
		return &agent.Conversation{Native: native, Dir: "/in/" + native, Spent: agent.Usage{CostUSD: cents, TokensIn: 1}}
	}
	for _, turn := range []struct {
		executor string
		used     agent.Usage
		gave     *agent.Conversation
		spent    agent.Usage
		claude   string // what claude may resume afterwards
	}{
		{"claude", agent.Usage{CostUSD: 1, TokensIn: 10}, own("c-1", 1), agent.Usage{CostUSD: 1, TokensIn: 10}, "c-1"},
		{"llm", agent.Usage{CostUSD: 2, TokensOut: 5}, nil, agent.Usage{CostUSD: 3, TokensIn: 10, TokensOut: 5}, ""},
		{"claude", agent.Usage{CostUnknown: true}, own("c-2", 4), agent.Usage{CostUSD: 3, CostUnknown: true, TokensIn: 10, TokensOut: 5}, "c-2"},
		{"codex", agent.Usage{}, own("x-1", 9), agent.Usage{CostUSD: 3, CostUnknown: true, TokensIn: 10, TokensOut: 5}, ""},
	} {
		got, err := s.Append(id, nil, func(now *session.Session) { now.Remember(turn.executor, turn.used, turn.gave) })
		if err != nil || got.Spent != turn.spent || got.Executor != turn.executor {
			t.Errorf("after %s: %+v, %v", turn.executor, got, err)
		}
		if got, err = s.Load(id); err != nil {
			t.Fatal(err)
		}
		c := got.Conversation("claude")
		if (c != nil) != (turn.claude != "") || c != nil && (c.Native != turn.claude || c.Dir != "/in/"+turn.claude || c.Spent != turn.gave.Spent) {
			t.Errorf("after %s claude may take up %+v", turn.executor, c)
		}
	}
}

// A file written by a newer version is left unchanged.
func TestANewerFileIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	file := filepath.Join(dir, "sessions", create(t, s).ID+".json")
	id := strings.TrimSuffix(filepath.Base(file), ".json")
	text := fmt.Sprintf(`{"version": 99, "session_id": %q, "messages": {"by": "branch"}}`, id)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, loads := s.Load(id)
	_, appends := s.Append(id, []agent.Message{{Role: "user", Content: "x"}}, nil)
	_, broken, err := s.List()
	if err != nil || len(broken) != 1 {
		t.Fatalf("%v, %v", broken, err)
	}
	for _, err := range []error{loads, appends, broken[0]} {
		var newer *session.NewerError
		if !errors.As(err, &newer) || !strings.Contains(err.Error(), "newer version") || !strings.Contains(newer.Hint(), "update") {
			t.Errorf("it gives %v", err)
		}
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != text {
		t.Errorf("the file became %s, %v", now, err)
	}
}

func TestTheFileIsThatOfTheFormat(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	made := create(t, s)
	data, err := os.ReadFile(filepath.Join(dir, "sessions", made.ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"session_id": "` + made.ID, `"agent_name": "reviewer"`, `"agent_cli": "claude"`, `"created_at": "20`, `"messages": []`, `"version": 1`} {
		if !strings.Contains(string(data), key) {
			t.Errorf("no %s in\n%s", key, data)
		}
	}
}

func TestFilesArePrivateAndNoneIsLeft(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	made := create(t, s)
	if _, err := s.Append(made.ID, []agent.Message{{Role: "user", Content: "x"}}, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "sessions"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("there are %v, %v", entries, err)
	}
	if runtime.GOOS == "windows" {
		return // Windows files have no modes
	}
	for path, want := range map[string]os.FileMode{"sessions": 0o700, "sessions/" + made.ID + ".json": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	id := create(t, s).ID
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", "c"}
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(func() { // another process
			cmd := exec.Command(self, dir, id)
			cmd.Env = append(os.Environ(), writerVariable+"="+name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		group.Go(func() { // and another goroutine
			if err := addMany(s, id, name+name); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got, err := s.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	for _, m := range got.Messages {
		var name string
		var n int
		if _, err := fmt.Sscanf(m.Content, "%s %d", &name, &n); err != nil || n != next[name] {
			t.Fatalf("message %q, and %d of %s came before", m.Content, next[name], name)
		}
		next[name]++
	}
	if total := 2 * len(names) * many; len(got.Messages) != total || got.Spent.TokensIn != int64(total) {
		t.Errorf("%d messages and %d tokens, want %d", len(got.Messages), got.Spent.TokensIn, total)
	}
}

func TestABrokenFileHidesNoOther(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	if all, broken, err := s.List(); len(all)+len(broken) > 0 || err != nil {
		t.Errorf("before there is any: %v, %v, %v", all, broken, err)
	}
	first, second := create(t, s), create(t, s)
	if _, err := s.Append(first.ID, nil, func(now *session.Session) { now.ID = "../other" }); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "sessions", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("task-00000000.json", `{"session_id": "task-0000`)
	write("task-00000001.json", `{"session_id": "task-99999999"}`)
	write("notes.json", `{}`)
	write("task-0000000g.json", `{}`)
	write("task-00000002.lock", ``)
	all, broken, err := s.List()
	if err != nil || len(all) != 2 || len(broken) != 2 {
		t.Fatalf("%v, %v, %v", all, broken, err)
	}
	if ids := []string{all[0].ID, all[1].ID}; !reflect.DeepEqual(ids, []string{first.ID, second.ID}) {
		t.Errorf("the order is %v", ids)
	}
	for i, want := range []string{"task-00000000.json is damaged (unexpected end of JSON input)", `it contains session "task-99999999"`} {
		if !strings.Contains(broken[i].Error(), want) {
			t.Errorf("%v does not say %q", broken[i], want)
		}
	}
	var damage *session.BrokenError
	if _, err := s.Load("task-00000000"); !errors.As(err, &damage) || !strings.Contains(damage.Hint(), "sessions delete task-00000000") {
		t.Errorf("loading it gives %v", err)
	}
	if _, err := s.Append("task-00000000", nil, nil); !errors.As(err, &damage) {
		t.Errorf("adding to it gives %v", err)
	}
	if id, err := s.Delete("00000000"); id != "task-00000000" || err != nil {
		t.Errorf("deleting it gives %q, %v", id, err)
	}
}

func TestIDsFromOutside(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	create(t, s)
	create(t, s)
	outside := filepath.Join(dir, "task-12345678.json")
	if err := os.WriteFile(outside, []byte(`{"session_id": "../task-12345678"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var unknown *session.UnknownError
	for _, id := range []string{"", "task-", "../task-12345678", "task-12345678", "/etc/passwd", "..", "*", "task-\x00", "task-zzzzzzzz", strings.Repeat("a", 1<<16)} {
		if _, err := s.Load(id); !errors.As(err, &unknown) {
			t.Errorf("Load(%.20q) gives %v", id, err)
		}
		if _, err := s.Append(id, nil, nil); !errors.As(err, &unknown) {
			t.Errorf("Append(%.20q) gives %v", id, err)
		}
		if _, err := s.Delete(id); !errors.As(err, &unknown) {
			t.Errorf("Delete(%.20q) gives %v", id, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	_, err := s.Load("task-")
	if !errors.As(err, &unknown) || len(unknown.Candidates) != 2 || !strings.Contains(err.Error(), "ambiguous session") {
		t.Errorf("an ambiguous id gives %v", err)
	}
}

func TestDeletedIsGone(t *testing.T) {
	s := session.Open(t.TempDir())
	id := create(t, s).ID
	if _, err := s.Delete(id); err != nil {
		t.Fatal(err)
	}
	var unknown *session.UnknownError
	if _, err := s.Load(id); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "unknown session") {
		t.Errorf("loading it gives %v", err)
	}
}

// A file left by a crash while writing is reused by the next writer.
func TestWhatACrashLeftDoesNoHarm(t *testing.T) {
	dir := t.TempDir()
	s := session.Open(dir)
	id := create(t, s).ID
	for _, name := range []string{id + ".new", id + ".lock"} {
		if err := os.WriteFile(filepath.Join(dir, "sessions", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Append(id, []agent.Message{{Role: "user", Content: "x"}}, nil)
	if err != nil || len(got.Messages) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"session_id": "task-00000000", "messages": [{"role": "user"}]}`), "task-0")
	f.Add([]byte(`[]`), "../x")
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sessions"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sessions", "task-00000000.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := session.Open(dir).Load(id)
		if err == nil && got.ID != "task-00000000" {
			t.Errorf("%q is session %q", id, got.ID)
		}
	})
}

func TestTakeBeginsOrGoesOn(t *testing.T) {
	s := session.Open(t.TempDir())
	id := session.IDFor("run-1\x00review")
	if id != session.IDFor("run-1\x00review") || id == session.IDFor("run-2\x00review") {
		t.Error("a name has not one id of its own")
	}
	first, err := s.Take(id, "writer", "llm")
	if err != nil || first.ID != id {
		t.Fatalf("Take = %+v, %v", first, err)
	}
	if _, err := s.Append(id, []agent.Message{{Role: agent.RoleUser, Content: "hello"}}, nil); err != nil {
		t.Fatal(err)
	}
	again, err := s.Take(id, "another", "cli")
	if err != nil || len(again.Messages) != 1 || again.Agent != "writer" {
		t.Errorf("Take = %+v, %v", again, err)
	}
	if _, err := s.Take("../../etc", "writer", "llm"); err == nil {
		t.Error("something that is no id was taken")
	}
}
