package web

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// outline returns what was read of a change, as a text.
func outline(c *change) string {
	if c == nil {
		return "no change"
	}
	var b strings.Builder
	for _, p := range c.Parts {
		if p.Title != "" {
			fmt.Fprintf(&b, "## %s\n", p.Title)
		}
		for _, f := range p.Files {
			fmt.Fprintf(&b, "%s %s +%d -%d", f.Status, f.Path, f.Added, f.Removed)
			if f.Renamed() {
				fmt.Fprintf(&b, " from %s", f.From)
			}
			for _, n := range f.Notes {
				fmt.Fprintf(&b, " (%s)", n)
			}
			for _, l := range append(f.Lines, f.Rest...) {
				fmt.Fprintf(&b, "|%s%d,%d:%s", map[string]string{"ins": "+", "del": "-", "": " ", "gap": "~"}[l.Kind], l.Old, l.New, l.Text)
			}
			b.WriteString("\n")
		}
		for _, n := range p.Notes {
			fmt.Fprintf(&b, "note %s\n", n)
		}
	}
	if c.Message != "" {
		fmt.Fprintf(&b, "message %q\n", c.Message)
	}
	if c.Digest != "" {
		fmt.Fprintf(&b, "change %.4s\n", c.Digest)
	}
	return b.String()
}

var digest = strings.Repeat("0123456789abcdef", 4)

