package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/project"
)

const (
	reportFlow = "name: report\ninputs:\n  topic: {type: string, required: true}\n  depth: {type: integer, default: 1}\nsteps:\n  - {agent: shell, config: {command: [echo, \"${inputs.topic}\"]}}\n"
	hookConfig = "secrets: {HOOK: {env: HOOK_SECRET}}\n"
)

// triggers opens a project with one trigger.
func triggers(t *testing.T, text string) (*project.Project, []*project.Trigger) {
	t.Helper()
	p := open(t, write(t, map[string]string{".hocket/workflows/report.yml": reportFlow, ".hocket/config.yml": hookConfig, ".hocket/triggers/nightly.yml": text}))
	return p, p.Triggers()
}

func TestTriggerMistakes(t *testing.T) {
	const start = "workflow: report\ninputs: {topic: x}\n"
	for _, test := range []struct{ text, want string }{
		{start + "schedule: \"0 3 * * *\"\nzone: Europe/Berlin\nmissed: all\noverlap: skip\n", ""},
		{start + "webhook: {secret: HOOK}\n", ""},
		{start + "after: report\n", ""},
		{start + "after: {workflow: report, status: [error, timeout]}\nenabled: false\n", ""},
		{"workflow: report\nschedule: \"@daily\"\ninputs: {topic: \"at ${time}, ${time ?? 'never'}\"}\n", ""},
		{"workflow: report\nwebhook: {secret: HOOK}\ninputs: {topic: \"${body.issue.title}: ${headers.x-github-event}\"}\n", ""},
		{start, "1:1: the trigger \"nightly\" does not say when it fires"},
		{start + "schedule: \"0 3 * * *\"\nafter: report\n", "4:1: a trigger has one cause, but this one has 2"},
		{start + "schedule: \"0 3 * *\"\n", `3:11: invalid schedule "0 3 * *"`},
		{start + "schedule: \"0 3 * * *\"\nzone: Europe/Berln\n", `4:7: unknown time zone "Europe/Berln"`},
		{start + "after: report\nzone: UTC\n", "4:1: zone without schedule"},
		{start + "webhook: {}\n", "3:1: the webhook has no secret: everyone could use it"},
		{start + "webhook: {secret: OTHER}\n", `3:19: unknown secret "OTHER"`},
		{start + "shedule: \"0 3 * * *\"\n", `3:1: unknown key "shedule"`},
		{start + "after: reprot\n", `3:8: unknown workflow "reprot"`},
		{start + "files: \"*.md\"\n", ""},
		{start + "files: [inbox/*.csv, \"data/**\"]\n", ""},
		{"workflow: report\nfiles: {paths: \"inbox/**/*.csv\", settle: 5s}\ninputs: {topic: \"${path} ${name} ${digest} ${content}\"}\n", ""},
		{start + "files: {settle: 5s}\n", "3:1: the trigger does not say which files it watches"},
		{start + "files: {paths: a, setle: 5s}\n", `3:19: unknown key "setle"`},
		{start + "files: {paths: a, settle: 5}\n", `3:27: "5" is not a duration`},
		{start + "files: {paths: a, settle: 2h}\n", "3:27: the settling time 2h is too long"},
		{start + "files: /etc/passwd\n", `3:8: invalid pattern "/etc/passwd": it is not relative to the project`},
		{start + "files: [a, ../b]\n", `3:12: invalid pattern "../b": it has an empty part, . or ..`},
		{start + "files: \"\"\n", `3:8: invalid pattern ""`},
		{start + "files: \"[a\"\n", `3:8: invalid pattern "[a": its brackets are not closed`},
		{start + "files: inbox/\n", `3:8: invalid pattern "inbox/": it matches directories`},
		{start + "files: .hocket/**\n", `3:8: invalid pattern ".hocket/**": files below .hocket are not watched`},
		{start + "files: .h*/workflows/*.yml\n", `3:8: invalid pattern ".h*/workflows/*.yml": files below .hocket are not watched`},
		{start + "files: .[g]it/*\n", `3:8: invalid pattern ".[g]it/*": files below .git are not watched`},
		{start + "files: [" + strings.Repeat("a, ", 20) + "b]\n", "3:8: a trigger has at most 20 patterns, but this one has 21"},
		{start + "files: a\nschedule: \"0 3 * * *\"\n", "a trigger has one cause, but this one has 2"},
		{"workflow: report\nfiles: a\ninputs: {topic: \"${file}\"}\n", `3:17: a trigger with files has no value "file"`},
		{"workflow: reprot\nafter: report\n", `1:11: unknown workflow "reprot"`},
		{"after: report\n", `1:1: the trigger "nightly" starts no workflow`},
		{"workflow: report\nafter: report\n", `1:11: missing input "topic" of the workflow "report"`},
		{"workflow: report\nafter: report\ninputs: {topic: x, topics: y}\n", `3:20: unknown input "topics"`},
		{"workflow: report\nafter: report\ninputs: {topic: x, depth: deep}\n", `3:27: input "depth": expected type integer`},
		{"workflow: report\nafter: report\ninputs: {topic: \"${time}\"}\n", `3:17: a trigger with after has no value "time"`},
		{"workflow: report\nafter: report\ninputs: {topic: \"${nodes.x}\"}\n", `has no value`},
		{"workflow: report\nafter: report\ninputs: {topic: \"${run\"}\n", `3:17: invalid value`},
	} {
		p, all := triggers(t, test.text)
		if len(all) != 1 {
			t.Fatalf("%q: %d triggers", test.text, len(all))
		}
		found := p.CheckTrigger(all[0])
		var first string
		if len(found) > 0 {
			first = fmt.Sprintf("%d:%d: %s", found[0].Pos.Line, found[0].Pos.Column, found[0].Summary)
		}
		if test.want == "" && first != "" || !strings.Contains(first, test.want) {
			t.Errorf("%q: found %q, want %q", test.text, first, test.want)
		}
	}
}

