package check

import (
	"strings"

	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

var generatedDownload = rule{
	code:     "generated-download",
	severity: workflow.Warning,
	summary:  "a command that a model wrote runs what it downloads",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil || !p.generated(n) || p.in.agent(p.w, n, t).Executor != "shell" {
			return
		}
		command, isText := t.Settings["command"].(string)
		if !isText {
			command = workflow.FormatJSON(t.Settings["command"])
		}
		if words := strings.NewReplacer("'", "", `"`, "", `\`, "").Replace(command); runsDownload().MatchString(words) {
			p.warnf(splicePos(n, t, "command"), "nobody can review what it will download; store the script in the project instead", "%q downloads code and runs it: %s", n.ID, shorten(command))
		}
	},
}

// runsDownload finds what people know to look for: a download that is piped to a shell, or that is
// part of a command as $(curl …), `curl …` or <(curl …). It need not find everything, because a
// person sees the command.
var runsDownload = lazy.Regexp(`(?s)\b(curl|wget|fetch|aria2c)\b[^|;&\n]*\|\s*(sudo\s+|env\s+|-\S+\s+|\w+=\S*\s+)*(\S*/)?((ba|da|z|k)?sh\b|source\b|eval\b|xargs\b|(python[\d.]*|perl|ruby|node|php)\s*(-\s*)?([;&|\n)]|$))` +
	"|" + `\b(eval|source|exec|(ba|da|z|k)?sh|python[\d.]*|perl|ruby|node|php)\b[^;\n]*([$<]\(|` + "`" + `)\s*(curl|wget|fetch|aria2c)\b`)
