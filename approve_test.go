package hocket_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket"
)

// A path that a person types, and one that a person is advised to type, begins where the person is. What is
// stored does not depend on that.
func TestApproveInSubdirectory(t *testing.T) {
	flow := func(word string) string {
		return "name: a\nsteps: [{id: say, agent: shell, config: {command: echo " + word + "}}]\n"
	}
	root := workshop(t, map[string]string{
		".hocket/workflows/named.yml": flow("named"),
		"a.yml":                       flow("outer"),
		"sub/a.yml":                   flow("inner"),
		"sub/sub/a.yml":               flow("deep"), // what sub/a.yml must not mean in sub
		"sub/gate.yml":                "name: gate\nsteps: [{id: gate, human: {question: Go on}}]\n",
	})
	t.Chdir(filepath.Join(root.Root(), "sub"))
	sub := reopened(t, ".")
	for _, c := range []struct{ typed, id, file, fromRoot string }{
		{"../a.yml", "../a.yml", "../a.yml", "a.yml"},
		{"a.yml", "a.yml", "a.yml", "sub/a.yml"},
		{"named", "named", "../.hocket/workflows/named.yml", "named"},
	} {
		var e *hocket.UnapprovedError
		if _, err := runByName(t, sub, c.typed, hocket.OnlyApproved()); err == nil {
			t.Fatalf("%s ran", c.typed)
		} else if e = unapproved(t, err); e.ID != c.id {
			t.Errorf("%s: it is advised to approve %s", c.typed, e.ID)
		}
		r, err := sub.Review(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.Stat(r.File)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := os.Stat(c.file); err != nil || !os.SameFile(got, want) || r.ID != c.id || r.State != hocket.Proposed {
			t.Fatalf("%s: it is %s, %s, from %s, %v", c.typed, r.ID, r.State, r.File, err)
		}
		if err := sub.Approve(t.Context(), r.ID, r.Digest); err != nil {
			t.Fatal(err)
		}
		if _, err := runByName(t, sub, c.typed, hocket.OnlyApproved()); err != nil {
			t.Error(err)
		}
		put(t, ".", c.file, flow("changed"+filepath.Base(filepath.Dir(c.file))))
		if r, err = reopened(t, root.Root()).Review(c.fromRoot); err != nil || r.ID != c.fromRoot || r.State != hocket.Changed || r.Before == nil {
			t.Errorf("%s: seen from the root, it is %+v, %v", c.typed, r, err)
		}
		if r, err = sub.Review(c.typed); err != nil || r.State != hocket.Changed || r.Before == nil {
			t.Errorf("%s: seen from the subdirectory, it is %+v, %v", c.typed, r, err)
		}
	}

	r, err := sub.Review("gate.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := sub.Approve(t.Context(), r.ID, r.Digest); err != nil {
		t.Fatal(err)
	}
	w, err := sub.Load("gate.yml")
	if err != nil {
		t.Fatal(err)
	}
	run, err := sub.Record(t.Context(), w, nil, hocket.OnlyApproved())
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := sub.RunsOf(t.Context(), "gate.yml"); err != nil || len(runs) != 1 {
		t.Errorf("the runs are %q, %v", runs, err)
	}
	if err := os.Remove("gate.yml"); err != nil {
		t.Fatal(err)
	}
	if err := sub.Reject(t.Context(), "gate.yml", hocket.Broken); err != nil {
		t.Fatal(err)
	}
	if e := unapproved(t, run.CheckApproval(t.Context())); !e.Gone {
		t.Errorf("%+v", e)
	}
}
