package chaos

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is the size of a page of the journal.
const page = 4096

// damages are what disks, file systems and copies do to a file.
var damages = []struct {
	name string
	do   func(data []byte, random *rand.Rand) []byte
}{
	{"a flipped bit", func(data []byte, random *rand.Rand) []byte {
		data[random.IntN(len(data))] ^= 1 << random.IntN(8)
		return data
	}},
	{"a page of zeros", func(data []byte, random *rand.Rand) []byte {
		clear(pageOf(data, random))
		return data
	}},
	{"a page of something else", func(data []byte, random *rand.Rand) []byte {
		for i, to := 0, pageOf(data, random); i < len(to); i++ {
			to[i] = byte(random.Uint32())
		}
		return data
	}},
	{"two pages that changed places", func(data []byte, random *rand.Rand) []byte {
		a, b := pageOf(data, random), pageOf(data, random)
		for i := range min(len(a), len(b)) {
			a[i], b[i] = b[i], a[i]
		}
		return data
	}},
	{"a lost end", func(data []byte, random *rand.Rand) []byte {
		return data[:random.IntN(len(data))]
	}},
	{"changed text", func(data []byte, random *rand.Rand) []byte {
		at := random.IntN(len(data))
		for i := at; i < len(data); i++ {
			if c := data[i]; 'a' <= c && c <= 'z' {
				data[i] = 'a' + byte(random.IntN(26))
				break
			}
		}
		return data
	}},
}

func pageOf(data []byte, random *rand.Rand) []byte {
	at := random.IntN((len(data)+page-1)/page) * page
	return data[at:min(at+page, len(data))]
}

// TestDamage damages the journal of a finished run, and queries the program about it. The
// program must either report the exact outcome of the run, or an error.
func TestDamage(t *testing.T) {
	p := newProject(t, map[string]string{"work.yml": work})
	if got := p.call("run", "work.yml", "--quiet"); got.code != 0 {
		t.Fatalf("run: %s%s", got.out, got.err)
	}
	run := p.runs()[0]
	// The list of runs has no checksums, so it is not queried: see docs/rough-edges.md.
	questions := [][]string{{"show", run, "--json"}, {"events", run}}
	answers := make([]string, len(questions))
	for i, q := range questions {
		answers[i] = p.call(q...).out
	}
	file := filepath.Join(p.state, "journal.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	random := rand.New(rand.NewPCG(*seed, 2))
	met := map[string]int{}
	for n := range *journals {
		damage := damages[n%len(damages)]
		damaged := damage.do(append([]byte{}, whole...), random)
		for _, left := range []string{"-wal", "-shm"} {
			if err := os.RemoveAll(file + left); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		q := random.IntN(len(questions))
		got := p.call(questions[q]...)
		asked := strings.Join(questions[q], " ")
		switch {
		case strings.Contains(got.err, "panic") || strings.Contains(got.out, "goroutine "):
			t.Fatalf("journal %d, %s: %s panics\n%s%s", n, damage.name, asked, got.out, got.err)
		case got.code == 0 && got.out == answers[q]:
			met["not noticed, and not needed"]++
		case got.code != 0 && got.err != "":
			met["reported"]++
		default:
			t.Errorf("journal %d, %s: %s says with code %d\n%s%s\nbefore the damage\n%s", n, damage.name, asked, got.code, got.out, got.err, answers[q])
		}
	}
	t.Logf("of %d damages were %v", *journals, met)
}
