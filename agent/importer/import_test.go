package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/importer"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// importAll imports the agents of claude and codex, and returns the results as text.
func importAll(t *testing.T, dir string, o importer.Options, pairs ...string) string {
	t.Helper()
	o.Dir, o.Now, o.Executors = dir, noon, []string{"claude", "codex", "shell"}
	var all []importer.Found
	froms := []string{"claude", "codex"}
	for _, from := range froms {
		found, err := importer.Find(from, importer.Place{FS: files(pairs...)}, target)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	list, err := importer.Import(all, froms, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, out := range list {
		fmt.Fprintf(&b, "%s %s %s", out.Action, out.Name, filepath.Base(out.Target))
		if out.Edited {
			b.WriteString(" (edited)")
		}
		for _, c := range out.Changes {
			fmt.Fprintf(&b, " %s: %q -> %q", c.Key, c.Was, c.Is)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func claude(name, model string) string {
	return "---\nname: " + name + "\ndescription: d\nmodel: " + model + "\n---\nYou work.\n"
}

func expect(t *testing.T, what, want, got string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

func TestImportAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".hocket", "agents")
	const file = ".claude/agents/a.md"
	target := filepath.Join(dir, "a.yml")
	expect(t, "dry", "made a a.yml\n", importAll(t, dir, importer.Options{DryRun: true}, file, claude("a", "opus")))
	if _, err := os.Stat(dir); err == nil {
		t.Error("a dry run wrote something")
	}
	expect(t, "first", "made a a.yml\n", importAll(t, dir, importer.Options{}, file, claude("a", "opus")))
	d, found := agent.ReadDefinition(target, read(t, target))
	if len(found) > 0 || d.Source.From != "claude" || d.Source.File != file || d.Source.ImportedAt != "2026-11-15T12:00:00Z" || d.Model != "opus" || d.Prompt != "You work.\n" {
		t.Errorf("wrote %+v %+v: %v", d, d.Source, found)
	}
	expect(t, "second", "unchanged a a.yml\n", importAll(t, dir, importer.Options{}, file, claude("a", "opus")))
	expect(t, "changed", "updated a a.yml model: \"opus\" -> \"haiku\"\n", importAll(t, dir, importer.Options{}, file, claude("a", "haiku")))

	edited := strings.Replace(string(read(t, target)), "agent: claude\n", "agent: claude\nrole: worker\nretry: 3\n", 1)
	write(t, target, strings.Replace(edited, "You work.", "You work well.", 1))
	expect(t, "edited, source as it was", "unchanged a a.yml (edited)\n", importAll(t, dir, importer.Options{}, file, claude("a", "haiku")))
	const both = " model: \"haiku\" -> \"opus\" prompt: \"You work well.\" -> \"You work.\"\n"
	expect(t, "edited, and changed", "kept a a.yml (edited)"+both, importAll(t, dir, importer.Options{}, file, claude("a", "opus")))
	if !strings.Contains(string(read(t, target)), "You work well.") {
		t.Error("what was edited is lost")
	}
	expect(t, "a dry run of overwriting", "updated a a.yml (edited)"+both, importAll(t, dir, importer.Options{Overwrite: true, DryRun: true}, file, claude("a", "opus")))
	expect(t, "overwritten", "updated a a.yml (edited)"+both, importAll(t, dir, importer.Options{Overwrite: true}, file, claude("a", "opus")))
	d, _ = agent.ReadDefinition(target, read(t, target))
	if d.Role != "worker" || d.Retry.Attempts != 3 || d.Prompt != "You work.\n" || d.Model != "opus" {
		t.Errorf("overwritten with %+v", d)
	}
	expect(t, "the source is gone", "gone a a.yml\n", importAll(t, dir, importer.Options{}))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("files left behind: %v, %v", entries, err)
	}
}

// A definition from an earlier release, which read less of the source, is updated even if
// the source has not changed.
func TestImportAgainAfterUpdate(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "a.yml")
	source := []string{".claude/agents/a.md", "---\nname: a\ndescription: d\ntools: Read, Grep\n---\nYou work.\n"}
	importAll(t, dir, importer.Options{}, source...)
	now := read(t, target)
	d, _ := agent.ReadDefinition(target, now)
	if len(d.Permissions) == 0 {
		t.Fatal("the source restricts nothing")
	}
	d.Permissions = nil
	write(t, target, string(importer.Text(d)))
	if got := importAll(t, dir, importer.Options{}, source...); !strings.HasPrefix(got, "updated a a.yml permissions.") {
		t.Errorf("says %s", got)
	}
	expect(t, "the file", string(now), string(read(t, target)))
	expect(t, "then", "unchanged a a.yml\n", importAll(t, dir, importer.Options{}, source...))
}

// An imported agent never takes a name that is already in use.
func TestImportedNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.yml"), "name: Ours\nrole: boss\nagent: shell\nsettings: {command: [ls]}\n")
	got := importAll(t, dir, importer.Options{Agents: []*agent.Definition{{ID: "else", Name: "elsewhere"}}},
		".claude/agents/1.md", claude("shell", "m"),
		".claude/agents/2.md", claude("ours", "m"),
		".claude/agents/3.md", claude("boss", "m"),
		".claude/agents/4.md", claude("'../../etc/cron.d/x'", "m"),
		".claude/agents/5.md", claude("'...'", "m"),
		".claude/agents/6.md", claude("Größe 1", "m"),
		".claude/agents/7.md", claude("elsewhere", "m"),
		".claude/agents/8.md", claude("con", "m"),
		".claude/agents/9.md", claude("twin", "m"),
		".claude/agents/9b.md", claude("twin", "m"),
		".claude/agents/9c.md", claude("twin", "m"),
		".codex/agents/twin.toml", "name = \"twin\"\ndeveloper_instructions = \"x\"\n",
	)
	expect(t, "names", `made shell-claude shell-claude.yml
made ours-claude ours-claude.yml
made boss-claude boss-claude.yml
made etc-cron.d-x etc-cron.d-x.yml
made agent agent.yml
made Größe 1 Gr-e-1.yml
made elsewhere-claude elsewhere-claude.yml
made con agent-con.yml
made twin twin.yml
made twin-claude twin-claude.yml
made twin-claude-2 twin-claude-2.yml
made twin-codex twin-codex.yml
`, got)
}

// Several agents in one file are told apart when they are imported again.
func TestImportAgainFromOneFile(t *testing.T) {
	dir := t.TempDir()
	config := func(a, b string) []string {
		return []string{".codex/config.toml", "[agents.a]\ndeveloper_instructions = '" + a + "'\n[agents.b]\ndeveloper_instructions = '" + b + "'\n"}
	}
	expect(t, "first", "made a a.yml\nmade b b.yml\n", importAll(t, dir, importer.Options{}, config("one", "two")...))
	expect(t, "second", "unchanged a a.yml\nupdated b b.yml prompt: \"two\" -> \"three\"\n", importAll(t, dir, importer.Options{}, config("one", "three")...))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An unreadable definition may be the one that an earlier import wrote.
func TestUnreadableDefinition(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "explore.yml"), []byte("name: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := importer.Find("claude", importer.Place{FS: files(".claude/agents/explore.md", claude("explore", "opus"))}, target)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if _, err := importer.Import(found, []string{"claude"}, importer.Options{Dir: dir, Now: noon}); err == nil || !strings.Contains(err.Error(), "explore.yml:") {
		t.Errorf("error is %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("made %v", entries)
	}
}
