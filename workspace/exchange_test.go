package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func unsupported(*os.Root, string, string) error { return errors.ErrUnsupported }

// fileSystems are what file systems can do, by what they cannot.
var fileSystems = map[string]func(){
	"everything":  func() {},
	"no exchange": func() { exchange = unsupported },
	"only links":  func() { exchange, renameNew = unsupported, unsupported },
	"nothing":     func() { exchange, renameNew, link = unsupported, unsupported, unsupported },
}

// onFileSystem lets the package work as on a file system, until the function that it returns is called.
func onFileSystem(name string) (restore func()) {
	a, b, c := exchange, renameNew, link
	fileSystems[name]()
	return func() { exchange, renameNew, link = a, b, c }
}

// onEach runs a test on each file system.
func onEach(t *testing.T, name string, test func(t *testing.T)) {
	for system := range fileSystems {
		t.Run(strings.Trim(name+", "+system, ", "), func(t *testing.T) {
			defer onFileSystem(system)()
			test(t)
		})
	}
}

// landing prepares a landing of one file.
func (f *fixture) landing() (*Store, *intent) {
	f.Helper()
	s := f.open()
	b := f.capture(s, "r1")
	c := f.change(s, "step", b.Commit, map[string]string{"a.txt": "changed\n"})
	l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: c})
	return s, f.intend(s, l)
}

// noTemps reports an error if something is left of a landing in the checkout.
func (f *fixture) noTemps() {
	f.Helper()
	if left, err := filepath.Glob(filepath.Join(f.repo, ".hocket*")); err != nil || left != nil {
		f.Errorf("left over: %v, %v", left, err)
	}
}

// TestEditedInTheLastMoment has a landing that was killed when a file had changed places with the new one, or was taken away for it, and a
// user who changed it in that moment. The file comes back.
func TestEditedInTheLastMoment(t *testing.T) {
	const old, fresh = "one\ntwo\nthree\n", "changed\n"
	for name, c := range map[string]struct {
		held, taken, spare, part string // as the landing left them; "": there is none
		now, want, mine          string
	}{
		"unchanged":           {held: old, now: fresh, want: fresh},
		"not exchanged":       {held: fresh, now: old, want: fresh},
		"replaced":            {held: "mine\n", now: fresh, want: "mine\n"},
		"removed":             {held: "mine\n", want: "mine\n"},
		"both":                {held: "mine\n", now: "mine, too\n", want: "mine, too\n", mine: "mine\n"},
		"taken":               {taken: old, want: fresh},
		"taken and replaced":  {taken: old, now: fresh, want: fresh},
		"taken and copied":    {taken: old, part: fresh, now: "chan", want: fresh},
		"created by copying":  {part: fresh, taken: old, now: "", want: fresh},
		"changed and taken":   {taken: "mine\n", want: "mine\n"},
		"given back":          {taken: "mine\n", spare: fresh, want: "mine\n"},
		"given back, copied":  {part: "mine\n", spare: fresh, now: "mi", want: "mine\n"},
		"changed when copied": {taken: old, part: fresh, now: "mine\n", want: "mine\n"},
		"three":               {taken: "mine\n", spare: "mine, too\n", want: "mine\n", mine: "mine, too\n"},
	} {
		onEach(t, name, func(t *testing.T) {
			f := newFixture(t)
			s, in := f.landing()
			for file, text := range map[string]string{in.heldName(0): c.held, in.takenName(0): c.taken, in.spareName(0): c.spare, in.partName(0): c.part} {
				if text != "" {
					f.put(file, text)
				}
			}
			f.put("a.txt", c.now)
			if c.now == "" {
				f.no(os.Remove(filepath.Join(f.repo, "a.txt")))
			}
			if _, err := s.carryOut(t.Context(), in); (err == nil) != (c.want == fresh) {
				t.Errorf("carried out: %v", err)
			}
			if got := f.read(f.repo, "a.txt"); got != c.want {
				t.Errorf("the file is %q, want %q", got, c.want)
			}
			if mine, _ := os.ReadFile(filepath.Join(f.repo, "a.txt.mine")); string(mine) != c.mine {
				t.Errorf("the other version is %q", mine)
			}
			f.noTemps()
		})
	}
}

