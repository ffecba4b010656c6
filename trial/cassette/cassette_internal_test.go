package cassette

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
)

func sample() *Cassette {
	return &Cassette{Workflow: "fix", Interactions: []Interaction{
		{Address: "scan[2]/look", Attempt: 1, Request: Request{Prompt: "Who?", Labels: []string{"yes", "no"}}, Reply: Reply{Output: "yes\n\na comment", Took: 24 * time.Hour}},
		{
			Address: "fix", Attempt: 2,
			Request: Request{
				Agent: "coder", Executor: "claude", Model: "m", System: "Be brief.\n", Prompt: "  Fix\n\n# a: b\n", Base: "sha256:1",
				Settings: map[string]any{"a": []any{"x", nil, true}, "n": plain(1.50), "empty": map[string]any{}}, Schema: map[string]any{"type": "object"},
				Tools: []string{"grep", "mcp git"}, Labels: []string{"pass"},
			},
			Reply: Reply{
				Usage: agent.Usage{CostUSD: 0.125, CostUnknown: true, TokensIn: 3, TokensOut: 4}, Took: 90 * time.Second, Decision: "pass",
				Error: &Failure{Kind: agent.Quota, Message: "used\nup", Permanent: true, RetryAfter: time.Hour},
				Files: []Change{
					{Path: "a.txt", Was: "sha256:2", Deleted: true},
					{Path: "b/c.bin", Content: []byte{0, 1, 2, 255}, Executable: true},
					{Path: "d.txt", Content: []byte("no newline")},
					{Path: "e.txt", Content: []byte("  spaces\n\ttabs\n\n\n")},
					{Path: "empty.txt", Content: []byte{}},
				},
			},
		},
		{Address: "fix", Attempt: 1, Reply: Reply{Error: &Failure{Kind: Cancelled}}},
	}}
}

