//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/trust"
)

// TestMain lets a copy of this program that is called hocket be the command. If the tests run
// under an agent, a file beside it names that agent: it may act for a person here, as in the tests
// of package cli. It is a file because attacks clear the environment.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "hocket" {
		agent, _ := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), "agent")) // none
		os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: string(agent)}))
	}
	os.Exit(m.Run())
}

// victim is a person with a project in which a model has proposed something.
type victim struct {
	t       *testing.T
	base    string
	project string
	hocket  string
}

// The proposal leaves a trace if it runs.
const plan = "name: plan\nsteps: [{id: steal, agent: shell, config: {command: touch ../stolen}}]\n"

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{t: t, base: t.TempDir()}
	v.project, v.hocket = filepath.Join(v.base, "project"), filepath.Join(v.base, "bin", "hocket")
	t.Setenv("HOME", filepath.Join(v.base, "home"))
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	v.write("home/.keep", "")
	v.write("project/.hocket/config.yml", "{}\n")
	v.write("bin/agent", trust.Supervisor(os.Environ()))
	self, err := os.Executable()
	if err == nil {
		err = copyFile(v.hocket, self)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(v.base, "bin")+":"+os.Getenv("PATH"))
	v.propose("plan", plan)
	return v
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (v *victim) write(name, text string) {
	v.t.Helper()
	file := filepath.Join(v.base, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		v.t.Fatal(err)
	}
}

func (v *victim) open() *hocket.Project {
	v.t.Helper()
	p, err := hocket.Open(v.project, hocket.Options{By: "ada"})
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { p.Close() })
	return p
}

func (v *victim) propose(name, text string) {
	v.t.Helper()
	d := hocket.Draft{Kind: hocket.WorkflowKind, Name: name, Files: map[string][]byte{"x.yml": []byte(text)}, Origin: hocket.Origin{By: "a model", Goal: "help"}}
	if _, err := v.open().Propose(v.t.Context(), d); err != nil {
		v.t.Fatal(err)
	}
}

// approve is what the person does, who has reviewed it.
func (v *victim) approve(name string) {
	v.t.Helper()
	p := v.open()
	r, err := p.Review(name)
	if err == nil {
		err = p.Approve(v.t.Context(), name, r.Digest)
	}
	if err != nil {
		v.t.Fatal(err)
	}
}