func TestTriggerInputs(t *testing.T) {
	_, all := triggers(t, "workflow: report\nwebhook: {secret: HOOK}\ninputs:\n  topic: \"issue ${body.number} ${body.missing ?? 'none'}\"\n  depth: ${body.number}\n  list: [a, \"${headers.x-event}\"]\n")
	inputs, err := all[0].Inputs(map[string]any{"body": map[string]any{"number": "${time}"}, "headers": map[string]any{"x-event": "push"}})
	if err != nil {
		t.Fatal(err)
	}
	// What comes from outside is never a template itself.
	if inputs["topic"] != "issue ${time} none" || inputs["depth"] != "${time}" || inputs["list"].([]any)[1] != "push" {
		t.Errorf("the inputs are %v", inputs)
	}
}

// A trigger needs trust, and so does every change of what it starts. Until then it is one of the powers to approve.
func TestTriggerPowers(t *testing.T) {
	const start = "workflow: report\ninputs: {topic: x}\nschedule: \"0 3 * * *\"\n"
	digest := func(text, flow string) string {
		p := open(t, write(t, map[string]string{".hocket/workflows/report.yml": flow, ".hocket/triggers/nightly.yml": text}))
		all, err := p.AllPowers()
		if err != nil {
			t.Fatal(err)
		}
		if text == "" != !strings.Contains(all.String(), "the trigger nightly starts the workflow report by itself, at 0 3 * * *") {
			t.Errorf("%q has the powers %s", text, all)
		}
		return all.Digest()
	}
	before := digest(start, reportFlow)
	if digest(start, reportFlow) != before {
		t.Error("the same files have another digest")
	}
	for _, text := range []string{start + "zone: UTC\n", start + "missed: all\n", start + "overlap: cancel\n", strings.Replace(start, "topic: x", "topic: y", 1)} {
		if digest(text, reportFlow) == before {
			t.Errorf("the change to %q needs no trust", text)
		}
	}
	if digest(start, strings.Replace(reportFlow, "echo", "rm", 1)) == before {
		t.Error("a change of the workflow needs no trust")
	}
	p, all := triggers(t, start+"enabled: false\n")
	if powers := p.TriggerPowers(all[0], nil); len(powers) > 0 {
		t.Errorf("a disabled trigger has the powers %s", powers)
	}
	settling := func(time string) string {
		p, all := triggers(t, "workflow: report\ninputs: {topic: x}\nfiles: {paths: a, settle: "+time+"}\n")
		return p.TriggerPowers(all[0], nil).Digest()
	}
	if settling("1s") == settling("2s") {
		t.Error("a change of the settling time needs no trust")
	}
	p, all = triggers(t, "workflow: report\ninputs: {topic: x}\nwebhook: {secret: HOOK}\n")
	l, err := p.LoadNamed("report")
	if err != nil {
		t.Fatal(err)
	}
	if powers := p.TriggerPowers(all[0], l).String(); !strings.Contains(powers, "signed with the secret HOOK") || !strings.Contains(powers, "HOOK_SECRET") {
		t.Errorf("a webhook has the powers %s", powers)
	}
}

// A trigger does not follow links: they could lead to any file of the user.
func TestWatchedLinks(t *testing.T) {
	dir := write(t, map[string]string{".hocket/workflows/report.yml": reportFlow, ".hocket/triggers/new.yml": "workflow: report\ninputs: {topic: x}\nfiles: [real/*, out/*.md]\n", "real/a": ""})
	if err := os.Symlink(t.TempDir(), filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	p := open(t, dir)
	found := p.CheckTrigger(p.Triggers()[0])
	if len(found) != 1 || found[0].Pos.Line != 3 || found[0].Pos.Column != 17 || !strings.Contains(found[0].Summary, "out is a symbolic link") {
		t.Errorf("found %v", found)
	}
}
