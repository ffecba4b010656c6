package web_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/hocket-dev/hocket/agent"
)

// boss is an agent that hands its work off, and what it is given, too.
func boss(ctx context.Context, task *agent.Task, _ agent.Log) (agent.Result, error) {
	out := ""
	for _, word := range strings.Fields(task.Prompt) {
		word, yes := strings.CutPrefix(word, "to:")
		if !yes {
			continue // of the context
		}
		to, prompt, _ := strings.Cut(word, ":")
		done, err := task.HandOff(ctx, agent.Handoff{To: to, Prompt: prompt, Blocking: true})
		if err != nil {
			return agent.Result{}, err
		}
		out += done.Output
	}
	return agent.Result{Output: out}, nil
}

// handing has a step that hands work off, twice, to agents one of which does so, too. They wait for files.
func handing() map[string]string {
	waits := func(file string) string {
		return "agent: shell\nsettings: {command: \"cat >/dev/null; while [ ! -e " + file + " ]; do sleep 0.05; done; printf ok\"}\n"
	}
	return map[string]string{
		".hocket/agents/boss.yml": "name: boss\nagent: delegating\n", ".hocket/agents/lead.yml": "name: lead\nagent: delegating\n",
		".hocket/agents/checker.yml": "name: checker\n" + waits("checked"), ".hocket/agents/tester.yml": "name: tester\n" + waits("tested"),
		".hocket/workflows/handing.yml": "name: handing\nsteps:\n  - {id: ask, human: {question: Begin, options: [yes]}}\n" +
			"  - {id: work, title: Do the work, agent: boss, prompt: \"to:checker:look to:lead:to:tester:try\", handoffs: {to: [checker, lead, tester]}}\n  - {id: publish, agent: greeter, prompt: publish}\n",
	}
}

// TestHandoffInPlace shows work that is handed off while the page is open, in the drawing and in the list.
func TestHandoffInPlace(t *testing.T) {
	f := newFixture(t, handing())
	run := f.begin("handing")
	f.until(run, "waiting")
	b := f.tab()
	at := "/projects/shop/runs/" + run.ID()
	b.open(at)
	b.do(chromedp.Evaluate[chromedp.Void](`window.same = true; document.querySelector('.drawing a[data-place="work"]').focus(); undefined`))
	f.answer(run, "yes")
	b.wait(state("work/handoff-1", "running"))
	if where := eval[string](b, `document.activeElement.dataset.place`); where != "work" {
		t.Errorf("the focus moved to %q", where)
	}
	done := func(name string) {
		if err := os.WriteFile(filepath.Join(f.p.Root(), name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.do(chromedp.Click(`.drawing [data-place="work/handoff-1"]`))
	b.wait(`document.querySelector("#detail h2")?.textContent === "handoff-1"`)
	done("checked")
	b.wait(state("work/handoff-1", "success") + " && " + state("work/handoff-2", "running") + " && " + state("work/handoff-2/handoff-1", "running"))
	b.pictures("handoff-in-place")
	done("tested")
	b.wait(state("work/handoff-2/handoff-1", "success") + " && " + state("work", "success") + " && " + state("publish", "success"))
	if !eval[bool](b, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	// They are inside of the drawing of their step, and the same without JavaScript.
	if page := f.get(f.client(), at, 200); !strings.Contains(page, `<a class="node success" data-place="work/handoff-2/handoff-1"`) || !strings.Contains(page, ">handoff-2 · lead</text>") {
		t.Error("the drawing of the server has no handoffs")
	}
}