// TestReplacedAfterTheKill has a landing that was killed when the user's only version had lost its place, and a user who gets the file back
// from the last commit, removes it or leaves it. No version is lost.
func TestReplacedAfterTheKill(t *testing.T) {
	const mine, landed, committed = "mine\none\ntwo\nthree\n", "mine\none\ntwo\nthree\nfour\n", "one\ntwo\nthree\n"
	for name, c := range map[string]struct {
		now   string // "": there is none
		taken bool
		kept  bool
	}{
		"taken and replaced": {committed, true, true},
		"held and replaced":  {committed, false, true},
		"held and removed":   {"", false, true},
		"taken":              {"", true, false}, // it has its place again
		"landed":             {landed, true, false},
		"the same":           {mine, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put("a.txt", mine)
			s := f.open()
			b := f.capture(s, "r1")
			l, _ := f.plan(s, Landing{ID: "land", Run: "r1", How: AsPatch, Base: b.Commit, Commit: f.change(s, "step", b.Commit, map[string]string{"a.txt": landed})})
			in := f.intend(s, l)
			away := in.heldName(0)
			if c.taken {
				away = in.takenName(0)
			}
			f.no(os.Rename(filepath.Join(f.repo, "a.txt"), filepath.Join(f.repo, away)))
			if c.now != "" {
				f.put("a.txt", c.now)
			}
			_, err := s.Land(t.Context(), l)
			if kept := err != nil && strings.Contains(err.Error(), "in a.txt.mine"); kept != c.kept || !c.kept && err != nil {
				t.Errorf("landed: %v", err)
			}
			if c.kept && f.read(f.repo, "a.txt.mine") != mine {
				t.Errorf("the user's version is %q", f.read(f.repo, "a.txt.mine"))
			}
			if text, _ := os.ReadFile(filepath.Join(f.repo, "a.txt")); c.kept && string(text) != c.now || !c.kept && string(text) != landed {
				t.Errorf("the file is %q", text)
			}
			f.noTemps()
		})
	}
}

// TestSavedInTheLastMoment has a user who saves a file after it was compared, or while it is away. What was saved is there after that, and
// the landing has done nothing.
func TestSavedInTheLastMoment(t *testing.T) {
	before := func(name *func(*os.Root, string, string) error, do func()) {
		system, once := *name, false
		*name = func(dir *os.Root, a, b string) error {
			if !once {
				once = true
				do()
			}
			return system(dir, a, b)
		}
	}
	onEach(t, "after it was compared", func(t *testing.T) {
		f := newFixture(t)
		s, in := f.landing()
		before(&exchange, func() { f.put("a.txt", "mine\n") })
		if _, err := s.carryOut(t.Context(), in); !errors.Is(err, errMoved) {
			t.Errorf("error %v", err)
		}
		if got := f.read(f.repo, "a.txt"); got != "mine\n" {
			t.Errorf("the file is %q", got)
		}
		f.noTemps()
	})
	onEach(t, "while it is away", func(t *testing.T) {
		f := newFixture(t)
		s, in := f.landing()
		exchange = unsupported
		before(&renameNew, func() { f.put("a.txt", "mine\n") })
		if _, err := s.carryOut(t.Context(), in); !errors.Is(err, errMoved) {
			t.Errorf("error %v", err)
		}
		if got := f.read(f.repo, "a.txt"); got != "mine\n" {
			t.Errorf("the file is %q", got)
		}
		f.noTemps()
	})
	onEach(t, "through an open file", func(t *testing.T) {
		f := newFixture(t)
		s, in := f.landing()
		open, err := os.OpenFile(filepath.Join(f.repo, "a.txt"), os.O_WRONLY, 0)
		f.no(err)
		defer open.Close()
		save := func() { _, err := open.WriteAt([]byte("ONE"), 0); f.no(err) }
		before(&exchange, save)
		if _, err := s.carryOut(t.Context(), in); !errors.Is(err, errMoved) {
			t.Errorf("error %v", err)
		}
		if got := f.read(f.repo, "a.txt"); got != "ONE\ntwo\nthree\n" {
			t.Errorf("the file is %q", got)
		}
		f.noTemps()
	})
}

