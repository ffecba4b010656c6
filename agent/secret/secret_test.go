package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/agent/secret"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestSecretsComeFromTheirPlaces(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "from-a-file\n", "empty": "\n", "huge": strings.Repeat("x", 70<<10)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := secret.New(secret.Options{Dir: dir, Getenv: environment("TOKEN", "tok-123456", "SHORT", "12345", "EMPTY", "", "OTHER", "other-value"), Places: map[string]secret.Place{
		"token": {Env: "TOKEN"}, "short": {Env: "SHORT"}, "empty": {Env: "EMPTY"}, "unset": {Env: "UNSET"},
		"file": {File: "key"}, "absolute": {File: filepath.Join(dir, "key")}, "missing": {File: "none"}, "below": {File: "key/below"}, "blank": {File: "empty"}, "huge": {File: "huge"}, "folder": {File: "."},
	}})
	for name, want := range map[string]string{"token": "tok-123456", "file": "from-a-file", "absolute": "from-a-file"} {
		if got, err := s.Get(name); got != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"none": "secret none is not configured; add it under secrets in config.yml", "short": "has fewer than 6 characters", "empty": "is empty; set the variable EMPTY",
		"unset": "unset is not set; set the variable UNSET before you start hocket", "missing": "there is no file", "blank": "is empty; write it to the file empty",
		"huge": "holds more than 64 KB", "folder": "is not a file", "below": "below cannot be read: open ",
	} {
		_, err := s.Get(name)
		var typed *secret.Error
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %q", name, err, want)
		}
	}
	mask := s.Masker().Mask
	if got := mask("tok-123456 from-a-file other-value 12345"); got != "*** *** other-value 12345" {
		t.Errorf("masked: %q", got)
	}
	if got, err := s.At(secret.Place{Env: "OTHER"}); got != "other-value" || err != nil {
		t.Errorf("OTHER is %q, %v", got, err)
	}
	if got := mask("other-value"); got != "***" {
		t.Errorf("what was asked for is shown: %q", got)
	}
	for place, want := range map[secret.Place]string{
		{Env: "UNSET"}: "secret UNSET is not set; set the variable UNSET", {File: "none"}: "secret none is not set: there is no file",
	} {
		_, err := s.At(place)
		var typed *secret.Error
		if !errors.As(err, &typed) || !strings.Contains(err.Error(), want) || typed.Hint() == "" {
			t.Errorf("%+v gives %v, want %q", place, err, want)
		}
	}
}

// A file that the system opens but does not read is an error, not an empty secret.
func TestFilesThatCannotBeRead(t *testing.T) {
	const memory = "/proc/self/mem" // nothing is at its beginning
	if _, err := os.Stat(memory); err != nil {
		t.Skip(err)
	}
	s := secret.New(secret.Options{Getenv: environment()})
	if _, err := s.At(secret.Place{File: memory}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Error(err)
	}
}

// Tests the exact lengths at which a value counts as a secret.
func TestLengthsOfSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"most": 64 << 10, "more": 64<<10 + 1} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := secret.New(secret.Options{Dir: dir, Getenv: environment("SIX", "sixsix", "FIVE", "five5", "GH_TOKEN", "eight-ch", "NPM_TOKEN", " seven-7 "), Places: map[string]secret.Place{
		"six": {Env: "SIX"}, "most": {File: "most"}, "more": {File: "more"},
	}})
	if got := s.Masker().Mask("sixsix five5 eight-ch seven-7"); got != "*** five5 *** seven-7" {
		t.Errorf("masked: %q", got)
	}
	for name, want := range map[string]bool{"six": true, "most": true, "more": false} {
		if _, err := s.Get(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.At(secret.Place{Env: "FIVE"}); err == nil {
		t.Error("five characters are a secret")
	}
	if err := s.TooShort(); err != nil {
		t.Error(err)
	}
	m := &secret.Masker{}
	m.Add("sixteen-letters!\nfifteen-letters\n" + strings.Repeat("z", 40))
	if got := m.Mask("sixteen-letters! fifteen-letters"); got != "*** fifteen-letters" {
		t.Errorf("masked: %q", got)
	}
}

// A file is read once, so that the hidden value and the used value are the same.
func TestFilesAreReadOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	s := secret.New(secret.Options{Getenv: environment(), Places: map[string]secret.Place{"key": {File: file}}})
	for _, text := range []string{"first-value", "second-value"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Get("key"); got != "first-value" || err != nil {
			t.Errorf("it is %q, %v", got, err)
		}
	}
}

