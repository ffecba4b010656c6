package hocket_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
)

// compare returns what a new plan would change in a run.
func compare(t *testing.T, p *hocket.Project, run *hocket.Run, file string) *hocket.Comparison {
	t.Helper()
	c, err := run.Compare(t.Context(), load(t, p, file))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

// A for_each and the step that it repeats have one id, and are compared as one step.
func TestCompareForEach(t *testing.T) {
	each := func(command, items, last string) string {
		return "name: w\nsteps:\n  - {id: mail, for_each: " + items + ", agent: shell, config: {command: " + command + "}}\n  - {id: z, agent: shell, config: {command: echo " + last + "}}\n"
	}
	p := open(t, map[string]string{
		"old.yml": each("echo old", `'["ann", "bob"]'`, "z"), "z.yml": each("echo old", `'["ann", "bob"]'`, "other"),
		"command.yml": each("echo new", `'["ann", "bob"]'`, "z"), "items.yml": each("echo old", `'["ann"]'`, "z"),
		"single.yml": "name: w\nsteps:\n  - {id: mail, agent: shell, config: {command: echo old}}\n  - {id: z, agent: shell, config: {command: echo z}}\n",
	}, hocket.Options{})
	run := start(t, p, "old.yml", nil)
	wait(t, run)
	for file, want := range map[string][]string{ // the changed step, and words of its old and new lines
		"z.yml": {"z", "echo z", "echo other"}, "command.yml": {"mail", "echo old", "echo new"},
		"items.yml": {"mail", "bob", "ann"}, "single.yml": {"mail", "each", ""},
	} {
		var changed []hocket.NodeChange
		var all []string
		for _, n := range compare(t, p, run, file).Nodes {
			if all = append(all, n.Node); n.Kind != hocket.StepKept {
				changed = append(changed, n)
			}
		}
		if !slices.Equal(all, []string{"mail", "z"}) || len(changed) != 1 || changed[0].Node != want[0] || changed[0].Kind != hocket.StepChanged {
			t.Errorf("%s: %q, changed: %+v", file, all, changed)
			continue
		}
		removed, added := "", ""
		for line := range strings.Lines(changed[0].Diff) {
			if line[0] == '-' {
				removed += line
			} else {
				added += line
			}
		}
		if !strings.Contains(removed, want[1]) || !strings.Contains(added, want[2]) || strings.Contains(removed, "task") {
			t.Errorf("%s: %s", file, changed[0].Diff)
		}
	}
}

// What becomes of an effect that must happen once is decided by its address: the preview says that it asks
// exactly where the run then asks, and that an effect has happened that has no address any more.
func TestCompareMovedEffect(t *testing.T) {
	const mail = "{id: mail, agent: shell, effect: once, config: {command: echo mail}}"
	sub := "name: sub\nsteps:\n  - " + mail + "\n"
	calls := func(id string) string { return "name: w\nsteps:\n  - {id: " + id + ", workflow: sub}\n" }
	each := func(items string) string {
		return "name: w\nsteps:\n  - {id: mail, for_each: '" + items + "', agent: shell, effect: once, config: {command: 'echo \"$TO\"', env: {TO: '${item}'}}}\n"
	}
	p := open(t, map[string]string{
		".hocket/workflows/sub.yml": sub, "plain.yml": "name: w\nsteps:\n  - " + mail + "\n", "send.yml": calls("send"), "deliver.yml": calls("deliver"),
		"two.yml": each(`["ann", "bob"]`), "three.yml": each(`["zoe", "ann", "bob"]`), "one.yml": each(`["ann"]`),
	}, hocket.Options{})
	for _, test := range []struct{ from, to, dropped, again string }{
		{"plain.yml", "send.yml", "mail", "send/mail"},
		{"send.yml", "deliver.yml", "send/mail", "deliver/mail"},
		{"two.yml", "one.yml", "mail[1]", ""},
		{"two.yml", "three.yml", "", ""},
	} {
		run := start(t, p, test.from, nil)
		wait(t, run)
		c := compare(t, p, run, test.to)
		if dropped := test.dropped; dropped != "" && (!slices.Contains(c.Dropped, dropped) || !slices.Contains(c.Effects, dropped)) {
			t.Errorf("%s to %s: dropped %q, effects %q", test.from, test.to, c.Dropped, c.Effects)
		}
		if _, err := run.Replan(t.Context(), load(t, p, test.to), hocket.Replan{}); err != nil {
			t.Fatal(err)
		}
		open, err := run.Questions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var asks, said []string
		for _, q := range open {
			asks = append(asks, q.Address)
		}
		for _, address := range c.Again {
			if slices.Contains(c.Effects, address) {
				said = append(said, address)
			}
		}
		slices.Sort(asks)
		slices.Sort(said)
		if !slices.Equal(asks, said) {
			t.Errorf("%s to %s: asks %q, and says %q", test.from, test.to, asks, said)
		}
		if again := test.again; again != "" && !slices.Contains(asks, again) && c.MayRepeat[again] != test.dropped {
			t.Errorf("%s to %s: says nothing about %s: %+v", test.from, test.to, again, c)
		}
	}
}

// Steps that have not begun, because no process has driven the run since they were decided, neither go on nor are
// cancelled.
func TestCompareUnsent(t *testing.T) {
	step := func(id, text string) string {
		return "  - {id: " + id + ", agent: shell, effect: once, config: {command: echo " + text + "}}\n"
	}
	p := open(t, map[string]string{
		"old.yml": "name: w\nsteps:\n" + step("a", "1"), "two.yml": "name: w\nsteps:\n" + step("b", "1"),
		"three.yml": "name: w\nsteps:\n" + step("b", "2"), "four.yml": "name: w\nsteps:\n" + step("c", "1"),
	}, hocket.Options{})
	run := start(t, p, "old.yml", nil)
	wait(t, run)
	if _, err := run.Replan(t.Context(), load(t, p, "two.yml"), hocket.Replan{}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"two.yml", "three.yml", "four.yml"} {
		c := compare(t, p, run, file)
		if all := slices.Concat(c.Kept, c.GoesOn, c.Again, c.Later, c.Cancelled, c.Dropped); len(all) > 0 {
			t.Errorf("%s: %+v", file, c)
		}
	}
	if c := compare(t, p, run, "old.yml"); !slices.Equal(c.Kept, []string{"a"}) {
		t.Errorf("old.yml: %+v", c)
	}
}

// Items that the list does not have any more are dropped, also while others are in progress.
func TestCompareGoneItems(t *testing.T) {
	each := func(items string) string {
		return "name: w\nsteps:\n  - {id: mail, for_each: '" + items + "', max_parallel: 1, agent: shell, effect: once, config: {command: 'echo \"$TO\"', env: {TO: '${item}'}}}\n"
	}
	p := open(t, map[string]string{"three.yml": each(`["ann", "bob", "carl"]`), "two.yml": each(`["zoe", "ann"]`)}, hocket.Options{})
	run := start(t, p, "three.yml", nil)
	wait(t, run)
	c := compare(t, p, run, "two.yml")
	if !slices.Equal(c.Dropped, []string{"mail[2]"}) || !slices.Contains(c.Effects, "mail[2]") || !slices.Equal(c.Again, []string{"mail[0]"}) || !slices.Equal(c.Later, []string{"mail[1]"}) {
		t.Errorf("%+v", c)
	}
}