// TestPlace gives files a name that nothing has, and one that something has.
func TestPlace(t *testing.T) {
	onEach(t, "", func(t *testing.T) {
		f := newFixture(t)
		root, err := os.OpenRoot(f.repo)
		f.no(err)
		defer root.Close()
		f.no(os.Symlink("run.sh", filepath.Join(f.repo, "link")))
		f.no(os.Chmod(filepath.Join(f.repo, "run.sh"), 0o751))
		before := listing(t, f.repo)
		for _, name := range []string{"run.sh", "link"} {
			if err := place(root, name, "a.txt", "part"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: %v", name, err)
			}
			same(t, "the files", before, listing(t, f.repo))
			f.no(place(root, name, "new", "part"))
			after := listing(t, f.repo)
			if after["new"] != before[name] || len(after) != len(before) {
				t.Errorf("%s became %q: %v", name, after["new"], after)
			}
			f.no(os.Rename(filepath.Join(f.repo, "new"), filepath.Join(f.repo, name)))
		}
	})
}

// TestCreatedInTheLastMoment has a user who creates a file just before a landing does.
func TestCreatedInTheLastMoment(t *testing.T) {
	onEach(t, "", func(t *testing.T) {
		f := newFixture(t)
		root, err := os.OpenRoot(f.repo)
		f.no(err)
		defer root.Close()
		in := &intent{Changes: []move{{Path: "new"}}}
		f.no(os.Symlink("a.txt", filepath.Join(f.repo, in.tempName(0))))
		f.put("new", "mine\n")
		if err := in.create(root, 0); !errors.Is(err, errMoved) {
			t.Errorf("error %v", err)
		}
		if got := f.read(f.repo, "new"); got != "mine\n" {
			t.Errorf("the file is %q", got)
		}
		f.status("?? new")
	})
}

// TestLargeFiles compares files in pieces.
func TestLargeFiles(t *testing.T) {
	const size = 8 << 20
	f := newFixture(t)
	_, in := f.landing()
	old, fresh := strings.Repeat("a", size), strings.Repeat("a", size-1)+"b"
	for side, text := range []string{old, fresh} {
		f.write(in.staged(in.Changes[0], side), text)
	}
	root, err := os.OpenRoot(f.repo)
	f.no(err)
	defer root.Close()
	for name, c := range map[string]struct {
		text    string
		is      int // the side; -1: none
		partial bool
	}{
		"old": {old, before, false}, "fresh": {fresh, after, false}, "another": {"b" + old[1:], -1, false},
		"longer": {old + "a", -1, false}, "a part": {old[1:], -1, true}, "empty": {"", -1, true},
	} {
		f.put("a.txt", c.text)
		var began, ended runtime.MemStats
		runtime.ReadMemStats(&began)
		side, err := in.side(root, in.Changes[0])
		f.no(os.Link(in.staged(in.Changes[0], before), filepath.Join(f.repo, "whole")))
		f.no(removePart(root, "whole", "a.txt"))
		runtime.ReadMemStats(&ended)
		if errors.Is(err, errMoved) {
			side = -1
		} else if err != nil {
			t.Error(err)
		}
		if side != c.is {
			t.Errorf("%s: side %d, want %d", name, side, c.is)
		}
		if _, err := root.Lstat("a.txt"); (err != nil) != c.partial {
			t.Errorf("%s: removed as a part: %v", name, err)
		}
		if used := ended.TotalAlloc - began.TotalAlloc; used > size/2 {
			t.Errorf("%s: needs %d bytes", name, used)
		}
		f.no(root.Remove("whole"))
	}
}