func TestUsualVariablesAreSecret(t *testing.T) {
	s := secret.New(secret.Options{Getenv: environment("ANTHROPIC_API_KEY", "sk-ant-abcdef", "OPENAI_API_KEY", "ollama", "HOME", "/home/somebody")})
	for _, name := range []string{ // the names in the documentation of the programs that read them
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "CODEX_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "COHERE_API_KEY", "TOGETHER_API_KEY",
		"DASHSCOPE_API_KEY", "CURSOR_API_KEY", "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "HF_TOKEN", "NPM_TOKEN",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	} {
		if got := secret.New(secret.Options{Getenv: environment(name, "the-value")}).Masker().Mask("the-value"); got != "***" {
			t.Errorf("the value of %s is shown", name)
		}
	}
	if got := s.Masker().Mask("key sk-ant-abcdef of ollama in /home/somebody"); got != "key *** of ollama in /home/somebody" {
		t.Errorf("masked: %q", got)
	}
}

// Secrets are known before the first text is shown, even if it comes in pieces.
func TestTheFirstStreamKnowsAll(t *testing.T) {
	s := secret.New(secret.Options{Getenv: environment("TOKEN", "tok-123456"), Places: map[string]secret.Place{"token": {Env: "TOKEN"}}})
	var b strings.Builder
	write, flush := s.Masker().Stream(func(p []byte) { b.Write(p) })
	write([]byte("<tok-123456>"))
	flush()
	if got := b.String(); got != "<***>" {
		t.Errorf("shown: %q", got)
	}
}

// After flush, a stream begins anew.
func TestStreamContinuesAfterFlush(t *testing.T) {
	m := &secret.Masker{}
	m.Add("tok-123456")
	var b strings.Builder
	write, flush := m.Stream(func(p []byte) { b.Write(p) })
	for _, piece := range []string{"tok-12", "3456", " tok-123456", "ok-123456"} {
		write([]byte(piece))
		flush()
	}
	if got := b.String(); got != "tok-123456 ***ok-123456" {
		t.Errorf("shown: %q", got)
	}
}

func TestValuesWithoutANameAreSecret(t *testing.T) {
	s := secret.New(secret.Options{Getenv: environment("OWL_KEY", "sk-owl-abcdef", "UNNAMED", "plain-text"), Hidden: []secret.Place{{Env: "OWL_KEY"}, {Env: "MISSING"}, {File: "none"}}})
	if got := s.Masker().Mask("key sk-owl-abcdef, plain-text"); got != "key ***, plain-text" {
		t.Errorf("masked: %q", got)
	}
	if len(s.Names()) > 0 {
		t.Errorf("they have names: %q", s.Names())
	}
}

// A trailing line end or space around a variable's value is not part of the secret.
func TestSpaceAroundASecret(t *testing.T) {
	s := secret.New(secret.Options{Getenv: environment("TOKEN", "tok-123456\r\n", "WIDE", " wide-secret ", "GITHUB_TOKEN", "ghp-abcdef\n"),
		Places: map[string]secret.Place{"token": {Env: "TOKEN"}, "wide": {Env: "WIDE"}}})
	if got, err := s.Get("token"); got != "tok-123456" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.Masker().Mask("<tok-123456> <wide-secret> <ghp-abcdef>"); got != "<***> <***> <***>" {
		t.Errorf("masked: %q", got)
	}
}

func TestTooShortToHide(t *testing.T) {
	places := map[string]secret.Place{"gone": {Env: "GONE"}, "empty": {Env: "EMPTY"}, "long": {Env: "LONG"}}
	getenv := environment("EMPTY", "", "LONG", "long-enough", "PIN", "1234\n")
	if err := secret.New(secret.Options{Getenv: getenv, Places: places}).TooShort(); err != nil {
		t.Error(err)
	}
	places["pin"] = secret.Place{Env: "PIN"}
	if err := secret.New(secret.Options{Getenv: getenv, Places: places}).TooShort(); err == nil || !strings.Contains(err.Error(), "secret pin has fewer than 6 characters") {
		t.Error(err)
	}
}

