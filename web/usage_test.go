package web_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

var day = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d,`)

// TestUsage shows what agents cost by agent, model, workflow, project and run, and the same as CSV.
func TestUsage(t *testing.T) {
	f := newFixture(t, map[string]string{".hocket/workflows/costly.yml": "name: costly\nsteps:\n  - {id: a, agent: paid, prompt: x}\n  - {id: b, agent: paid, prompt: y}\n  - {id: c, agent: greeter, prompt: z}\n"})
	begun := time.Now().YearDay()
	run := f.begin("costly")
	f.until(run, "success")
	c := f.client()
	page := f.get(c, "/usage", http.StatusOK)
	for _, want := range []string{"By agent", "By model", "By workflow", "By project", "By run", ">paid<", ">large-1<", ">costly<", ">" + run.ID() + "<", "$0.50", "2\u202f400"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	want := "day,project,workflow,run,agent,model,attempts,cost_usd,cost_unknown,tokens_in,tokens_out\nDAY,shop,costly," + run.ID() + ",paid,large-1,2,0.5,false,2000,400\n"
	if got := day.ReplaceAllString(f.get(c, "/usage.csv", http.StatusOK), "DAY,"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if home := f.get(c, "/", http.StatusOK); begun == time.Now().YearDay() && !strings.Contains(home, "$0.50</b> spent today") {
		t.Errorf("the home page does not say what was spent:\n%s", home)
	}
}
