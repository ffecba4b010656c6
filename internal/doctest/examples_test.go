package doctest

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/internal/strictyaml"
)

// result is the part of the output of `hocket run --json` that the tests use.
type result struct {
	Status string `json:"status"`
	Output any    `json:"output"`
	Steps  []struct {
		Address string `json:"address"`
		Status  string `json:"status"`
	} `json:"steps"`
	Warnings []string `json:"warnings"`
}

// runJSON runs the command and returns its result, which must be the whole standard
// output.
func runJSON(t *testing.T, dir string, args ...string) result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append(args, "--json", "--state", t.TempDir())...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asHocket+"=1", "NO_COLOR=1")
	var progress strings.Builder
	cmd.Stderr = &progress
	out, err := cmd.Output()
	var r result
	if jsonErr := json.Unmarshal(out, &r); err != nil || jsonErr != nil {
		t.Fatalf("hocket %s: %v\n%s%s", strings.Join(args, " "), err, out, progress.String())
	}
	return r
}

func examples(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// onPath puts programs that do nothing on the path, in place of CLI agents that may not
// be installed.
func onPath(t *testing.T, names ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestEveryExampleChecksClean(t *testing.T) {
	onPath(t, "claude", "codex")
	files, err := filepath.Glob(filepath.Join(examples(t), "[a-z]*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		out, code := hocket(t, examples(t), t.TempDir(), "check", filepath.Base(file))
		if code != 0 || strings.Contains(out, "warning") {
			t.Errorf("%s: exit code %d\n%s", file, code, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := hocket(t, examples(t), t.TempDir(), "fmt", filepath.Base(file)); out != string(text) {
			t.Errorf("%s is not laid out as hocket fmt would", file)
		}
	}
}

func TestExampleOfTriggerChecksClean(t *testing.T) {
	out, code := hocket(t, filepath.Join(examples(t), "inbox"), t.TempDir(), "check")
	if want := "ok: 1 workflow, 1 trigger checked\n"; code != 0 || out != want {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Every YAML file of the examples names its schema for editors.
func TestExamplesNameTheirSchema(t *testing.T) {
	err := filepath.WalkDir(examples(t), func(file string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".yml" {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		schema, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# yaml-language-server: $schema="), "\n")
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), schema)); err != nil {
			t.Errorf("%s: its first line does not name a schema: %v", file, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var update = flag.Bool("update", false, "write pictures and output of the documentation anew")

// The picture in the README is the one that the command draws.
func TestPicture(t *testing.T) {
	file := filepath.Join(root, "docs", "review.svg")
	got, code := hocket(t, examples(t), t.TempDir(), "graph", "review.yml", "--as", "svg")
	if code != 0 {
		t.Fatal(got)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s is not what hocket graph draws (%v); run the test with -update", file, err)
	}
}

func TestScriptedExamples(t *testing.T) {
	tests := []struct {
		name, input string
		status      string
		output      any
		steps       map[string]string // some of the steps, with their status
	}{
		{
			name: "full-review", input: "target=src/auth.py", status: "success",
			output: "Fix the comparison of passwords before anything else.\nThe cache of the user list can wait.",
			steps:  map[string]string{"security-scanner": "success", "performance-analyzer": "success", "code-reviewer": "success"},
		},
		{
			name: "review", input: "target=auth.go", status: "success",
			output: "Do not log the token.",
			steps:  map[string]string{"write#2": "success", "judge#2": "success", "post": "success"},
		},
		{
			name: "change-note.md", input: "target=auth.go", status: "success",
			output: "posted",
			steps:  map[string]string{"security": "success", "write#2": "success", "revise": "success", "post": "success"},
		},
		{
			name: "code-check.puml", input: "code=eval(input())", status: "success",
			output: "Do not eval what people type. Everything else can wait.",
			steps:  map[string]string{"look-for-holes": "success", "put-the-findings-together": "success", "say-what-must-not-wait": "success"},
		},
		{
			name: "parallel-scan", status: "partial",
			output: "Two of three scanners ran. 2 findings in all.",
			steps:  map[string]string{"lint-checker": "error", "report-aggregator": "success"},
		},
		{
			name: "three-agents", status: "success",
			output: "land",
			steps:  map[string]string{"manual": "success", "together": "success", "check": "error", "fix": "success", "check#2": "success", "ship#2": "success"},
		},
		{
			name: "best-of-three", status: "success",
			output: "land",
			steps:  map[string]string{"tries[2]": "success", "best": "success", "keep": "skipped"},
		},
		{
			name: "run-restaurant", input: "channel=drive-thru", status: "success",
			output: "All clean.",
			steps: map[string]string{
				"accounting/bookkeeper": "success", "purchasing/order[1]": "success",
				"serve-customers/delivery-handler": "success", "cleaning/inspector#2": "success",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "three-agents" || test.name == "best-of-three" {
				needsGit(t)
			}
			name := strings.TrimSuffix(test.name, filepath.Ext(test.name)) + ".yml"
			file := test.name
			if filepath.Ext(file) == "" {
				file = name
			}
			args := []string{"run", file, "--replies", filepath.Join("replies", name)}
			if test.input != "" {
				args = append(args, "--input", test.input)
			}
			got := runJSON(t, examples(t), args...)
			if got.Status != test.status || !cmp.Equal(got.Output, test.output) {
				t.Errorf("%s with %q, want %s with %q", got.Status, got.Output, test.status, test.output)
			}
			status := map[string]string{}
			for _, s := range got.Steps {
				status[s.Address] = s.Status
			}
			for address, want := range test.steps {
				if status[address] != want {
					t.Errorf("step %s is %q, want %q", address, status[address], want)
				}
			}
		})
	}
}

// repository creates a git repository with a fixed history.
func repository(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"git", "sh", "awk", "tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("this example needs %s", tool)
		}
	}
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	commit(t, dir, "ada", "2026-01-05", "README.md", "# Shop\n\nSells things.\n")
	commit(t, dir, "ada", "2026-01-06", "src/shop.go", "package shop\n\n// TO"+"DO: sell\nfunc Sell() {}\n")
	commit(t, dir, "bob", "2026-02-01", "src/shop.go", "package shop\n\n// TO"+"DO: sell\n// FIX"+"ME: price\nfunc Sell() int { return 0 }\n")
	commit(t, dir, "bob", "2026-02-02", "LICENSE", "Do as you like.\n")
	git(t, dir, "tag", "v0.1.0", "HEAD~1")
	git(t, dir, "tag", "v0.1.1", "HEAD~1")
	return dir
}

func commit(t *testing.T, dir, author, date, file, text string) {
	t.Helper()
	name := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "-c", "user.name="+author, "-c", "user.email="+author+"@example.com",
		"commit", "-q", "-m", "change "+file, "--date", date+"T12:00:00Z")
}

// needsGit skips a test without git, which workspaces need.
func needsGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("workspaces need git")
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_COMMITTER_DATE=2026-02-03T12:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// healthReport is the complete report; ' stands for a backquote.
const healthReport = `# Health of shop

## History

4 commits by 2 people, from 2026-01-05 to 2026-02-02.

## Code

| kind | files | lines |
|---|---:|---:|
| .go | 1 | 5 |
| .md | 1 | 3 |
| other | 1 | 1 |

## Hotspots

| changes | file |
|---:|---|
| 2 | 'src/shop.go' |
| 1 | 'LICENSE' |
| 1 | 'README.md' |

## Promises

Notes to self that are left in the code: 2

- 'src/shop.go': 2

## Weight

- 0.1 KiB 'src/shop.go'
- 0.0 KiB 'README.md'
- 0.0 KiB 'LICENSE'

## Papers

- [x] README
- [x] LICENSE
- [ ] CONTRIBUTING
- [ ] CHANGELOG`

func TestRepoHealth(t *testing.T) {
	dir := repository(t)
	got := runJSON(t, dir, "run", filepath.Join(examples(t), "repo-health.yml"))
	if diff := cmp.Diff(strings.ReplaceAll(healthReport, "'", "`"), got.Output); diff != "" || got.Status != "success" {
		t.Errorf("status %s, output (-want +got):\n%s", got.Status, diff)
	}
}

// The loop passes two versions that are tagged, the nested workflow looks at the
// package, and a person, here a reply, approves.
func TestReleaseCheck(t *testing.T) {
	dir := repository(t)
	got := runJSON(t, dir, "run", filepath.Join(examples(t), "release-check.yml"), "--replies", filepath.Join(examples(t), "replies", "release-check.yml"))
	output, _ := got.Output.(string)
	if !strings.HasPrefix(output, "git tag -a v0.1.2 -m 'Release 0.1.2'\ngit push origin v0.1.2\n# sha256 of the package: ") || got.Status != "success" {
		t.Errorf("status %s, output:\n%s", got.Status, output)
	}
	rounds := 0
	for _, s := range got.Steps {
		if strings.HasPrefix(s.Address, "look-up") {
			rounds++
		}
	}
	if rounds != 3 {
		t.Errorf("the loop went round %d times, want 3", rounds)
	}
}

// Without an answer the run waits, and another process answers.
func TestReleaseCheckWaitsForAPerson(t *testing.T) {
	dir, state := repository(t), t.TempDir()
	file := filepath.Join(examples(t), "release-check.yml")
	out, code := hocket(t, dir, state, "run", file)
	if code != 3 {
		t.Fatalf("exit code %d, want 3:\n%s", code, out)
	}
	_, id, _ := strings.Cut("\n"+out, "\nrun ")
	id, _, _ = strings.Cut(id, "\n")
	if out, code = hocket(t, dir, state, "answer", id, "ship", "reject", "--resume"); code != 0 {
		t.Fatalf("exit code %d after the answer:\n%s", code, out)
	}
	if out, _ = hocket(t, dir, state, "show", id, "commands"); !strings.Contains(out, "skipped") {
		t.Errorf("rejected, and all the same:\n%s", out)
	}
}

// What three commands made in workspaces lands in the files when a person has approved it, and not before.
func TestTidy(t *testing.T) {
	dir, state := repository(t), t.TempDir()
	commit(t, dir, "bob", "2026-02-02", "notes.txt", "milk  \nbread\n")
	out, code := hocket(t, dir, state, "run", filepath.Join(examples(t), "tidy.yml"))
	if code != 3 || !strings.Contains(out, "Land this change as changes to the files") {
		t.Fatalf("exit code %d, want 3:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "INDEX.md")); err == nil {
		t.Error("it landed before it was approved")
	}
	_, id, _ := strings.Cut("\n"+out, "\nrun ")
	id, _, _ = strings.Cut(id, "\n")
	if out, code = hocket(t, dir, state, "answer", id, "ship", "land", "--resume"); code != 0 {
		t.Fatalf("exit code %d after the answer:\n%s", code, out)
	}
	for file, want := range map[string]string{
		"INDEX.md": "- [README.md](README.md)\n", "notes.txt": "milk\nbread\n",
		"TODO.md": "- ./src/shop.go:3:// TO" + "DO: sell\n- ./src/shop.go:4:// FIX" + "ME: price\n",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
			t.Errorf("%s is %q, not %q (%v)", file, text, want, err)
		}
	}
}

// The compose file is YAML, starts what the howto says, has no password, and opens no port for other machines.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "examples", "temporal", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc := strictyaml.Read("compose.yaml", text)
	all, _ := doc.Root().Value().(map[string]any)
	if found := doc.Diagnostics(); len(found) > 0 {
		t.Fatal(found)
	}
	services, _ := all["services"].(map[string]any)
	for _, name := range []string{"postgres", "temporal", "ui"} {
		service, _ := services[name].(map[string]any)
		if image, _ := service["image"].(string); !strings.Contains(image, ":") {
			t.Errorf("%s has no image with a version: %v", name, service)
		}
		ports, _ := service["ports"].([]any)
		for _, port := range ports {
			if port, _ := port.(string); !strings.HasPrefix(port, "127.0.0.1:") && !strings.HasPrefix(port, "${TEMPORAL_LISTEN:-127.0.0.1}:") {
				t.Errorf("%s listens on %s", name, port)
			}
		}
		environment, _ := service["environment"].(map[string]any)
		for _, key := range []string{"POSTGRES_PASSWORD", "POSTGRES_PWD"} {
			if value, ok := environment[key].(string); ok && !strings.HasPrefix(value, "${") {
				t.Errorf("%s has a password in %s", name, key)
			}
		}
	}
}

// The tests of the examples pass, and use every example, and all of it.
func TestTestsOfExamples(t *testing.T) {
	needsGit(t)
	for dir, files := range map[string]string{"": "*.*", "notations": "*.*", "inbox": ".hocket/workflows/*.yml", "handoff": "*.yml"} {
		project := examples(t)
		if dir != "notations" {
			project = filepath.Join(project, dir)
		}
		out, code := hocket(t, project, t.TempDir(), "test", "--json")
		var report struct {
			Cases    []struct{ Name, Workflow string }
			Coverage struct {
				Covered, Total int
				Workflows      []struct{ Name string }
			}
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
			t.Errorf("%s: exit code %d, %v\n%s", dir, code, err, out)
			continue
		}
		if c := report.Coverage; c.Covered != c.Total {
			t.Errorf("%s: %d of %d parts are covered\n%s", dir, c.Covered, c.Total, out)
		}
		found, err := filepath.Glob(filepath.Join(examples(t), dir, files))
		if err != nil || len(found) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, file := range found {
			base := filepath.Base(file)
			name := strings.TrimSuffix(base, filepath.Ext(base))
			if base == "README.md" || base == ".hocket" || strings.HasPrefix(name, "validate-") {
				continue
			}
			covered := false
			for _, w := range report.Coverage.Workflows {
				covered = covered || w.Name == name
			}
			if !covered {
				t.Errorf("no test uses %s", file)
			}
		}
	}
}