func TestReadChange(t *testing.T) {
	const head = "diff --git a/a.go b/a.go\nindex 1111111..2222222 100644\n--- a/a.go\n+++ b/a.go\n"
	for name, test := range map[string]struct{ detail, want string }{
		"no diff":       {"rm -rf /\ndiff --git a/x b/x", "no change"},
		"markdown":      {"## Plan\n\nFirst this.\n\ndiff --git a/x b/x", "no change"},
		"landing":       {head + "@@ -1,3 +1,3 @@ func a()\n one\n-two\n+2\n three\n\nchange " + digest, "modified a.go +1 -1|~0,0:line 1  func a()| 1,1:one|-2,0:two|+0,2:2| 3,3:three\nchange 0123\n"},
		"like headers":  {head + "@@ -1,3 +1,3 @@\n--- a/b\n-diff --git a/c b/c\n+++ b/b\n+@@ -1 +1 @@\n change " + digest + "\n", "modified a.go +2 -2|~0,0:line 1|-1,0:-- a/b|-2,0:diff --git a/c b/c|+0,1:++ b/b|+0,2:@@ -1 +1 @@| 3,3:change " + digest + "\n"},
		"no newline":    {head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n", "modified a.go +1 -1|~0,0:line 1|-1,0:a|~0,0:No newline at end of file|+0,1:b|~0,0:No newline at end of file\n"},
		"empty context": {head + "@@ -1,2 +1,3 @@\n\n+a\n b\n", "modified a.go +1 -0|~0,0:line 1| 1,1:|+0,2:a| 2,3:b\n"},
		"CRLF":          {head + "@@ -1 +1 @@\n-a\r\n+b\r\n", "modified a.go +1 -1 (lines end with CRLF)|~0,0:line 1|-1,0:a|+0,1:b\n"},
		"to LF":         {head + "@@ -1 +1 @@\n-a\r\n+a\n", `modified a.go +1 -1|~0,0:line 1|-1,0:a\r|+0,1:a` + "\n"},
		"CR inside":     {head + "@@ -0,0 +1 @@\n+safe()\rrm()\r\n", `modified a.go +1 -0 (lines end with CRLF)|~0,0:line 1|+0,1:safe()\rrm()` + "\n"},
		"rename":        {"diff --git a/old name b/new\nsimilarity index 90%\nrename from old name\nrename to new\n", "renamed new +0 -0 from old name\n"},
		"mode":          {"diff --git a/run me b/run me\nold mode 100644\nnew mode 100755\n", "modified run me +0 -0 (was a file that is not executable) (is now executable)\n"},
		"new link":      {"diff --git a/l b/l\nnew file mode 120000\nindex 0000000..1\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "added l +1 -0 (a symbolic link)|~0,0:line 1|+0,1:/etc/passwd|~0,0:No newline at end of file\n"},
		"deleted":       {"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "deleted x +0 -2|~0,0:line 1|-1,0:a|-2,0:b\n"},
		"binary":        {"diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n", "modified p.png +0 -0 (binary, its content is not shown)\n"},
		"quoted":        {"diff --git \"a/\\303\\244 \\\"q\\\".txt\" \"b/\\303\\244 \\\"q\\\".txt\"\nold mode 100755\nnew mode 100644\n", "modified ä \"q\".txt +0 -0 (was executable) (is now a file that is not executable)\n"},
		"hidden break":  {"diff --git \"a/x\\n+++ y\" \"b/x\\n+++ y\"\n--- \"a/x\\n+++ y\"\n+++ \"b/x\\n+++ y\"\n@@ -0,0 +1 @@\n+a\n", `modified "x\n+++ y" +1 -0|~0,0:line 1|+0,1:a` + "\n"},
		"not UTF-8":     {"diff --git \"a/caf\\351\" \"b/caf\\351\"\nold mode 100755\nnew mode 100644\n", `modified "caf\351" +0 -0 (was executable) (is now a file that is not executable)` + "\n"},
		"space":         {"diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-a\n+b\n", "modified a b +1 -1|~0,0:line 1|-1,0:a|+0,1:b\n"},
		"cut":           {head + "@@ -1,9 +1,9 @@\n one\n-two\n… the diff is longer. Not completely shown (2 of 2 files):\nmodified \"a.go\"\nadded \"b.go\"\n\nchange " + digest, "modified a.go +0 -1|~0,0:line 1| 1,1:one|-2,0:two\nnote … the diff is longer. Not completely shown (2 of 2 files):\nnote modified \"a.go\"\nnote added \"b.go\"\nchange 0123\n"},
		"message":       {head + "@@ -1 +1 @@\n-a\n+b\n\nMessage of the commit:\n    Add a\n\n    change " + digest + "\n    Message of the commit:\n\nchange " + digest, "modified a.go +1 -1|~0,0:line 1|-1,0:a|+0,1:b\nmessage \"Add a\\n\\nchange " + digest + "\\nMessage of the commit:\"\nchange 0123\n"},
		"cut message":   {head + "@@ -1,9 +1,9 @@\n one\n… the diff is longer. Not completely shown (2 of 2 files): a.go\n\nMessage of the commit:\n    Add a\n\nchange " + digest + "\n\nBytes", "modified a.go +0 -0|~0,0:line 1| 1,1:one\nnote … the diff is longer. Not completely shown (2 of 2 files): a.go\nnote Bytes\nmessage \"Add a\"\nchange 0123\n"},
		"not known":     {head + "surprise header\n@@@ -1 -1 +1 @@@\n++x\n", "modified a.go +0 -0\nnote surprise header\nnote @@@ -1 -1 +1 @@@\nnote ++x\n"},
		"pick":          {"## a: 0 files changed, +0 −0 lines\n\n\n## b: 1 file changed, +1 −0 lines\n\n" + head + "@@ -0,0 +1 @@\n+## c\n\n## c: 0 files changed\n\n\n", "## a: 0 files changed, +0 −0 lines\n## b: 1 file changed, +1 −0 lines\nmodified a.go +1 -0|~0,0:line 1|+0,1:## c\n## c: 0 files changed\n"},
	} {
		if got := outline(readChange(test.detail)); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
}

// What git really prints is understood: no line of it is left over.
func TestReadChangeOfGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	write := func(name, text string, mode os.FileMode) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Repeat("same\n", 20)
	git("init", "-q")
	write("old name.txt", lines+"-- end", 0o644)
	write("run", "x\n", 0o644)
	write("gone", "a\n\nb\n", 0o644)
	write("ü\n<b>.go", "package a\n", 0o644)
	write("bin", "\x00\x01", 0o644)
	git("add", "-A")
	git("commit", "-qm", "a")
	git("mv", "old name.txt", "new name.txt")
	write("new name.txt", lines+"++ end\n", 0o644)
	write("run", "x\n", 0o755)
	write("ü\n<b>.go", "package b\r\n", 0o644)
	write("bin", "\x00\x02", 0o644)
	write("empty", "", 0o644)
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-qm", "b")
	got := outline(readChange(git("diff-tree", "-r", "-p", "--find-renames", "HEAD~", "HEAD")))
	for _, want := range []string{
		"modified bin +0 -0 (binary, its content is not shown)\n", "added empty +0 -0\n", "deleted gone +0 -3|", "|-2,0:|", "modified run +0 -0 (was a file that is not executable) (is now executable)\n",
		"renamed new name.txt +1 -1 from old name.txt|", `|-21,0:-- end|~0,0:No newline at end of file|+0,21:++ end` + "\n", `modified "\303\274\n<b>.go" +1 -1|~0,0:line 1|-1,0:package a|+0,1:package b\r` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "note ") {
		t.Errorf("something was not understood:\n%s", got)
	}
}

func TestColours(t *testing.T) {
	for _, test := range []struct{ file, code, want string }{
		{"a.go", "+if x == 12 { // it's\n+\ts := \"a\\\"b\" /* c\n+ d */ return `r\n+aw` + y1", "‹k:if› x == ‹n:12› { ‹c:// it's›\n\ts := ‹s:\"a\\\"b\"› ‹c:/* c›\n‹c: d */› ‹k:return› ‹s:`r›\n‹s:aw`› + y1\n"},
		{"a.go", "-/* old\n+make()\n-still */ x\n+y", "‹c:/* old›\nmake()\n‹c:still */› x\ny\n"},
		{"a.yml", "+url: http://x#y # z\n+say: don't 'a' and can't", "url: http://x#y ‹c:# z›\nsay: don't ‹s:'a'› and can't\n"},
		{"a.py", "+def f(): \"\"\"doc\n+str\"\"\"; return 'x'", "‹k:def› f(): ‹s:\"\"\"doc›\n‹s:str\"\"\"›; ‹k:return› ‹s:'x'›\n"},
		{"a.html", "+<b a=\"1\"><!-- x\n+y --></b>", "<b a=‹s:\"1\"›>‹c:<!-- x›\n‹c:y -->›</b>\n"},
		{"a.unknown", "+if 1 // x", "if 1 // x\n"},
	} {
		c := colourer{language: languageOf(test.file)}
		var got strings.Builder
		for line := range strings.SplitSeq(test.code, "\n") {
			for _, token := range c.line(codeLine{Kind: map[byte]string{'+': "ins", '-': "del"}[line[0]], Text: line[1:]}) {
				if token.class == "" {
					got.WriteString(token.text)
				} else {
					fmt.Fprintf(&got, "‹%s:%s›", token.class, token.text)
				}
			}
			got.WriteString("\n")
		}
		if got.String() != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.file, got.String(), test.want)
		}
	}
}

// A very long change is shown as a whole, though not all of it with colours.
func TestVeryLongChange(t *testing.T) {
	detail := "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1,20000 @@\n" + strings.Repeat("+<x>\n", 20000)
	f := readChange(detail).Parts[0].Files[0]
	if n := strings.Count(string(f.Code()), "&lt;x&gt;") + strings.Count(f.Plain(), "+<x>\n"); n != 20000 || f.Added != 20000 || !f.Folded() || strings.Count(f.Plain(), "\n") != 10001 {
		t.Errorf("%d of %d lines are shown, %d of them plain", n, f.Added, strings.Count(f.Plain(), "\n"))
	}
}

// Comments become lines that name their places.
func TestRemarks(t *testing.T) {
	at := []string{"a.go", "a.go:7", "b c.go", "a.go:3 (before)", "x", "y"}
	notes := []string{"12: use tabs\r\nand here\r\n3 :why?", "2: no\n\nmore", "too long", "3: keep it", " \n"}
	want := "a.go:12: use tabs|  and here|a.go:3: why?|a.go:7: 2: no|  more|b c.go: too long|a.go:3 (before): 3: keep it"
	if got := strings.Join(remarks(at, notes), "|"); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

var codeTags = regexp.MustCompile(`</?(ins|del|span|i)( data-(old|new)="\d+")*( class="[csnk]")?>`)

// FuzzReadChange checks that every line of a diff is shown, and that nothing of it is markup.
func FuzzReadChange(f *testing.F) {
	f.Add("diff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@ f\n one\n-\"two\n+`2 <b>\n /* three\n\nchange " + digest)
	f.Add("diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b\n\nMessage of the commit:\n    a\n\n    b\n\nMessage of the commit:\n    c\nchange " + digest)
	f.Add("## a: 1\n\n\n## b\n\ndiff --git \"a/\\n\" \"b/\\n\"\nrename from x\nBinary files a and b differ\n… more")
	f.Add("diff --git a/x.py b/x.py\n@@ -1 +1,99 @@\n+'''\r\n\\ No newline\n@@ -0,0 +999999999,999999999 @@")
	f.Fuzz(func(t *testing.T, detail string) {
		c := readChange(strings.ToValidUTF8(detail, "?"))
		if c == nil {
			return
		}
		plain := strings.NewReplacer("\r", "", `\r`, "")
		shown := map[string]bool{"": true, "change " + c.Digest: true}
		if c.Message != "" || strings.Contains(detail, messageHeading) {
			shown[messageHeading] = true
		}
		for line := range strings.SplitSeq(c.Message, "\n") {
			shown[messageIndent+plain.Replace(line)] = true
		}
		for _, p := range c.Parts {
			shown["## "+plain.Replace(p.Title)] = true
			for _, n := range p.Notes {
				shown[plain.Replace(n)] = true
			}
			for _, file := range p.Files {
				code := codeTags.ReplaceAllString(string(file.Code()), "")
				if strings.ContainsAny(code, "<>\"'") {
					t.Fatalf("markup is left in %q", code)
				}
				var want strings.Builder
				for _, l := range file.Lines {
					sign := map[string]string{"ins": "+", "del": "-", "gap": "⋯ ", "": " "}[l.Kind]
					want.WriteString(sign + l.Text + "\n")
					shown[strings.Replace(sign, "⋯", `\`, 1)+plain.Replace(l.Text)] = true
				}
				if got := html.UnescapeString(code); got != want.String() {
					t.Fatalf("%q is shown as %q", want.String(), got)
				}
			}
		}
		for line := range strings.SplitSeq(strings.ToValidUTF8(detail, "?"), "\n") {
			known := strings.HasPrefix(line, "diff --git ") || hunkLine().MatchString(line) || (&changedFile{}).extended(line)
			if !known && !shown[plain.Replace(line)] {
				t.Fatalf("%q is not shown", line)
			}
		}
	})
}