// Secrets are hidden even if a program breaks them into lines. The line end after the last
// line is not part of the secret, even if that line is full.
func TestBrokenLinesAreHidden(t *testing.T) {
	for _, size := range []int{30, 48, 57, 108} {
		m := &secret.Masker{}
		key := strings.Repeat("Ab9_-x", size)[:size]
		m.Add(key)
		text := base64.StdEncoding.EncodeToString([]byte(key))
		for _, c := range []struct {
			text  string
			width int
		}{{text, 64}, {text, 76}, {hex.EncodeToString([]byte(key)), 60}} {
			var lines []string
			for rest := c.text; rest != ""; rest = rest[min(c.width, len(rest)):] {
				lines = append(lines, rest[:min(c.width, len(rest))])
			}
			for _, end := range []string{"\n", "\r\n", `\n`} {
				if got := m.Mask("a " + strings.Join(lines, end) + end + "b"); got != "a ***"+end+"b" {
					t.Errorf("%d bytes in lines of %d: %q", size, c.width, got)
				}
			}
		}
	}
}

// odd and spaced are secrets with characters that each encoding escapes differently, and
// with characters just inside and outside the escaped ranges.
const (
	odd    = `p/a+s"s w<o>r&d'%ü\1`
	spaced = "09-AZ_az.mM~5 &/:@[`{"
	// control contains characters that Go and JSON escape in different ways, and one that need not
	// be escaped.
	control = "tab\tbell\a\x7f<ü>end"
)

// quoted returns a text as JSON in the ways that programs write it: some escape <, > and &.
func quoted(text string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestEveryFormIsHidden(t *testing.T) {
	for _, value := range []string{odd, spaced, control, strings.Repeat(odd, 5)} {
		m := &secret.Masker{}
		m.Add(value)
		escaped := strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
		inner := func(text string) string { return text[1 : len(text)-1] }
		for name, form := range map[string]string{
			"plain": value, "json": inner(quoted(value, false)), "json for HTML": inner(quoted(value, true)),
			"json in json":                   inner(quoted(inner(quoted(value, false)), false)),
			"json in json for HTML":          inner(quoted(inner(quoted(value, false)), true)),
			"json for HTML in json":          inner(quoted(inner(quoted(value, true)), false)),
			"json for HTML in json for HTML": inner(quoted(inner(quoted(value, true)), true)),
			"go":                             inner(fmt.Sprintf("%q", value)), "go ascii": inner(fmt.Sprintf("%+q", value)),
			"query": url.QueryEscape(value), "path": url.PathEscape(value), "percent": escaped,
			"lower percent": regexp.MustCompile("%..").ReplaceAllStringFunc(escaped, strings.ToLower),
			"html":          html.EscapeString(value), "shell": strings.ReplaceAll(value, "'", `'\''`),
			"hex": hex.EncodeToString([]byte(value)), "HEX": fmt.Sprintf("%X", value),
		} {
			if got := m.Mask("<" + form + ">"); got != "<***>" {
				t.Errorf("%s: %s is shown as %s", name, form, got)
			}
		}
	}
}

// Base64 mixes the bytes of a secret with those before and after it. Every character that depends
// only on the secret is masked.
func TestBase64IsHidden(t *testing.T) {
	for _, value := range []string{odd, odd + "1", odd + "12"} {
		m := &secret.Masker{}
		m.Add(value)
		for before := range 5 {
			for after := range 5 {
				for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
					text := encoding.EncodeToString([]byte(strings.Repeat("u", before) + value + strings.Repeat("z", after)))
					from, to := (before*8+5)/6, (before+len(value))*8/6
					if before%3 == 0 && after == 0 && strings.HasSuffix(text, "=") { // all of it belongs to the secret
						to = len(text)
					}
					if got, want := m.Mask(text), text[:from]+"***"+text[to:]; got != want {
						t.Errorf("%d bytes with %d before and %d behind: %s is shown as %s, want %s", len(value), before, after, text, got, want)
					}
				}
			}
		}
	}
}

func TestLinesOfASecretAreHidden(t *testing.T) {
	lines := []string{"-----BEGIN KEY-----", "MIIEpAIBAAKCAQEA1234", "c2Vjb25kIGxpbmUgaXMgaGVyZQ", "short", "-----END KEY-----"}
	m := &secret.Masker{}
	m.Add(strings.Join(lines, "\n"))
	got := m.Mask("log: " + lines[0] + "\nlog: " + lines[1] + "\nlog: " + lines[2] + "\nlog: " + lines[3])
	if want := "log: -----BEGIN KEY-----\nlog: ***\nlog: ***\nlog: short"; got != want {
		t.Errorf("masked: %q", got)
	}
	if got := m.Mask("x" + strings.Join(lines, "\n") + "y"); got != "x***y" {
		t.Errorf("masked: %q", got)
	}
}

