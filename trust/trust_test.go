package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/trust"
)

var (
	server = trust.Power{Kind: trust.Server, What: "starts the MCP server m: ./evil.sh", Where: ".hocket/config.yml:3", Material: "abc"}
	key    = trust.Power{Kind: trust.Address, What: "sends the key OWL to https://owl.example", Where: ".hocket/config.yml:1"}
	hooks  = trust.Power{Kind: trust.Settings, What: "claude uses .claude", Material: "123"}
	now    = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
)

// The digest depends on what the powers are, not on where they are written.
func TestDigest(t *testing.T) {
	one := trust.Powers{server, key}
	moved := server
	moved.Where = "elsewhere:9"
	if got := (trust.Powers{key, moved, key}).Digest(); got != one.Digest() {
		t.Error("order, place or repetition change the digest")
	}
	changed := server
	changed.Material = "def"
	for _, other := range []trust.Powers{nil, {key}, {server, key, hooks}, {changed, key}} {
		if other.Digest() == one.Digest() {
			t.Errorf("%v has the same digest", other)
		}
	}
	// The content of one part of a power cannot be mistaken for another part.
	a, b := trust.Power{Kind: "x", What: "1\n1 y", Material: ""}, trust.Power{Kind: "x", What: "1", Material: "y"}
	if (trust.Powers{a}).Digest() == (trust.Powers{b}).Digest() {
		t.Error("two powers have one digest")
	}
}

func TestDiff(t *testing.T) {
	changed := server
	changed.Material = "def"
	got := trust.Powers{changed, hooks}.Diff(trust.Powers{server, key}).String()
	want := "~ starts the MCP server m: ./evil.sh  (.hocket/config.yml:3)\n+ claude uses .claude\n- sends the key OWL to https://owl.example  (.hocket/config.yml:1)\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if (trust.Powers{key}).Exceeds(trust.Powers{server, key}) || !(trust.Powers{changed}).Exceeds(trust.Powers{server, key}) {
		t.Error("Exceeds")
	}
}

