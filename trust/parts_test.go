package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/trust"
)

func TestParts(t *testing.T) {
	old := trust.Parts{{Name: "a", Text: "one\ntwo\nthree\nfour"}, {Name: "b", Text: "x"}, {Name: "gone", Text: ""}}
	now := trust.Parts{{Name: "new", Text: ""}, {Name: "b", Text: "x"}, {Name: "a", Text: "one\n2\nthree\nfour\nfive"}}
	if old.Digest() == now.Digest() || now.Digest() != (trust.Parts{now[2], now[0], now[1]}).Digest() {
		t.Error("the digest must depend on the texts, and not on their order")
	}
	if (trust.Parts{{Name: "a", Text: "bc"}}).Digest() == (trust.Parts{{Name: "ab", Text: "c"}}).Digest() {
		t.Error("names and texts are mixed up")
	}
	var got []string
	for _, c := range now.Diff(old) {
		got = append(got, c.Mark+c.Name+strings.Join(c.Lines, ""))
	}
	if want := []string{"~a-two+2+five", "+new", "-gone"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// Texts that are too long to compare line by line.
	long := trust.Parts{{Name: "a", Text: strings.Repeat("x\n", 2000)}}
	if c := long.Diff(trust.Parts{{Name: "a", Text: strings.Repeat("y\n", 2000)}}); len(c) != 1 || len(c[0].Lines) != 4000 {
		t.Error(len(c[0].Lines))
	}
}

func TestDefinitions(t *testing.T) {
	home := t.TempDir()
	s := trust.Open(home)
	parts := trust.Parts{{Name: "long", Text: strings.Repeat("x", 100<<10)}}
	approve := func(d *trust.Definitions) error {
		d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "plan", Digest: parts.Digest(), Parts: parts, At: time.Unix(1, 0), By: "ada"})
		return nil
	}
	if err := s.ChangeDefinitions("/project", approve); err != nil {
		t.Fatal(err)
	}
	d, err := s.Definitions("/project")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := d.Approved(parts.Digest()); !ok || v.By != "ada" || v.Parts[0].Text != "" || v.Parts.Digest() != parts.Digest() {
		t.Errorf("%+v %v", v, ok)
	}
	if other, err := s.Definitions("/moved"); err != nil || len(other.Verdicts) > 0 {
		t.Error(other, err)
	}
	if all, err := s.List(); err != nil || len(all) > 0 { // it is not the trust of a project
		t.Error(all, err)
	}
	failed := errors.New("failed")
	if err := s.ChangeDefinitions("/project", func(d *trust.Definitions) error { d.Verdicts = nil; return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	reject := func(d *trust.Definitions) error {
		d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "plan", Digest: parts.Digest(), Rejected: true})
		return nil
	}
	if err := s.ChangeDefinitions("/project", reject); err != nil {
		t.Fatal(err)
	}
	if d, err = s.Definitions("/project"); err != nil || len(d.Verdicts) != 2 {
		t.Error(d, err)
	}
	if _, ok := d.Approved(parts.Digest()); ok {
		t.Error("the last verdict counts")
	}
	if _, err := s.Definitions(home); err == nil {
		t.Error("approvals inside of a project count")
	}
	files, _ := filepath.Glob(filepath.Join(home, "hocket/trust/*.definitions"))
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	text, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], []byte(strings.Replace(string(text), parts.Digest(), "sha256:"+strings.Repeat("0", 64), 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Definitions("/project"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// The store does not grow for ever, and keeps the texts that a review compares with.
func TestOldVerdicts(t *testing.T) {
	s := trust.Open(t.TempDir())
	parts := func(i int) trust.Parts { return trust.Parts{{Name: "x", Text: strings.Repeat("x", i)}} }
	err := s.ChangeDefinitions("/project", func(d *trust.Definitions) error {
		for i := range 50 {
			d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "plan", Digest: parts(i).Digest(), Parts: parts(i)})
		}
		for i := range 2000 {
			d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "run-" + strings.Repeat("i", i), Digest: parts(1).Digest(), Parts: parts(1)})
		}
		d.Verdicts = append(d.Verdicts, trust.Verdict{ID: "plan", Digest: parts(50).Digest(), Parts: parts(50)}, trust.Verdict{ID: "plan", Digest: parts(51).Digest(), Parts: parts(51)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Definitions("/project")
	if err != nil || len(d.Verdicts) != 1000 {
		t.Fatal(len(d.Verdicts), err)
	}
	if v, ok := d.Approved(parts(50).Digest()); !ok || v.Parts[0].Text != "" {
		t.Errorf("%+v", v)
	}
	if v, ok := d.Last("plan"); !ok || len(v.Parts[0].Text) != 51 {
		t.Errorf("%+v", v)
	}
}

func TestProposed(t *testing.T) {
	s := trust.Open(t.TempDir())
	origin := []byte(`{"by":"a model","goal":"two words\n"}`)
	if err := errors.Join(s.Propose("a", origin), s.Propose("b", nil), s.Propose("late", nil), s.Propose("late", origin), s.Propose("a", nil), s.Propose("gone", nil), s.Adopt("gone"), s.Adopt("never")); err != nil {
		t.Fatal(err)
	}
	for digest, want := range map[string]string{"a": string(origin), "late": string(origin), "b": ""} {
		if got, proposed, err := s.Proposed(digest); err != nil || !proposed || string(got) != want {
			t.Errorf("%s: %s, %t, %v", digest, got, proposed, err)
		}
	}
	for _, digest := range []string{"gone", "never", "", "{"} {
		if _, proposed, err := s.Proposed(digest); err != nil || proposed {
			t.Error(digest, proposed, err)
		}
	}
}

// A model that writes many workflows cannot have the first one forgotten, which would then run without
// approval.
func TestTooManyProposals(t *testing.T) {
	dir := t.TempDir()
	s := trust.Open(dir)
	if err := s.Propose("first", nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hocket", "trust", "proposed")
	write(t, file, "first"+strings.Repeat("\nx", 9999))
	var full *trust.FullError
	if err := s.Propose("last", nil); !errors.As(err, &full) || full.File != file || full.Hint() == "" {
		t.Error(err)
	}
	if _, proposed, err := s.Proposed("first"); err != nil || !proposed {
		t.Error(proposed, err)
	}
	if err := s.Propose("first", nil); err != nil { // it is remembered already
		t.Error(err)
	}
	if err := errors.Join(s.Adopt("x"), s.Propose("last", nil)); err != nil {
		t.Error(err)
	}
}

// If nobody can tell what models proposed, that is an error: nothing counts as a person's.
func TestProposedThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	s := trust.Open(dir)
	if err := s.Propose("a", nil); err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Glob(filepath.Join(dir, "hocket", "trust", "proposed"))
	if err != nil || len(file) != 1 {
		t.Fatal(file, err)
	}
	if err := errors.Join(os.Remove(file[0]), os.Mkdir(file[0], 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Proposed("a"); err == nil {
		t.Error("the file cannot be read, and nothing was proposed")
	}
	if err := s.Propose("b", nil); err == nil {
		t.Error("what was proposed before is forgotten")
	}
}
