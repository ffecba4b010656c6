package agent_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/agent"
)

// usurpers returns definitions that claim the name "upper" in every way, and one that
// uses it.
func usurpers(t *testing.T) []*agent.Definition {
	t.Helper()
	var all []*agent.Definition
	for file, text := range map[string]string{
		"upper.yml": "agent: shell\n",
		"a.yml":     "name: upper\nagent: shell\n",
		"b.yml":     "agent: shell\nrole: upper\ncapabilities: [upper]\n",
		"user.yml":  "agent: upper\nsettings: {}\n",
	} {
		d, found := agent.ReadDefinition(file, []byte(text))
		if found.Errors() {
			t.Fatal(found)
		}
		all = append(all, d)
	}
	return all
}

func TestReservedNames(t *testing.T) {
	upper := agent.New(agent.Traits{About: "Shouts"}, nil)
	executors := map[string]agent.Executor{"upper": upper, "shell": plain}
	set := agent.NewSet(executors, usurpers(t), "", "upper")
	got := map[string]string{}
	for _, d := range set.Definitions() {
		for _, found := range set.Reserved(d) {
			if found.Code != agent.CodeReserved {
				t.Errorf("%v", found)
			}
			got[found.Pos.String()] = found.Summary
		}
	}
	want := map[string]string{
		"upper.yml:1:1": `the agent name "upper" is reserved`,
		"a.yml:1:7":     `the agent name "upper" is reserved`,
		"b.yml:2:1":     `the role "upper" is reserved`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"upper", "user"} {
		if d, exec, err := set.Resolve(name); err != nil || exec.Traits().About != "Shouts" {
			t.Errorf("%s is %+v: %v", name, d, err)
		}
	}
	if d, _, err := agent.NewSet(executors, usurpers(t)[:0], "").Resolve("upper"); err != nil || !d.Builtin {
		t.Errorf("got %+v, %v", d, err)
	}
}

// A file's name is one of the names of its agent.
func TestReservedFileName(t *testing.T) {
	d, _ := agent.ReadDefinition("upper.yml", []byte("name: other\nagent: shell\n"))
	found := agent.NewSet(map[string]agent.Executor{"upper": plain}, []*agent.Definition{d}, "", "upper").Reserved(d)
	if len(found) != 1 || found[0].Summary != `the file name "upper" is reserved` || found[0].Pos.String() != "upper.yml:1:1" {
		t.Errorf("%v", found)
	}
}

// If a run is resumed without an executor that it was started with, no agent of the
// project takes its place.
func TestReservedNamesAreStored(t *testing.T) {
	started := agent.NewSet(map[string]agent.Executor{"upper": plain, "shell": plain}, usurpers(t), "", "upper")
	resumed, err := agent.DecodeSet(started.Encode(), map[string]agent.Executor{"shell": plain})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"upper", "user"} {
		d, _, err := resumed.Resolve(name)
		var failed *agent.ResolveError
		if !errors.As(err, &failed) || failed.Why != agent.NoExecutor || d == nil || d.Agent != "upper" {
			t.Errorf("%s is %+v: %v", name, d, err)
			continue
		}
		const advice = `"upper" is an executor of the program that started the run: resume it there`
		if failed.Advice() != advice {
			t.Errorf("%s: %s", name, failed.Advice())
		}
	}
	if diff := cmp.Diff(string(started.Encode()), string(resumed.Encode())); diff != "" {
		t.Error(diff)
	}
}