func TestShortValuesAreNoSecrets(t *testing.T) {
	m := &secret.Masker{}
	m.Add("", "a", "12345")
	for _, text := range []string{"a 12345 b", "3132333435", "MTIzNDU="} { // also in other forms
		if got := m.Mask(text); got != text {
			t.Errorf("masked: %q", got)
		}
	}
}

// inPieces masks a text that arrives in pieces of the given lengths.
func inPieces(m *secret.Masker, text string, lengths ...int) (shown string, calls int) {
	var b strings.Builder
	write, flush := m.Stream(func(p []byte) { b.Write(p); calls++ })
	for i := 0; len(text) > 0; i++ {
		n := min(len(text), max(1, lengths[i%len(lengths)]))
		write([]byte(text[:n]))
		text = text[n:]
	}
	flush()
	return b.String(), calls
}

func TestStreamHidesAcrossPieces(t *testing.T) {
	m := &secret.Masker{}
	m.Add("secret-one", "one-two-three", "aaaaaa", "three3", "pre-inside-post", "inside", "outer-and-more", "outer-", "ZabaD-xy!", "abaC99", "aD-xyz")
	for text, want := range map[string]string{
		"":                             "",
		"nothing":                      "nothing",
		"x secret-one y":               "x *** y",
		"secret-on secret-on":          "secret-on secret-on",
		"secret-one-two-three3":        "***",
		"secret-one-two-four":          "***-two-four",
		"secret-onesecret-one":         "******",
		"aaaaaaaaa":                    "***",
		"aaaaa aaaaaa":                 "aaaaa ***",
		"secret-secret-secret-one end": "secret-secret-*** end",
		"pre-inside-post":              "***",
		"pre-inside-po":                "pre-***-po",
		"pre-inside":                   "pre-***",
		"xx pre-inside-po":             "xx pre-***-po",
		"xx pre-inside-post":           "xx ***",
		"pre-insidepre-inside-post":    "pre-******",
		"outer-":                       "***",
		"ZabaD-xyz":                    "Zab***", // it does not continue as its longest suffix would
		"outer-and-mor":                "***and-mor",
		"outer-and-more":               "***",
	} {
		if got := m.Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
		for n := 1; n <= len(text)+1; n++ {
			if got, _ := inPieces(m, text, n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, n, got, want)
			}
		}
	}
}

// Only text that may be the beginning of a secret is held back.
func TestStreamHoldsBackNoMoreThanItMust(t *testing.T) {
	m := &secret.Masker{}
	m.Add("secret-one")
	var got []string
	write, flush := m.Stream(func(p []byte) { got = append(got, string(p)) })
	for _, piece := range []string{"T", "he sec", "ond is ", "se", "cret-", "one", ".", "sec"} {
		write([]byte(piece))
		got = append(got, "|")
	}
	flush()
	want := []string{"T", "|", "he ", "|", "second is ", "|", "|", "|", "***", "|", ".", "|", "|", "sec"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("given on: %q, want %q", got, want)
	}
}

func TestSecretsBecomeKnownMeanwhile(t *testing.T) {
	m := &secret.Masker{}
	var b strings.Builder
	write, flush := m.Stream(func(p []byte) { b.Write(p) })
	write([]byte("token-1 "))
	m.Add("token-1")
	write([]byte("token-1 tok"))
	m.Add("token-2")
	write([]byte("en-1 token-2"))
	flush()
	if got := b.String(); got != "token-1 *** *** ***" {
		t.Errorf("shown: %q", got)
	}
}

// A secret that is already masked stays masked when another one becomes known while the first could
// still be the beginning of a longer one.
func TestSecretsBecomeKnownBehindOne(t *testing.T) {
	m := &secret.Masker{}
	m.Add("outer-", "outer-and-more")
	var b strings.Builder
	write, flush := m.Stream(func(p []byte) { b.Write(p) })
	write([]byte("<outer-an"))
	m.Add("token-2")
	write([]byte("d-mor token-2>"))
	flush()
	if got := b.String(); got != "<***and-mor ***>" {
		t.Errorf("shown: %q", got)
	}
}

