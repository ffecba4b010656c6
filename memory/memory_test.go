package memory

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-dev/hocket/internal/database"
)

func open(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func add(t testing.TB, s *Store, text string, tags ...string) Memory {
	t.Helper()
	m, err := s.Add(context.Background(), text, tags, "test")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func search(t testing.TB, s *Store, query string, tags ...string) []string {
	t.Helper()
	found, err := s.Search(context.Background(), query, 5, tags)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	texts := []string{}
	for _, f := range found {
		texts = append(texts, f.Text)
	}
	return texts
}

func TestSearchFindsTheBestFirst(t *testing.T) {
	s := open(t, t.TempDir())
	const (
		port   = "The staging server listens on port 8443."
		deploy = "Deployments to staging need an approval by Ada."
		parse  = "parseConfig in internal/config panics on empty files"
		french = "Le café n'accepte pas les cartes."
		kyoto  = "京都のサーバーは毎晩再起動する"
		tests  = "Integration tests are flaky on Fridays"
	)
	for _, text := range []string{port, deploy, parse, french, kyoto, tests} {
		add(t, s, text)
	}
	for query, want := range map[string]string{
		"which port does the staging server use?": port, "Who approves deployments?": deploy, "fix the config parser: parse_config()": parse,
		"parseConfig": parse, "CONFIG": parse, "cafe": french, "CAFÉS": french, "京都": kyoto, "再起動": kyoto, "サーバー": kyoto,
		"a flaky test": tests, "testing on friday": tests, "8443": port,
	} {
		if got := search(t, s, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %q, want %q first", query, got, want)
		}
	}
	for _, query := range []string{"", " ", "the and of", "zebra", "東京", "?!", "\x00", "\xff\xfe"} {
		if got := search(t, s, query); len(got) != 0 {
			t.Errorf("%q finds %q", query, got)
		}
	}
}

// Search works in languages other than English: without spaces, with or without vowel
// points, with articles and endings.
func TestSearchInOtherLanguages(t *testing.T) {
	s := open(t, t.TempDir())
	memories := map[string]string{
		"zh": "预发布服务器监听端口八千，喝茶的时候重启。", "ja": "ステージングサーバーはポートで待ち受けます。", "ko": "스테이징 서버는 포트에서 대기합니다.",
		"ar": "الخادم التجريبي يستمع على المنفذ", "he": "שרת הבדיקות מאזין בפורט של המערכת", "th": "เซิร์ฟเวอร์ทดสอบฟังที่พอร์ต",
		"ru": "Тестовый сервер слушает порт", "hi": "स्टेजिंग सर्वर पोर्ट पर सुनता है", "de": "Der Prüfserver steht in der Hauptstraße", "tr": "Sunucu İSTANBUL şehrinde", "pl": "Serwer stoi w mieście Łódź",
		"vi": "Máy chủ thử nghiệm ở Hà Nội", "fa": "سرور آزمایشی روی پورت گوش می\u200cدهد",
	}
	for _, text := range memories {
		add(t, s, text)
	}
	for _, c := range []struct{ language, query string }{
		{"zh", "服务器"}, {"zh", "端口"}, {"zh", "茶"}, {"zh", "服务器的端口是什么？"}, {"ja", "サーバー"}, {"ja", "ﾎﾟｰﾄ"}, {"ko", "서버"},
		{"ar", "الخادم"}, {"ar", "خادم"}, {"ar", "الْخَادِمُ"}, {"ar", "والخادم"}, {"ar", "منفذ"}, {"he", "פורט"}, {"he", "בדיקות"}, {"he", "מערכת"}, {"he", "שֶׁרֶת"},
		{"th", "พอร์ต"}, {"ru", "СЕРВЕРА"}, {"ru", "серверами"}, {"ru", "порты"}, {"hi", "सर्वर"}, {"de", "HAUPTSTRASSE"}, {"de", "prufserver"}, {"tr", "istanbul"}, {"tr", "İstanbul"}, {"pl", "lodz"}, {"pl", "ŁÓDŹ"},
		{"vi", "ha noi"}, {"fa", "پورت"}, {"fa", "سرور"},
	} {
		if got := search(t, s, c.query); len(got) == 0 || got[0] != memories[c.language] {
			t.Errorf("%s finds %q, want %q first", c.query, got, memories[c.language])
		}
	}
}

func TestOfEqualOnesTheNewestIsFirst(t *testing.T) {
	s := open(t, t.TempDir())
	for i := range 3 {
		add(t, s, fmt.Sprintf("release number%d", i))
	}
	if got := search(t, s, "release"); !reflect.DeepEqual(got, []string{"release number2", "release number1", "release number0"}) {
		t.Errorf("found %q", got)
	}
}

// Memories with more of the words, more often, and with rarer words rank higher.
func TestRanking(t *testing.T) {
	s := open(t, t.TempDir())
	for _, text := range []string{"apple banana", "apple", "apple apple apple", "apple " + strings.Repeat("filler stuffing ", 20)} {
		add(t, s, text)
	}
	if got := search(t, s, "banana apple"); len(got) != 4 || got[0] != "apple banana" || got[1] != "apple apple apple" || got[2] != "apple" {
		t.Errorf("found %q", got)
	}
}

// A word that occurs in very many memories is still found, newest memory first.
func TestFrequentWords(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.transact(context.Background(), func(tx *sql.Tx) error {
		for i := range maxEach + 100 {
			m := Memory{Text: "common", Tags: []string{fmt.Sprintf("n%d", i)}}
			if err := insert(context.Background(), tx, &m, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Search(context.Background(), "common", 2, nil)
	if err != nil || len(found) != 2 || found[0].ID != maxEach+100 || found[1].ID != maxEach+99 {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err = s.Search(context.Background(), "common", 2, []string{"n0"}); err != nil || len(found) != 1 || found[0].ID != 1 {
		t.Errorf("with a tag: %+v, %v", found, err)
	}
}

// A query is plain text without search syntax.
func TestAQueryHasNoSyntax(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s, "alpha beta")
	for _, query := range []string{
		`"alpha`, `alpha AND`, `alpha* NEAR(`, `text:alpha`, `-alpha`, `^alpha`, `{text} : alpha`, `alpha"; DROP TABLE memories; --`, `(((alpha`, `alpha' OR '1'='1`,
		"NOT alpha", "alpha\x00beta", "func f(a <-chan int) { alpha() }", strings.Repeat("alpha ", 20000),
	} {
		if got := search(t, s, query); len(got) != 1 {
			t.Errorf("%.40q finds %q", query, got)
		}
	}
}

func TestTags(t *testing.T) {
	s := open(t, t.TempDir())
	both := add(t, s, "one build", "CI", " docs ", "ci")
	add(t, s, "two build", "ci")
	add(t, s, "three build")
	if !reflect.DeepEqual(both.Tags, []string{"ci", "docs"}) {
		t.Errorf("tags %q", both.Tags)
	}
	if got := search(t, s, "build", "Docs", "ci"); !reflect.DeepEqual(got, []string{"one build"}) {
		t.Errorf("with both tags: %q", got)
	}
	if got := search(t, s, "build", "ci"); len(got) != 2 {
		t.Errorf("with a tag: %q", got)
	}
	if got := search(t, s, "docs"); !reflect.DeepEqual(got, []string{"one build"}) {
		t.Errorf("a tag is a word too: %q", got)
	}
	list, err := s.List(context.Background(), 0, 0, []string{"ci"})
	if err != nil || len(list) != 2 || list[0].Text != "two build" || list[1].Source != "test" || !reflect.DeepEqual(list[1], both) {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if list, err = s.List(context.Background(), 0, 1, nil); err != nil || len(list) != 1 || list[0].Text != "three build" {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

func TestForgottenIsGone(t *testing.T) {
	s := open(t, t.TempDir())
	first, second := add(t, s, "alpha shared", "x"), add(t, s, "beta shared")
	if err := s.Delete(context.Background(), first.ID); err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownError
	if err := s.Delete(context.Background(), first.ID); !errors.As(err, &unknown) || err.Error() != "unknown memory 1" {
		t.Errorf("a second time: %v", err)
	}
	if got := search(t, s, "alpha"); len(got) != 0 {
		t.Errorf("still found: %q", got)
	}
	if got := search(t, s, "shared"); !reflect.DeepEqual(got, []string{second.Text}) {
		t.Errorf("found %q", got)
	}
	if third := add(t, s, "gamma"); third.ID <= second.ID {
		t.Errorf("the number %d is used again", third.ID)
	}
}

// Forgotten memories leave nothing in the files, neither the text nor its words.
func TestForgottenLeavesTheFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	add(t, s, "ordinary things")
	var ids []int64
	for i := range 50 {
		ids = append(ids, add(t, s, fmt.Sprintf("The passphrase is xylophoneword%d.", i), "quokkatag").ID)
	}
	if !inFiles(t, dir, "xylophoneword") {
		t.Fatal("it never was in the files: this test would see nothing")
	}
	for _, id := range ids {
		if err := s.Delete(context.Background(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{"xylophoneword", "xylophon", "passphras", "quokkatag", hex.EncodeToString([]byte("quokkatag"))} {
		if inFiles(t, dir, word) {
			t.Errorf("%q is still in the files", word)
		}
	}
	if got := search(t, s, "ordinary"); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}

func inFiles(t *testing.T, dir, word string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}

// Memories indexed by a version that split text differently can still be found and
// forgotten.
func TestAnOlderIndexIsMadeAnew(t *testing.T) {
	dir := t.TempDir()
	old := &database.Kind{Name: kind.Name, Magic: kind.Magic, Steps: migrations[:1]}
	write, read, err := old.Open(filepath.Join(dir, fileName), database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`INSERT INTO memories (text, tags, source, created) VALUES ('Die Straße ist gesperrt', '["weg"]', '', 1), ('eine andere', '[]', '', 2)`,
		`INSERT INTO words (rowid, text, tags) VALUES (1, 'die straße ist gesperrt', ''), (2, 'eine andere', '')`,
		`INSERT INTO terms VALUES ('straße', 1), ('andere', 1)`, `UPDATE totals SET memories = 2, words = 6`,
	} {
		if _, err := write.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := database.Close(read, write); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup // that notice the old index at the same time
	for range 4 {
		group.Go(func() {
			s, err := Open(dir)
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s := open(t, dir)
	if got := search(t, s, "STRASSE", "weg"); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	if err := s.Delete(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if got := search(t, s, "strasse andere"); len(got) != 1 || got[0] != "eine andere" {
		t.Errorf("found %q", got)
	}
}

func TestWhatCannotBeKept(t *testing.T) {
	s := open(t, t.TempDir())
	var invalid *InvalidError
	for _, tt := range []struct {
		text string
		tags []string
		want string
	}{
		{" \n", nil, "the text is empty"}, {strings.Repeat("x", MaxText+1), nil, "at most 65536 are allowed"}, {"a\xff", nil, "not valid UTF-8"},
		{"a", []string{""}, `invalid tag ""`}, {"a", []string{"x\ny"}, "invalid tag"}, {"a", []string{strings.Repeat("t", 65)}, "invalid tag"},
		{"a", strings.Split("abcdefghijklmnopqrstuvwxyz0123456789", ""), "too many tags: 36"},
	} {
		if _, err := s.Add(context.Background(), tt.text, tt.tags, ""); !errors.As(err, &invalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.10q %q gives %v", tt.text, tt.tags, err)
		}
	}
	if list, err := s.List(context.Background(), 0, 0, nil); err != nil || len(list) != 0 {
		t.Errorf("kept: %v, %v", list, err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if _, err := OpenExisting(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without memories: %v", err)
	}
	s := open(t, dir)
	add(t, s, "x")
	again, err := OpenExisting(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return // Windows files have no modes
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 2 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
}

func TestManyWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			s, err := Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			for j := range 5 {
				if _, err := s.Add(context.Background(), fmt.Sprintf("shared %d %d", i, j), nil, ""); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if list, err := open(t, dir).List(context.Background(), 0, 0, nil); err != nil || len(list) != 20 {
		t.Errorf("%d memories, %v", len(list), err)
	}
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir string)
		want    string
	}{
		"text": {func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, fileName), []byte(strings.Repeat("no database ", 100)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "the file is not a hocket database"},
		"newer":  {func(t *testing.T, dir string) { change(t, dir, "PRAGMA user_version = 99") }, "its schema has version 99, but this program supports version 3"},
		"others": {func(t *testing.T, dir string) { change(t, dir, "PRAGMA application_id = 7") }, "it is the database of another program"},
	} {
		dir := t.TempDir()
		tt.prepare(t, dir)
		_, err := Open(dir)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || e.Hint() == "" {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// change modifies the database in a way the program never does.
func change(t *testing.T, dir, statement string) {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"The tests were tested by testing":       "test test test",
		"stopped stopping stops":                 "stop stop stop",
		"classes, cache caches cached caching":   "class cach cach cach cach",
		"policies policy":                        "policy policy",
		"parseConfigFile parse_config HTTP2":     "parseconfigfil pars config file pars config http2",
		"Straße ÜBER naïve Ångström":             "strass uber naiv angstrom",
		"Łódź øre Æther":                         "lodz ore aether",
		"ﬁle ｆｕｌｌ①":                              "file full1",
		"日本語text한국어":                             "日本 本語 text 한국 국어",
		"string process status analysis boss":    "string process status analysis boss",
		strings.Repeat("x", 65) + " short a 1 x": "short",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("words of %q are %q, want %q", text, got, want)
		}
	}
}

func FuzzSearch(f *testing.F) {
	s := open(f, f.TempDir())
	add(f, s, "alpha beta")
	for _, query := range []string{`"`, "a AND (", "日本", "\x00\xff", "x* y^2", "ＡＬＰＨＡ", "e\u0301"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		search(t, s, query)
		for _, w := range words(query) {
			if strings.ContainsFunc(w, func(r rune) bool { return !inWord(r) }) {
				t.Errorf("%q gives the word %q", query, w)
			}
		}
	})
}

// With a key, a memory is added once; another text or other tags with the same key are refused.
func TestAddOnce(t *testing.T) {
	s := open(t, t.TempDir())
	once := func(key, text string, tags ...string) (int64, error) {
		m, err := s.AddOnce(t.Context(), key, text, tags, "test")
		return m.ID, err
	}
	first, err := once("k", "It rains", "b", "a")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := once("k", "It rains", "a", "B"); err != nil || again != first {
		t.Errorf("again: %d, %v", again, err)
	}
	var used *KeyError
	if _, err := once("k", "It snows", "a", "b"); !errors.As(err, &used) || used.ID != first {
		t.Errorf("another text: %v", err)
	}
	if _, err := once("k", "It rains"); !errors.As(err, &used) {
		t.Errorf("other tags: %v", err)
	}
	for range 2 {
		if other, err := once("", "It rains", "a", "b"); err != nil || other == first {
			t.Errorf("without a key: %d, %v", other, err)
		}
	}
	if err := s.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if other, err := once("k", "It snows"); err != nil || other == first {
		t.Errorf("after it was deleted: %d, %v", other, err)
	}
}