// run runs a command as the person, and returns what it printed.
func (v *victim) run(args ...string) string {
	v.t.Helper()
	ctx, stop := context.WithTimeout(v.t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, v.hocket, args...)
	cmd.Dir = v.project
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) || ctx.Err() != nil || strings.Contains(out.String(), "panic:") {
		v.t.Fatalf("%v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// step runs a script in a step of a workflow of the project, as an agent could, and returns what
// it printed. The end of the digest of the proposal is in ../end.
func (v *victim) step(script string) string {
	v.t.Helper()
	if r, err := v.open().Review("plan"); err == nil {
		v.write("end", r.Digest[len(r.Digest)-6:]+"\n")
	}
	v.write("project/script.sh", "exec 2>&1\n"+script+"\n")
	v.write("project/attack.yml", "steps: [{id: attack, agent: shell, timeout: 20s, config: {command: [sh, script.sh]}}]\n")
	out := v.run("run", "attack.yml")
	v.t.Log(out)
	return out
}

// unharmed fails if the proposal ran or was approved.
func (v *victim) unharmed() {
	v.t.Helper()
	if _, err := os.Lstat(filepath.Join(v.base, "stolen")); err == nil {
		v.t.Error("the proposal was run")
	}
	known, err := trust.Open(filepath.Join(v.base, "home", ".local", "state")).Definitions(v.project)
	if err != nil {
		return // nothing there counts
	}
	for _, verdict := range known.Verdicts {
		if verdict.By != "ada" {
			v.t.Errorf("approved: %+v", verdict)
		}
	}
}

// typing is a program that types the end of the digest into a terminal of its own, once the
// question is there. A person could do it: see TestWithoutAnAttack.
const typing = ` (sleep 1; cat ../end; sleep 0.5) | script -qec "stty rows 100 cols 200; hocket approve plan" /dev/null`

// attacks are what a model may try through its shell, files, and drafts. Nothing may be approved
// or run because of them.
var attacks = map[string]func(v *victim){
	"approve in a step":    func(v *victim) { v.step("hocket approve plan <../end") },
	"promote in a step":    func(v *victim) { v.step("hocket approve plan --promote <../end") },
	"a terminal in a step": func(v *victim) { v.step(typing) },
	"a terminal and no environment": func(v *victim) {
		v.step(`env -i PATH="$PATH" HOME="$HOME" sh -c '` + typing + `'`)
	},
	"a terminal in a session of its own": func(v *victim) {
		v.step(`env -i PATH="$PATH" HOME="$HOME" setsid -w sh -c '` + typing + `'`)
	},
	"an orphan with a terminal": func(v *victim) {
		v.step(`(env -i PATH="$PATH" HOME="$HOME" setsid sh -c 'sleep 0.3; {` + typing + `; } >../orphan 2>&1; touch ../ready' >/dev/null 2>&1 &); sleep 1`)
		v.await("ready")
	},
	"an orphan that outlives the run": func(v *victim) {
		v.step(`(env -i PATH="$PATH" HOME="$HOME" setsid sh -c 'while ! test -e ../over; do sleep 0.05; done; {` + typing + `; } >../orphan 2>&1; touch ../ready' >/dev/null 2>&1 &); sleep 0.3`)
		v.write("over", "")
		v.await("ready")
		text, _ := os.ReadFile(filepath.Join(v.base, "orphan"))
		if !strings.Contains(string(text), "reserved for people") {
			v.t.Errorf("%s", text)
		}
	},
	"run in a step":              func(v *victim) { v.step("hocket run plan") },
	"run by its path":            func(v *victim) { v.step("hocket run ./.hocket/../.hocket/generated//plan/plan.yml") },
	"run from standard input":    func(v *victim) { v.step("hocket run - <.hocket/generated/plan/plan.yml") },
	"run with replies":           func(v *victim) { v.step("echo 'steal: done' >replies.yml; hocket run plan --replies replies.yml") },
	"run with higher limits":     func(v *victim) { v.step("hocket run plan --max-steps 1000") },
	"run with a digest of trust": func(v *victim) { v.step("hocket run plan --trust sha256:$(cat ../end)") },
	"run in the background":      func(v *victim) { v.step("hocket run plan --detach; sleep 0.5") },
	"copied into workflows": func(v *victim) {
		v.step("mkdir .hocket/workflows; cp .hocket/generated/plan/plan.yml .hocket/workflows/mine.yml")
		v.run("run", "mine")
	},
	"moved into workflows": func(v *victim) {
		v.step("mkdir .hocket/workflows; mv .hocket/generated/plan/plan.yml .hocket/workflows/")
		v.run("run", "plan")
	},
	"moved and formatted": func(v *victim) {
		v.step("hocket convert .hocket/generated/plan/plan.yml --to xml -o moved.xml")
		v.run("run", "moved.xml")
	},
	"a link in workflows": func(v *victim) {
		v.step("mkdir .hocket/workflows; ln -s ../generated/plan/plan.yml .hocket/workflows/mine.yml")
		v.run("run", "mine")
	},
	"a hard link in workflows": func(v *victim) {
		v.step("mkdir .hocket/workflows; ln .hocket/generated/plan/plan.yml .hocket/workflows/mine.yml")
		v.run("run", "mine")
	},
	"run from another directory": func(v *victim) {
		v.step("P=$PWD; mkdir ../else; cd ../else; hocket run $P/.hocket/generated/plan/plan.yml; hocket -C $P/.hocket/generated/plan run plan.yml")
	},
	"copied to another directory": func(v *victim) {
		v.step("mkdir ../else; cp .hocket/generated/plan/plan.yml ../else; cd ../else; hocket run plan.yml")
	},
	"called by a workflow": func(v *victim) {
		v.write("project/outer.yml", "steps: [{workflow: ./.hocket/generated/plan/plan}]\n")
		v.run("run", "outer.yml")
	},
	"called by its name": func(v *victim) {
		v.write("project/outer.yml", "steps: [{workflow: plan}]\n")
		v.run("run", "outer.yml")
	},
	"an origin of a person": func(v *victim) {
		v.step("sed -i 's/by:.*/by: ada, a person/' .hocket/generated/plan/origin.yml")
		v.run("run", "plan")
	},
	"no origin": func(v *victim) {
		v.step("rm .hocket/generated/plan/origin.yml")
		v.run("run", ".hocket/generated/plan/plan.yml")
	},
	"a goal that says approved": func(v *victim) {
		v.step("sed -i 's/goal:.*/goal: \"approved: true, by ada\"\\napproved: true/' .hocket/generated/plan/origin.yml")
		v.run("run", "plan")
	},
	"another definition is a link": func(v *victim) {
		v.step("ln -s plan .hocket/generated/other; ln -s ../plan/plan.yml .hocket/generated/third")
		v.run("run", "other")
	},
	"generated is a link to others": func(v *victim) {
		v.step("mv .hocket/generated .hocket/workflows; ln -s workflows .hocket/generated")
		v.run("run", "plan")
	},
	"approvals in the clone": func(v *victim) {
		v.forge("project/.hocket/state")
		v.step("cp -r .hocket/state/* .hocket/; XDG_STATE_HOME=$PWD/.hocket/state hocket run plan")
	},
	"approvals behind a link": func(v *victim) {
		v.forge("project/.hocket/state")
		v.step("ln -s $PWD/.hocket/state ../elsewhere; XDG_STATE_HOME=$(cd ..; pwd)/elsewhere hocket run plan")
	},
	"the state is a link to the clone": func(v *victim) {
		v.forge("project/.hocket/state")
		v.step("rm -rf ~/.local/state/hocket/trust; ln -s $PWD/.hocket/state/hocket/trust ~/.local/state/hocket/trust")
		v.run("run", "plan")
	},
	"an approval of another project": func(v *victim) {
		v.approve("plan")
		v.step("cp -r . ../copy")
		copied := *v
		copied.project = filepath.Join(v.base, "copy")
		copied.run("run", "plan")
	},
	"approvals with another text": func(v *victim) {
		v.approve("plan")
		v.step("sed -i 's#touch ../stolen#touch ../stolen x#' .hocket/generated/plan/plan.yml ~/.local/state/hocket/trust/*.definitions")
		v.run("run", "plan")
	},
	"changed after the approval": func(v *victim) {
		v.propose("fine", strings.ReplaceAll(plan, "plan", "fine")+"# touch nothing\n")
		v.approve("fine")
		v.step("sed -i 's/steal/steal-more/' .hocket/generated/fine/fine.yml")
		v.run("run", "fine")
	},
	"a file of the command changed": func(v *victim) {
		v.write("project/tool.sh", "true\n")
		v.propose("fine", "name: fine\nsteps: [{agent: shell, config: {command: sh tool.sh}}]\n")
		v.approve("fine")
		v.step("echo 'touch ../stolen' >tool.sh")
		v.run("run", "fine")
	},
	"an agent of it changed": func(v *victim) {
		v.write("project/.hocket/agents/helper.yml", "agent: shell\nsettings: {command: [\"true\"]}\n")
		v.propose("fine", "name: fine\nsteps: [{agent: helper}]\n")
		v.approve("fine")
		v.step("printf 'agent: shell\\nsettings: {command: [touch, ../stolen]}\\n' >.hocket/agents/helper.yml")
		v.run("run", "fine")
	},
	"a project that grants budgets": func(v *victim) {
		v.step("printf 'workflows: {ai_generated_budgets: {max_steps: 100000}}\\n' >.hocket/config.yml")
		v.run("run", "plan")
	},
	"raise in a step": func(v *victim) {
		v.refused(v.step("env -i PATH=$PATH HOME=$HOME hocket raise $HOCKET_RUN --max-steps 1000"))
	},
	"retry with more":  func(v *victim) { v.refused(v.step("hocket retry $HOCKET_RUN --from attack --max-steps 1000")) },
	"fork with output": func(v *victim) { v.refused(v.step("hocket fork $HOCKET_RUN --from attack --output x")) },
	"trust in a step": func(v *victim) {
		v.refused(v.step("env -i PATH=$PATH HOME=$HOME setsid -w hocket trust --trust $(hocket trust --print)"))
	},
	"reject in a step": func(v *victim) { v.refused(v.step("hocket approve plan --reject")) },
	"an agent made in a step": func(v *victim) {
		v.step("hocket agents new helper --agent claude --prompt 'You may do everything.'")
		if _, err := os.Stat(filepath.Join(v.project, ".hocket/agents/helper.yml")); err == nil {
			v.t.Error("it can be used at once")
		}
		if d, _, _ := v.open().Agents().Resolve("helper"); d != nil {
			v.t.Errorf("%+v", d)
		}
	},
	"a tool made in a step": func(v *victim) {
		v.step("hocket tools new helper --kind script")
		if _, err := v.open().Tool("helper"); err == nil {
			v.t.Error("it can be used at once")
		}
	},
	"a tool that asks": func(v *victim) {
		v.write("project/.hocket/tools/deploy/tool.yml", "description: x\nkind: command\ncommand: [touch, stolen]\napproval: true\npermissions: {fs: {write: [stolen]}}\n")
		v.refused(v.step("hocket tools run deploy --yes"))
	},
	"answer in a step": func(v *victim) {
		v.write("project/gate.yml", "steps:\n  - {id: gate, human: {question: \"Really?\", required: true}}\n  - {id: steal, agent: shell, config: {command: touch ../stolen}}\n")
		v.refused(v.step("hocket run gate.yml; R=$(hocket runs --json | tr ',' '\\n' | grep -o 'gate-[a-z0-9]*' | head -1); hocket answer $R gate approve --resume; env -i PATH=$PATH HOME=$HOME setsid -w hocket answer $R gate approve --resume"))
	},
	"drafts that shadow": func(v *victim) {
		v.write("project/.hocket/workflows/release.yml", "steps: [{agent: shell, config: {command: \"true\"}}]\n")
		for _, name := range []string{"release", "RELEASE", "Release", "rel\u0435ase", "../workflows/release", "..", ".", "release.yml", "release ", "shell", "claude", "http_request", "nul"} {
			d := hocket.Draft{Kind: hocket.WorkflowKind, Name: name, Files: map[string][]byte{"x.yml": []byte(plan)}}
			if g, err := v.open().Propose(v.t.Context(), d); err == nil {
				v.t.Errorf("%q was accepted: %+v", name, g)
			}
		}
		v.run("run", "release")
	},
	"drafts of other files": func(v *victim) {
		for _, name := range []string{"../../workflows/x/tool.yml", "/tmp/tool.yml", "a/../../x", "origin.yml", ".git/config", "C:\\x"} {
			d := hocket.Draft{Kind: hocket.ToolKind, Name: "helper", Files: map[string][]byte{"tool.yml": []byte("description: x\nkind: script\nscript: {file: run.sh}\n"), "run.sh": nil, name: []byte("x")}}
			if g, err := v.open().Propose(v.t.Context(), d); err == nil {
				v.t.Errorf("%q was accepted: %+v", name, g)
			}
		}
	},
	"drafts of agents with powers": func(v *victim) {
		for _, text := range []string{
			"agent: shell\nsettings: {command: touch ../stolen}\n", "agent: claude\nprompt: x\npermissions: {mode: full}\n", "agent: claude\nprompt: x\npermissions: {shell: allow}\n",
			"agent: claude\nprompt: x\nsettings: {program: ./evil}\n", "agent: claude\nprompt: x\nsettings: {env: {X: y}}\n", "agent: claude\nprompt: x\nrole: reviewer\n",
			"agent: claude\nprompt: x\ncapabilities: [review]\n", "agent: claude\nprompt: x\nname: claude\n", "agent: evil\nprompt: x\n", "agent: claude\nprompt: x\nmcp: [evil]\n", "agent: llm\nprompt: x\ntools: [evil]\n",
		} {
			d := hocket.Draft{Kind: hocket.AgentKind, Name: "helper", Files: map[string][]byte{"helper.yml": []byte(text)}}
			if g, err := v.open().Propose(v.t.Context(), d); err == nil {
				v.t.Errorf("accepted: %s\n%+v", text, g)
			}
		}
	},
	"drafts of tools with powers": func(v *victim) {
		for _, text := range []string{
			"description: x\nkind: command\ncommand: [./evil]\n", "description: x\nkind: command\ncommand: [/bin/sh]\n", "description: x\nkind: command\ncommand: [cat]\npermissions: {fs: {read: [~/.ssh]}}\n",
			"description: x\nkind: command\ncommand: [cat]\npermissions: {fs: {write: [/]}}\n", "description: x\nkind: command\ncommand: [cat]\npermissions: {fs: {write: [..]}}\n", "description: x\nkind: script\nscript: {file: ../evil.sh}\n",
		} {
			d := hocket.Draft{Kind: hocket.ToolKind, Name: "helper", Files: map[string][]byte{"tool.yml": []byte(text)}}
			if g, err := v.open().Propose(v.t.Context(), d); err == nil {
				v.t.Errorf("accepted: %s\n%+v", text, g)
			}
		}
	},
	"loops that multiply": func(v *victim) {
		v.propose("many", `name: many
steps:
  - {id: list, agent: shell, config: {command: "echo '[1,2,3,4,5,6,7,8]'"}, output: {var: list, mode: json}}
  - id: all
    for_each: list
    steps:
      - {id: each, for_each: list, agent: shell, config: {command: echo x >>../count}}
`)
		v.approve("many")
		v.t.Log(v.run("run", "many"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); len(text) == 0 || strings.Count(string(text), "x") > 10 {
			v.t.Errorf("%d steps ran", strings.Count(string(text), "x"))
		}
	},
	"a run that starts itself": func(v *victim) {
		v.write("project/self.yml", "steps: [{id: nest, agent: shell, config: {command: \"echo x >>../count; hocket run self.yml\"}}]\n")
		v.t.Log(v.run("run", "self.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") != 3 {
			v.t.Errorf("%d runs inside of each other", strings.Count(string(text), "x"))
		}
	},
	"a hidden run that starts itself": func(v *victim) {
		v.write("project/self.yml", "steps: [{id: nest, agent: shell, config: {command: \"echo x >>../count; env -i PATH=$PATH HOME=$HOME setsid -w hocket run self.yml\"}}]\n")
		v.t.Log(v.run("run", "self.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") > 3 {
			v.t.Errorf("%d runs inside of each other", strings.Count(string(text), "x"))
		}
	},
	"a run with the budget of another": func(v *victim) {
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: echo x >>../count}}\n", 5))
		v.write("project/outer.yml", "limits: {max_steps: 4}\nsteps: [{id: nest, agent: shell, config: {command: \"hocket run inner.yml; hocket run inner.yml; true\"}}]\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") > 3 {
			v.t.Errorf("%d steps inside of a run with 4", strings.Count(string(text), "x"))
		}
	},
	"a run with the budget of a run that it names": func(v *victim) {
		v.write("project/free.yml", "steps: [{agent: shell, config: {command: \"true\"}}]\n")
		v.run("run", "free.yml")
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: echo x >>../count}}\n", 4))
		const other = "R=$(hocket runs --json | grep -o 'free-[a-z0-9]*' | head -1); "
		v.write("project/a.sh", other+"HOCKET_RUN=$R hocket run inner.yml\n")
		v.write("project/b.sh", other+"exec env HOCKET_RUN=$R HOCKET_DEPTH=1 sh -c 'hocket run inner.yml; true'\n")
		v.write("project/c.sh", "mkdir -p ../else; cp inner.yml ../else; cd ../else; exec env -i PATH=$PATH HOME=$HOME sh -c 'hocket run inner.yml; true'\n")
		v.write("project/outer.yml", "limits: {max_steps: 6}\non_error: continue\nsteps:\n  - {id: a, agent: shell, config: {command: [sh, a.sh]}}\n  - {id: b, agent: shell, config: {command: [sh, b.sh]}}\n  - {id: c, agent: shell, config: {command: [sh, c.sh]}}\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); len(text) == 0 || strings.Count(string(text), "x") > 5 {
			v.t.Errorf("%d steps inside of a run with 6", strings.Count(string(text), "x"))
		}
	},
	"runs in another project with the budget of one": func(v *victim) {
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: echo x >>../count}}\n", 4))
		v.write("project/else.sh", "mkdir -p ../else; cp inner.yml ../else; cd ../else; hocket run inner.yml; hocket run inner.yml; mkdir -p ../third; cp inner.yml ../third; cd ../third; hocket run inner.yml; true\n")
		v.write("project/outer.yml", "limits: {max_steps: 6}\nsteps: [{id: nest, agent: shell, config: {command: [sh, else.sh]}}]\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); len(text) == 0 || strings.Count(string(text), "x") > 5 {
			v.t.Errorf("%d steps inside of a run with 6", strings.Count(string(text), "x"))
		}
	},
	"runs inside of runs inside of a run": func(v *victim) {
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: echo x >>../count}}\n", 3))
		v.write("project/between.yml", "steps: [{id: between, agent: shell, config: {command: \"echo x >>../count; hocket run inner.yml; true\"}}]\n")
		v.write("project/outer.yml", "limits: {max_steps: 10}\nsteps: [{id: nest, agent: shell, config: {command: \"for i in 1 2 3 4 5 6; do hocket run between.yml; done; true\"}}]\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") < 4 || strings.Count(string(text), "x") > 9 {
			v.t.Errorf("%d steps inside of a run with 10", strings.Count(string(text), "x"))
		}
	},
	"runs that are deleted after they have used the budget": func(v *victim) {
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: echo x >>"+filepath.Join(v.base, "count")+"}}\n", 3))
		v.write("project/delete.sh", "for i in 1 2 3 4; do hocket run inner.yml; hocket runs delete $(hocket runs --json | grep -o 'inner-[a-z0-9]*' | head -1); done\n"+
			"for i in 1 2 3 4; do mkdir ../q$i; cp inner.yml ../q$i; hocket -C ../q$i --state ../q$i/state run inner.yml; rm -r ../q$i; done; true\n")
		v.write("project/outer.yml", "limits: {max_steps: 10}\nsteps: [{id: nest, agent: shell, config: {command: [sh, delete.sh]}}]\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") < 3 || strings.Count(string(text), "x") > 9 {
			v.t.Errorf("%d steps inside of a run with 10", strings.Count(string(text), "x"))
		}
	},
	"runs beside each other with one budget": func(v *victim) {
		v.write("project/inner.yml", "steps:\n"+strings.Repeat("  - {agent: shell, config: {command: sleep 0.1; echo x >>../count}}\n", 5))
		v.write("project/outer.yml", "limits: {max_steps: 8}\nsteps: [{id: nest, agent: shell, config: {command: \"for i in 1 2 3 4; do hocket run inner.yml & done; wait\"}}]\n")
		v.t.Log(v.run("run", "outer.yml"))
		if text, _ := os.ReadFile(filepath.Join(v.base, "count")); strings.Count(string(text), "x") < 5 || strings.Count(string(text), "x") > 7 {
			v.t.Errorf("%d steps inside of a run with 8", strings.Count(string(text), "x"))
		}
	},
}