func decide(t *testing.T, s *trust.Store, root string, powers trust.Powers, given string, granted ...trust.Kind) trust.Decision {
	t.Helper()
	d, err := s.Decide(root, powers, given, granted...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecide(t *testing.T) {
	home := t.TempDir()
	s := trust.Open(home)
	powers := trust.Powers{server, key}
	d := decide(t, s, "/clone", powers, "")
	err := d.Untrusted("/clone", powers)
	if d.Trusted || err == nil || !strings.Contains(err.Error(), "in a terminal") || !strings.Contains(err.Error(), server.What) || !strings.Contains(err.Error(), powers.Digest()) {
		t.Errorf("%+v: %v", d, err)
	}
	if d := decide(t, s, "/clone", powers, powers.Digest()); !d.Trusted {
		t.Error("the digest of CI does not count")
	}
	if d := decide(t, s, "/clone", append(powers, hooks), powers.Digest()); d.Trusted {
		t.Error("the digest of other powers counts")
	}
	if _, err := s.Approve("/clone", powers, "me", now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why    string
		root   string
		powers trust.Powers
		want   bool
	}{
		{"the same", "/clone", powers, true},
		{"fewer", "/clone", trust.Powers{key}, true},
		{"none", "/clone", nil, true},
		{"more", "/clone", append(powers, hooks), false},
		{"moved", "/moved", powers, false},
		{"moved, and without powers", "/moved", nil, false},
	} {
		if d := decide(t, s, c.root, c.powers, ""); d.Trusted != c.want {
			t.Errorf("%s: %+v", c.why, d)
		}
	}
	// A later approval adds to earlier ones.
	if _, err := s.Approve("/clone", trust.Powers{hooks}, "me", now); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, s, "/clone", append(powers, hooks), ""); !d.Trusted {
		t.Error("a second approval takes the first away")
	}
	// If the files of a power change, only the new ones are approved.
	changed := server
	changed.Material += "2"
	if _, err := s.Approve("/clone", trust.Powers{changed}, "me", now); err != nil {
		t.Fatal(err)
	}
	if !decide(t, s, "/clone", trust.Powers{key, changed, hooks}, "").Trusted || decide(t, s, "/clone", trust.Powers{server}, "").Trusted {
		t.Error("the old files are still approved, or the new ones are not")
	}
	if had, err := s.Revoke("/clone", now); !had || err != nil {
		t.Error(had, err)
	}
	if d := decide(t, s, "/clone", powers, ""); d.Trusted {
		t.Error("it is trusted after all")
	}
	if at, err := s.Revoked("/clone"); !at.Equal(now) || err != nil {
		t.Error(at, err)
	}
	// Approved again with fewer powers, the project is trusted; the earlier approval
	// stays revoked.
	for range 2 {
		if _, err := s.Approve("/clone", trust.Powers{key}, "me", now); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := s.Revoked("/clone"); !at.Equal(now) || err != nil || !decide(t, s, "/clone", trust.Powers{key}, "").Trusted || decide(t, s, "/clone", powers, "").Trusted {
		t.Error(at, err)
	}
}

// A run without powers starts, but is not trusted. A run that only has settings for CLI
// agents starts too, and reports what it does without.
func TestGoesOn(t *testing.T) {
	s := trust.Open(t.TempDir())
	if d := decide(t, s, "/clone", nil, ""); d.Trusted || d.Untrusted("/clone", nil) != nil || d.Left() != "" {
		t.Errorf("%+v", d)
	}
	if d := decide(t, s, "/clone", trust.Powers{hooks}, ""); d.Trusted || d.Untrusted("/clone", nil) != nil || !strings.Contains(d.Left(), hooks.What) {
		t.Errorf("%+v %q", d, d.Left())
	}
	if d := decide(t, s, "/clone", trust.Powers{key}, "", trust.Address); d.Trusted || d.Untrusted("/clone", nil) != nil {
		t.Errorf("what the user grants everywhere is missing: %+v", d)
	}
}

// Approval files are private, and one that was tampered with does not count.
func TestFiles(t *testing.T) {
	home := t.TempDir()
	s := trust.Open(home)
	if _, err := s.Approve("/clone", trust.Powers{key}, "me", now); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "hocket", "trust")
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, files[0]: 0o600} {
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], []byte(strings.Replace(string(text), "owl.example", "evil.example", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Decide("/clone", trust.Powers{key}, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// Older versions wrote digests of half the length. What they approved is asked for again.
func TestOldDigests(t *testing.T) {
	home := t.TempDir()
	s := trust.Open(home)
	if _, err := s.Approve("/clone", trust.Powers{key}, "me", now); err != nil {
		t.Fatal(err)
	}
	parts := trust.Parts{{Name: "a", Text: "b"}}
	approve := func(d *trust.Definitions) error {
		d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "plan", Digest: parts.Digest(), Parts: parts}, trust.Verdict{ID: "bad", Digest: parts.Digest(), Rejected: true})
		return nil
	}
	if err := s.ChangeDefinitions("/clone", approve); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(home, "hocket", "trust", "*.*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, regexp.MustCompile(`sha256:[0-9a-f]{64}`).ReplaceAllStringFunc(string(text), func(d string) string { return d[:39] }))
	}
	if d := decide(t, s, "/clone", trust.Powers{key}, ""); d.Trusted || len(d.Missing) != 1 || len(files) != 2 {
		t.Errorf("%+v %q", d, files)
	}
	if all, err := s.List(); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	d, err := s.Definitions("/clone")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Last("plan"); ok {
		t.Error("the old approval counts")
	}
	if v, ok := d.Last("bad"); !ok || !v.Rejected {
		t.Error("the rejection is forgotten")
	}
	// They can be approved again.
	if _, err := s.Approve("/clone", trust.Powers{key}, "me", now); err != nil || !decide(t, s, "/clone", trust.Powers{key}, "").Trusted {
		t.Error(err)
	}
	if err := s.ChangeDefinitions("/clone", approve); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A linked worktree with the same digest is trusted if its repository is. A clone whose
// .git file merely claims to be a worktree is not.
func TestWorktrees(t *testing.T) {
	base := t.TempDir()
	s := trust.Open(filepath.Join(base, "state"))
	repo, tree, liar, powers := filepath.Join(base, "repo"), filepath.Join(base, "tree"), filepath.Join(base, "liar"), trust.Powers{key}
	write(t, filepath.Join(repo, ".git", "HEAD"), "ref: refs/heads/main\n")
	for _, dir := range []string{tree, liar} {
		write(t, filepath.Join(dir, ".git"), "gitdir: "+filepath.Join(repo, ".git", "worktrees", "tree")+"\n")
	}
	write(t, filepath.Join(repo, ".git", "worktrees", "tree", "gitdir"), filepath.Join(tree, ".git")+"\n")
	if _, err := s.Approve(filepath.Join(repo, "app"), powers, "me", now); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root   string
		powers trust.Powers
		want   bool
	}{
		{filepath.Join(tree, "app"), powers, true},
		{filepath.Join(tree, "app"), nil, false}, // another digest
		{tree, powers, false},                    // another place in it
		{filepath.Join(liar, "app"), powers, false},
	} {
		if d := decide(t, s, c.root, c.powers, ""); d.Trusted != c.want {
			t.Errorf("%s with %d powers: %+v", c.root, len(c.powers), d)
		}
	}
	// Each list that was approved counts there.
	if _, err := s.Approve(filepath.Join(repo, "app"), trust.Powers{server}, "me", now); err != nil {
		t.Fatal(err)
	}
	for _, powers := range []trust.Powers{{key}, {server}, {key, server}} {
		if d := decide(t, s, filepath.Join(tree, "app"), powers, ""); !d.Trusted {
			t.Errorf("%d powers: %+v", len(powers), d)
		}
	}
	// An approval in the worktree holds for the repository.
	if _, err := s.Revoke(filepath.Join(repo, "app"), now); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Approve(filepath.Join(tree, "app"), powers, "me", now); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, s, filepath.Join(liar, "app"), powers, ""); d.Trusted {
		t.Error("a lie counts")
	}
}

func TestQuestion(t *testing.T) {
	powers := trust.Powers{key, server}
	q := trust.Decision{Missing: trust.Powers{server}}.Error("/clone", powers).Question()
	if !strings.Contains(q.Text, "/clone") || !strings.Contains(q.Detail, server.What) || strings.Contains(q.Detail, key.What) || q.Digest != powers.Digest() || len(q.Options) != 2 {
		t.Errorf("%+v", q)
	}
}

func TestFirst(t *testing.T) {
	s := trust.Open(t.TempDir())
	for i, want := range []bool{true, false} {
		if s.First("a") != want || s.First("b") != want {
			t.Errorf("time %d", i)
		}
	}
	if all, err := s.List(); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
}

// Approvals that are given at the same time, in several terminals, all count.
func TestApprovalsAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	const people = 16
	for i := range people {
		group.Go(func() {
			power := trust.Power{Kind: trust.Server, What: fmt.Sprintf("program %d", i)}
			if _, err := trust.Open(dir).Approve("/clone", trust.Powers{power}, "me", time.Unix(1, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	all, err := trust.Open(dir).List()
	if err != nil || len(all) != 1 || len(all[0].Powers) != people {
		t.Errorf("%+v, %v", all, err)
	}
}
