package workflow

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// A word is replaced by another one only if there is no doubt about it.
func TestMeant(t *testing.T) {
	names := []string{"agent", "agents", "on_error", "on", "when", "max", "prompt"}
	for written, want := range map[string]string{
		"agnet": "agent", "Agent": "agent", "agentt": "", "sattus": "", "onError": "on_error", "no": "", "wehn": "when", "mix": "", "MAX": "max", "propmt": "prompt", "pompous": "",
		"wen": "", "wehnn": "", "on_erro": "on_error", "n_erro": "", "onn_erro": "", "onn_errror": "on_error", "onn__errror": "",
	} {
		if got := Meant(written, names); got != want {
			t.Errorf("%s is taken for %q, not %q", written, got, want)
		}
	}
}

// A change applies where its words are, with or without quotes, and nowhere else.
func TestPlace(t *testing.T) {
	const text = "é: \"wrnog\"\r\nb: wrnog\n"
	at := func(line, from, to int) Change {
		return Change{At: Pos{File: "x", Line: line, Column: from, EndLine: line, EndColumn: to}, Was: "wrnog", Text: "wrong"}
	}
	elsewhere := at(2, 4, 9)
	elsewhere.At.File = "y"
	first := Change{At: Pos{File: "x", Line: 1, Column: 1, EndLine: 1, EndColumn: 2}, Was: "é", Text: "e"}
	added := Change{At: Pos{File: "x", Line: 2, Column: 1, EndLine: 2, EndColumn: 1}, Text: "# "}
	backwards := at(2, 4, 3)
	backwards.Was = ""
	ds := Diagnostics{{Change: at(2, 4, 9)}, {Change: at(1, 4, 11)}, {Change: at(1, 3, 8)}, {Change: at(2, 4, 99)}, {Change: at(9, 1, 2)}, {Change: elsewhere}, {Change: backwards}, {}, {Change: first}, {Change: added}}
	ds.Place("x", []byte(text))
	fixed, count := ds.Fixed([]byte(text))
	if want := "e: \"wrong\"\r\n# b: wrong\n"; string(fixed) != want || count != 4 {
		t.Errorf("%d changes give %q", count, fixed)
	}
}

// text returns a random text of few different characters, some of which have several bytes.
func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(12) {
		b.WriteString([]string{"a", "b", "ü", "判", "\n", "\r\n"}[random.IntN(6)])
	}
	return b.String()
}

// The position of every character is found, in any order, and no other.
func TestPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		text := randomText(random)
		if random.IntN(4) == 0 {
			text = "\uFEFF" + text // has no column
		}
		want := map[[2]int]int{}
		line, column := 1, 1
		for at := len(text) - len(strings.TrimPrefix(text, "\uFEFF")); ; {
			want[[2]int{line, column}] = at
			if at == len(text) {
				break
			}
			r, size := utf8.DecodeRuneInString(text[at:])
			if at, column = at+size, column+1; r == '\n' {
				line, column = line+1, 1
			}
		}
		p := placer{text: []byte(text), lines: lineStarts([]byte(text))}
		for range 30 {
			at := [2]int{random.IntN(line+3) - 1, 1 + random.IntN(14)}
			offset, ok := want[at]
			if !ok {
				offset = -1
			}
			if got := p.offset(at[0], at[1]); got != offset {
				t.Fatalf("line %d, column %d of %q is at %d, want %d", at[0], at[1], text, got, offset)
			}
		}
	}
}

// The source of a text knows where each of its characters is in the file.
func TestSourceAt(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		text := randomText(random)
		s := Source{Text: text, Indent: random.IntN(4), Pos: Pos{File: "f", Line: 1 + random.IntN(3), Column: 1 + random.IntN(3)}}
		place := func(offset int) (line, column int) {
			before := []rune(text[:min(offset, len(text))])
			line, column = s.Pos.Line, s.Pos.Column
			for _, r := range before {
				if column++; r == '\n' {
					line, column = line+1, max(1, s.Indent)
				}
			}
			return line, column
		}
		var starts []int
		for i := range text {
			starts = append(starts, i)
		}
		starts = append(starts, len(text), len(text)+5)
		from, to := starts[random.IntN(len(starts))], starts[random.IntN(len(starts))]
		want := Pos{File: "f"}
		want.Line, want.Column = place(from)
		want.EndLine, want.EndColumn = place(to)
		if got := s.At(from, to); got != want {
			t.Fatalf("%+v from %d to %d: %+v, want %+v", s, from, to, got, want)
		}
	}
	for _, pos := range []Pos{{File: "f"}, {Part: "step 1", Line: 1, EndLine: 1}} {
		if got := (Source{Text: "abc", Pos: pos}).At(1, 2); got != pos {
			t.Errorf("%+v became %+v", pos, got)
		}
	}
}

// distance returns the number of changes that lead from a to b, found by trying all of them.
func distance(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	replace := distance(a[1:], b[1:])
	if a[0] == b[0] {
		return replace
	}
	least := 1 + min(replace, distance(a[1:], b), distance(a, b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, 1+distance(a[2:], b[2:]))
	}
	return least
}

func TestEditDistance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b, limit := randomText(random), randomText(random), random.IntN(5)
		a, b = a[:min(len(a), 6)], b[:min(len(b), 6)]
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		want := min(distance([]rune(a), []rune(b)), limit+1)
		if got := editDistance(a, b, limit); got != want {
			t.Fatalf("from %q to %q, at most %d: %d, want %d", a, b, limit, got, want)
		}
	}
}