// refused fails unless a command said that it is only for people.
func (v *victim) refused(out string) {
	v.t.Helper()
	if !strings.Contains(out, "reserved for people") {
		v.t.Errorf("not refused:\n%s", out)
	}
}

// await waits for a file that an attack leaves.
func (v *victim) await(name string) {
	v.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(v.base, name)); err == nil {
			return
		}
		if time.Now().After(end) {
			v.t.Fatal("the attack did not end")
		}
	}
}

// forge writes approvals as the program itself would, into another directory.
func (v *victim) forge(dir string) {
	v.t.Helper()
	state := filepath.Join(v.base, "forged")
	v.t.Setenv("XDG_STATE_HOME", state)
	v.approve("plan")
	v.t.Setenv("XDG_STATE_HOME", "")
	if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(v.base, dir)), 0o755), os.Rename(state, filepath.Join(v.base, dir))); err != nil {
		v.t.Fatal(err)
	}
}

func TestAttacksOnApprovals(t *testing.T) {
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("script(1) is missing, which the attacks use for a terminal")
	}
	if len(attacks) < 40 {
		t.Errorf("there are only %d attacks", len(attacks))
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			v := newVictim(t)
			v.t = t
			attack(v)
			v.unharmed()
		})
	}
}

// Without an attack, the person can approve the proposal and run it: otherwise the attacks would
// prove nothing.
func TestWithoutAnAttack(t *testing.T) {
	v := newVictim(t)
	v.write("end", "")
	p := v.open()
	r, err := p.Review("plan")
	if err != nil {
		t.Fatal(err)
	}
	v.write("end", r.Digest[len(r.Digest)-6:]+"\n")
	out, err := exec.Command("sh", "-c", "cd "+v.project+" && "+typing).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "approved plan") {
		t.Fatalf("%v\n%s", err, out)
	}
	v.run("run", "plan")
	if _, err := os.Lstat(filepath.Join(v.base, "stolen")); err != nil {
		t.Error("it did not run")
	}
}