// Without a function for variables, those of the process are used. A store must not read files that
// are not trusted.
func TestOnlyWhatIsTrusted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"good", "bad", "alsobad"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("value-of-"+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOCKET_TEST_SECRET", "value-of-variable")
	trusted := false
	s := secret.New(secret.Options{Dir: dir, Hidden: []secret.Place{{File: "alsobad"}}, May: func(file string) bool { return trusted || file == "good" },
		Places: map[string]secret.Place{"variable": {Env: "HOCKET_TEST_SECRET"}, "good": {File: "good"}, "bad": {File: "bad"}}})
	const text = "value-of-variable value-of-good value-of-bad value-of-alsobad"
	if got := s.Masker().Mask(text); got != "*** *** value-of-bad value-of-alsobad" {
		t.Errorf("some are hidden: %s", got)
	}
	if _, err := s.Get("bad"); err == nil || !strings.Contains(err.Error(), "is not trusted") {
		t.Error(err)
	}
	if got, err := s.Get("good"); got != "value-of-good" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	trusted = true
	if got := s.Masker().Mask(text); got != "*** *** *** ***" {
		t.Errorf("all are hidden: %s", got)
	}
}

func TestMaskerIsSafeForConcurrentUse(t *testing.T) {
	m := &secret.Masker{}
	var mu sync.Mutex
	var b strings.Builder
	write, flush := m.Stream(func(p []byte) { mu.Lock(); defer mu.Unlock(); b.Write(p) })
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			m.Add(fmt.Sprintf("secret-%d", i))
			write([]byte("line\n"))
			m.Mask("secret-1")
		})
	}
	group.Wait()
	flush()
	if got := strings.Count(b.String(), "line\n"); got != 8 {
		t.Errorf("%d lines are left", got)
	}
}

// Whatever the text and its pieces are, the secret never appears, and the pieces make no
// difference.
func FuzzStream(f *testing.F) {
	f.Add("xx secret-one yy", "secret-one", "one-tw", uint8(3), uint8(1))
	f.Add("aaaaaaaaaa", "aaaaaa", "aaaaaaa", uint8(2), uint8(5))
	f.Add("abcabcabcabd", "abcabd", "bcabca", uint8(1), uint8(7))
	f.Fuzz(func(t *testing.T, text, one, two string, a, b uint8) {
		if len(text) > 1<<12 || len(one) > 1<<8 || len(two) > 1<<8 {
			return
		}
		m := &secret.Masker{}
		m.Add(one, two)
		want := m.Mask(text)
		if got, _ := inPieces(m, text, int(a), int(b)); got != want {
			t.Fatalf("in pieces of %d and %d %q is %q, else %q", a, b, text, got, want)
		}
		for _, value := range []string{strings.TrimSpace(one), strings.TrimSpace(two)} {
			if len(value) >= secret.Shortest && !strings.Contains(value, "*") && strings.Contains(want, value) {
				t.Fatalf("%q still shows %q", want, value)
			}
		}
	})
}

func benchmarkMasker() *secret.Masker {
	m := &secret.Masker{}
	for i := range 10 {
		m.Add(fmt.Sprintf("sk-ant-api03-%02d-%s", i, strings.Repeat("Ab9_-", 18)))
	}
	return m
}

func BenchmarkMask(b *testing.B) {
	m := benchmarkMasker()
	text := strings.Repeat("The quick brown fox jumps over the lazy dog; skip asks for sk-ant nothing.\n", 14000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.Mask(text)
	}
}

func BenchmarkStream(b *testing.B) {
	m := benchmarkMasker()
	piece := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 90))
	write, flush := m.Stream(func([]byte) {})
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		write(piece)
	}
	flush()
}

func BenchmarkAdd(b *testing.B) {
	for b.Loop() {
		benchmarkMasker()
	}
}

// A file that a project names is opened when there is something to mask, or when its secret is
// requested, but not when the project is only inspected.
func TestFilesAreNotOpenedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	s := secret.New(secret.Options{Getenv: environment(), Places: map[string]secret.Place{"token": {File: file}}})
	if err := os.WriteFile(file, []byte("tok-123456\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.Masker().Mask("tok-123456"); got != "***" { // it did not exist when the store was created
		t.Errorf("masked: %q", got)
	}
}
