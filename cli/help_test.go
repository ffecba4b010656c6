package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/cli"
)

func hocketHere(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = cli.Main(args, cli.Stdio{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

// The help of every verb says what it does and shows an example.
func TestEveryVerbTeachesByExample(t *testing.T) {
	overview, _, code := hocketHere("help")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	verbs := regexp.MustCompile(`(?m)^  ([a-z]+)  +[A-Z]`).FindAllStringSubmatch(overview, -1)
	if len(verbs) < 20 {
		t.Fatalf("the overview lists only %d verbs:\n%s", len(verbs), overview)
	}
	for _, v := range verbs {
		text, _, code := hocketHere("help", v[1])
		if code != 0 {
			t.Errorf("help %s: exit code %d", v[1], code)
		}
		_, usage, _ := strings.Cut(text, "\nUsage\n")
		usage, _, _ = strings.Cut(usage, "\n")
		_, flags, _ := strings.Cut(text, "\nFlags\n")
		flags, _, _ = strings.Cut(flags, "\n\n")
		if own := strings.Count(flags, "--") > 1; own && !strings.Contains(usage, "[FLAGS]") { // --help is there anyway
			t.Errorf("help %s: the usage does not say that there are flags: %s", v[1], usage)
		}
		_, examples, _ := strings.Cut(text, "\nExamples\n")
		examples, _, _ = strings.Cut(examples, "\n\nFlags")
		if n := strings.Count(examples, "hocket "+v[1]); n < 2 {
			t.Errorf("help %s shows %d examples:\n%s", v[1], n, text)
		}
		for line := range strings.SplitSeq(strings.Replace(text, examples, "", 1), "\n") {
			if len(line) > 80 {
				t.Errorf("help %s: a line of %d characters: %s", v[1], len(line), line)
			}
		}
	}
	_, errs, code := hocketHere("help", "rnu")
	if code != 2 || !strings.Contains(errs, `did you mean "run"?`) {
		t.Errorf("help rnu: exit code %d, %s", code, errs)
	}
}

// Whoever misspells a verb of a verb is told so, and does not get its help instead.
func TestUnknownVerbsOfVerbs(t *testing.T) {
	for _, verb := range []string{"agents", "handoff", "mcp", "memory", "notify", "sessions", "tools", "workspace"} {
		if _, errs, code := hocketHere(verb, "lsit"); code != 2 || !strings.Contains(errs, `unknown command "lsit"`) {
			t.Errorf("%s: exit code %d, %s", verb, code, errs)
		}
	}
}

// Man pages fit 80 columns, including an indent of 7.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	if _, errs, code := hocketHere("man", dir); code != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hocket-trust.1"))
	if err != nil {
		t.Fatal(err)
	}
	if usage, errs, _ := hocketHere("help", "serve", "token"); !strings.Contains(usage, "token [NAME] [FLAGS]\n") {
		t.Errorf("the usage is\n%s%s", usage, errs)
	}
	_, about, _ := strings.Cut(string(text), ".SH DESCRIPTION\n")
	if strings.HasPrefix(about, ".nf") || !strings.Contains(about, "\n.PP\n") || strings.Contains(string(text), "[flags]") {
		t.Errorf("the page is\n%s", text)
	}
}