func TestTextIsReadBack(t *testing.T) {
	c := sample()
	text := c.Text()
	got, found := Read("c.yml", text)
	if len(found) > 0 {
		t.Fatalf("%s\n%s", found, text)
	}
	ignore := cmpopts.IgnoreFields(Interaction{}, "Pos")
	if diff := cmp.Diff(c, got, ignore, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if again := got.Text(); string(again) != string(text) {
		t.Errorf("%s\nbecomes\n%s", text, again)
	}
	if got.Interactions[0].Address != "fix" || got.Interactions[0].Attempt != 1 {
		t.Error("the interactions are not ordered")
	}
}

// What JSON and YAML cannot hold has the same digest before and after it was stored.
func TestTextThatIsNotUTF8IsReadBack(t *testing.T) {
	c := &Cassette{Interactions: []Interaction{{Address: "a", Attempt: 1, Request: Request{Agent: "coder", Prompt: "a \xff", Tools: []string{"b \xff", "c"}}}}}
	if _, found := Read("c.yml", c.Text()); len(found) > 0 {
		t.Errorf("%s\n%s", found, c.Text())
	}
}

// What steps began with is stored once, with what is different for others; what no request names is not stored.
func TestBasesAreReadBack(t *testing.T) {
	first, second, third := Files{"a b.txt": {Content: []byte("a")}, "run.sh": {nil, true}}, Files{"a b.txt": {Content: []byte("b")}, "c.txt": {}, "d.txt": {}}, Files{"alice.txt": {}}
	c := &Cassette{Bases: Bases{}}
	for _, f := range []Files{first, second, third} {
		c.Bases[f.Digest()] = f.Listing()
	}
	for _, f := range []Files{first, second, first, {}} {
		c.Interactions = append(c.Interactions, Interaction{Address: "a", Attempt: 1, Request: Request{Agent: "coder", Base: f.Digest()}})
	}
	text := string(c.Text())
	if strings.Count(text, "a b.txt:") != 2 || !strings.Contains(text, "run.sh: null") || strings.Contains(text, "alice") {
		t.Error(text)
	}
	got, found := Read("c.yml", []byte(text))
	delete(c.Bases, third.Digest())
	if diff := cmp.Diff(c.Bases, got.Bases); diff != "" || len(found) > 0 {
		t.Error(diff, found)
	}
	for digest, list := range got.Bases {
		if list.Digest() != digest {
			t.Errorf("%s has the digest %s", digest, list.Digest())
		}
	}
	if err := c.Check(Private{User: "alice"}); err != nil {
		t.Errorf("what is not stored: %v", err)
	}
	c.Bases[third.Digest()] = third.Listing()
	c.Interactions[0].Request.Base = third.Digest()
	if err := c.Check(Private{User: "alice"}); err == nil || !strings.Contains(err.Error(), "the name of the file alice.txt at the start of a step contains your user name") {
		t.Error(err)
	}
}

func TestEditedRequestIsRefused(t *testing.T) {
	text := strings.Replace(string(sample().Text()), "Be brief.", "Be long.", 1)
	_, found := Read("c.yml", []byte(text))
	if len(found) != 1 || found[0].Line == 0 || !strings.Contains(found[0].Summary, "does not have this digest") {
		t.Errorf("got %v", found)
	}
}

func TestPlaceholders(t *testing.T) {
	began := time.Now().Add(-time.Minute)
	p := &Places{Run: "fix-1a2b3c4d", Dir: "/tmp/t/work", State: "/tmp/t", Since: began}
	now := began.Add(10 * time.Second)
	text := "fix-1a2b3c4d in /tmp/t/work/a.txt and /tmp/t/log at " + now.UTC().Format(time.RFC3339) + " on localhost:49321, not localhost:8080, 2001-01-01T00:00:00Z or ⟨dir⟩"
	want := "⟨run⟩ in ⟨dir⟩/a.txt and ⟨state⟩/log at ⟨time⟩ on localhost:⟨port⟩, not localhost:8080, 2001-01-01T00:00:00Z or ⟨open⟩dir⟩"
	got := p.Hide(text)
	if got != want {
		t.Errorf("got %s", got)
	}
	other := &Places{Run: "fix-9z", Dir: "/work", State: "/state", Since: began}
	if shown := other.Show(got); !strings.HasPrefix(shown, "fix-9z in /work/a.txt and /state/log at ") || !strings.HasSuffix(shown, " or ⟨dir⟩") || other.Hide(shown) != got {
		t.Errorf("got %s", shown)
	}
}

func TestWordsThatArePrivate(t *testing.T) {
	for user, texts := range map[string]map[string]int{
		"ada": {
			"/home/ada/x": 2, "/home/adam": 0, "Canada": 0, "by ada.": 1, "ADA": 0, "ada_x": 0, "a-ada-b": 1, "": 0,
			"file:%2Fhome%2Fada%2Fx": 2, "%252fhome%252fada": 2, `{"dir": "\/home\/ada\/x"}`: 2, `"\u002fhome\u002fada"`: 2, "%2Fhome%2Fadam": 0, `a\nada`: 1, "100%": 0,
			"/data/home/ada": 2, "/mnt/people/17": 1, "%2Fmnt%2Fpeople%2F17": 1, "/mnt/people/170": 0,
		},
		"alice": {"Alice": 1, "ALICE_PC": 1, "backup_alice.tar": 1, "malice": 0, "Alices": 0, "to%3Dalice": 1, "alice2": 0},
		"":      {"/home/ada": 1, "/mnt/people/17": 1},
		"admin": {"admin": 0, "ADMIN_X": 0}, "Owner": {"the owner": 0}, "me": {"me": 0},
	} {
		p := Private{Homes: []string{"/home/ada", "/mnt/people/17"}, User: user}
		for text, want := range texts {
			found := p.in(text)
			if len(found) != want {
				t.Errorf("%s: %q: %d found", user, text, len(found))
			}
			for what, has := range found {
				if lineOf("first\n"+text, has) != 2 && !strings.Contains(text, "\n") {
					t.Errorf("%s: %s is not found in the line %q", user, what, text)
				}
			}
		}
	}
	if found := (Private{User: "root", Homes: []string{"/", "."}}).in("root of / and /root"); len(found) != 0 {
		t.Errorf("found %v", found)
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	for _, name := range []string{"inv\xff", "inv\xff/a"} {
		dir := t.TempDir()
		if os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755) != nil || os.WriteFile(filepath.Join(dir, name), nil, 0o644) != nil {
			t.Skip("the file system has no such names")
		}
		if _, err := ReadFiles(dir); err == nil || !strings.Contains(err.Error(), `the name "inv\xff" is not UTF-8`) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	for _, path := range []string{"", ".", "..", "../a", "a/../b", "/a", "a/", "./a", "a//b", ".git", ".git/config", "a/.GIT/x", ".git./x", "git~1/x", `a\b`, "C:/x", "a\x00b", "a/.git "} {
		if projectfile.CheckPath(path) == nil {
			t.Errorf("%q is accepted", path)
		}
	}
	for _, path := range []string{"a", "a/b.txt", ".gitignore", ".github/x.yml", "..a", "ünï"} {
		if err := projectfile.CheckPath(path); err != nil {
			t.Error(err)
		}
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("inside", filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "target"), filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"out/x", "in/x", "file", "in"} {
		if err := Apply(dir, []Change{{Path: path, Content: []byte("x")}}, nil); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, d := range []string{outside, inside} {
		if left, _ := os.ReadDir(d); len(left) > 0 {
			t.Errorf("%s has files", d)
		}
	}
	if _, err := ReadFiles(dir); err == nil || !strings.Contains(err.Error(), "is a link or another special file") {
		t.Errorf("links are read: %v", err)
	}
}

func TestChangesAreApplied(t *testing.T) {
	before := Files{"a": {Content: []byte("1")}, "b": {Content: []byte("2")}, "c/d": {Content: []byte("3")}}
	after := Files{"a": {Content: []byte("1"), Executable: true}, "c/d": {Content: []byte{0, 1}}, "e/f/g": {Content: nil}}
	dir := t.TempDir()
	if err := Apply(dir, Files{}.Changes(before), nil); err != nil {
		t.Fatal(err)
	}
	changes := before.Changes(after)
	if err := Apply(dir, changes, nil); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFiles(dir)
	if diff := cmp.Diff(after, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got.Digest() != after.Digest() || got.Digest() == before.Digest() {
		t.Error("digests")
	}
	if err := Apply(dir, changes, nil); err == nil {
		t.Error("changes of other files are applied")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(string(sample().Text()))
	f.Add("cassette: 1\ninteractions: [{reply: {files: [{path: ../x, text: a}]}}]")
	f.Fuzz(func(t *testing.T, text string) {
		c, found := Read("c.yml", []byte(text))
		if found.Errors() {
			return
		}
		for _, i := range c.Interactions {
			for _, change := range i.Reply.Files {
				if projectfile.CheckPath(change.Path) != nil {
					t.Errorf("accepts %q", change.Path)
				}
			}
		}
		again, wrong := Read("c.yml", c.Text())
		if wrong.Errors() {
			t.Fatalf("%v\n%s", wrong, c.Text())
		}
		if diff := cmp.Diff(c, again, cmpopts.IgnoreFields(Interaction{}, "Pos"), cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
