package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const sample = `package m

import (
	"errors"
	"strings"
	"time"
)

const size = 2

var table = [size]int{4, 5}

var words = []string{"one", strings.ToUpper("two")}

var rules = map[string][]rule{"a": {{"x", 1}}, "b": {}}

type rule struct {
	name string
	n    uint8
}

type answer bool

func chain(a, b, c bool) bool { return a && b && c }

func condition(a, b, c bool) string {
	if a && b && c || !a {
		return "yes"
	} else if x := b && c || a; !x {
		return "perhaps"
	}
	return "no"
}

func arithmetic(n int) int {
	x := 2*n + 1
	y := -1
	mode := mode() | 4
	return x*y + int(mode)
}

func named(a answer) answer {
	b := !a || a
	return b
}

func loops(n int) (steps int) {
outer:
	for i := 0; i < n; i++ {
		for {
			tick()
			steps++
			if steps > 3 {
				break
			}
			if i == 1 {
				continue outer
			}
		}
	}
	return
}

func channel() int {
	c := make(chan int, 1)
	select {
	case c <- 6 - 1:
	default:
	}
	return <-c
}

func long(d time.Duration) time.Duration {
	d *= 2
	return d + 3*time.Second
}

func choice(n int) string {
	switch n {
	case 1:
		return "one"
	case 2, 3:
		n++
	}
	switch {
	case n > 3:
		return words[1]
	}
	return words[0]
}

func late() (text string) {
	defer func() {
		if recover() != nil {
			text += "recovered"
		}
	}()
	panic("late")
}

func several(n int) (*rule, int, error) {
	if n < 0 {
		return nil, 0, errors.New("negative")
	}
	return &rules["a"][0], n, nil
}
`

// trace shows what all functions of the sample return.
const trace = `package m

import (
	"fmt"
	"io/fs"
)

var ticks int

func tick() {
	if ticks++; ticks > 100 {
		panic("endless")
	}
}

func mode() fs.FileMode { return 3 }

func Trace() string {
	text := fmt.Sprintln(table, words, rules)
	try := func(f func() any) {
		defer func() {
			if r := recover(); r != nil {
				text += fmt.Sprintln("panic", r)
			}
		}()
		ticks = 0
		text += fmt.Sprintln(f())
	}
	for i := range 8 {
		a, b, c := i&1 > 0, i&2 > 0, i&4 > 0
		try(func() any { return chain(a, b, c) })
		try(func() any { return condition(a, b, c) })
		try(func() any { return named(answer(a)) })
	}
	for n := range 6 {
		try(func() any { return arithmetic(n) })
		try(func() any { return loops(n) })
		try(func() any { return choice(n) })
		try(func() any { r, n, err := several(n - 1); return fmt.Sprint(r, n, err) })
	}
	try(func() any { return channel() })
	try(func() any { return long(5) })
	try(func() any { return late() })
	return text
}
`

// A program with all mutants behaves like a mutant that was built alone.
func TestSchema(t *testing.T) {
	files := map[string]string{"m/m.go": sample, "m/trace.go": trace, "m/m_test.go": `package m

import "testing"

func TestTrace(t *testing.T) { t.Logf("0 %q", Trace()) }
`}
	writeModule(t, files)
	p, err := load(target{name: "m/m.go"})
	if err != nil {
		t.Fatal(err)
	}
	s := newSchema(p, slices.DeleteFunc(p.mutants(), func(m mutant) bool { return !p.compiles(m) }))
	var imports, calls strings.Builder
	var alone []string
	for i, m := range s.mutants {
		files[fmt.Sprintf("m%d/m.go", i)] = string(m.apply([]byte(sample)))
		files[fmt.Sprintf("m%d/trace.go", i)] = trace
		fmt.Fprintf(&imports, "\tm%d \"example.com/m%[1]d\"\n", i)
		fmt.Fprintf(&calls, "\tt.Logf(\"%d %%q\", m%[1]d.Trace())\n", i)
		if s.alone(i + 1) {
			alone = append(alone, m.String())
		}
	}
	files["all/all_test.go"] = fmt.Sprintf("package all\n\nimport (\n\t\"testing\"\n%s)\n\nfunc TestTrace(t *testing.T) {\n%s}\n", &imports, &calls)
	writeModule(t, files)
	b, err := newBench()
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	build := func(dir string, changed map[string][]byte) []byte {
		program, err := b.build(t.Context(), dir, changed)
		if err != nil {
			t.Fatal(err)
		}
		return program
	}
	traces := func(program []byte, number int) [][]string {
		printed, err := b.test(t.Context(), tests{dir: "m"}, with(program, number), time.Hour, "-test.v")
		if err != nil {
			t.Fatal(err, printed)
		}
		return regexp.MustCompile(`: \d+ (".*")`).FindAllStringSubmatch(printed, -1)
	}
	want := traces(build("all", nil), 0)
	original := traces(build("m", nil), 0)[0][1]
	program := build("m", s.changed())
	for i, m := range s.mutants {
		if got := traces(program, i+1)[0][1]; !s.alone(i+1) && got != want[i][1] {
			t.Errorf("%s\ngot  %s\nwant %s", m, got, want[i][1])
		}
	}
	if got := traces(program, 0)[0][1]; got != original {
		t.Errorf("without a mutant\ngot  %s\nwant %s", got, original)
	}
	// A constant, and a labelled statement.
	if want := []string{"m/m.go -: 2 => 2+1", "m/m.go loops: i++ => nothing"}; !slices.Equal(alone, want) {
		t.Errorf("built alone: %q", alone)
	}
}
