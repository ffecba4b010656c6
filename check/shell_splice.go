package check

import (
	"path"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
	"github.com/hocket-dev/hocket/workflow/expr"
)

var shellSplice = rule{
	code:     "shell-splice",
	severity: workflow.Error,
	summary:  "a value would become part of a shell command",
	node: func(p *pass, n *node) {
		t := n.Task()
		if t == nil || p.in.agent(p.w, n, t).Executor != "shell" {
			return
		}
		for _, key := range []string{"command", "script"} {
			if text, spliced := splicedText(t.Settings[key]); spliced {
				p.errorf(splicePos(n, t, key), `give the value as an input and write "$name" in the command, or pass it in args; a shell's own ${x} is written $${x}`,
					"%s of %q has a value in its text: %s", key, n.ID, shorten(text))
			}
		}
	},
}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "busybox"}

// splicedText is the text of a command that a shell would read and that has a
// reference in it. In a list only the text behind -c of a shell is read by one.
func splicedText(command any) (string, bool) {
	switch c := command.(type) {
	case string:
		return c, hasReference(c)
	case []any:
		for i := 2; i < len(c); i++ {
			shell, _ := c[i-2].(string)
			flag, _ := c[i-1].(string)
			text, _ := c[i].(string)
			if slices.Contains(shells, path.Base(shell)) && strings.HasPrefix(flag, "-") && strings.HasSuffix(flag, "c") && hasReference(text) {
				return text, true
			}
		}
	}
	return "", false
}

// splicePos is where the first reference stands in the command.
func splicePos(n *node, t *workflow.Task, key string) workflow.Pos {
	src := t.SettingsSrc[key]
	if src.Pos == (workflow.Pos{}) {
		return n.Pos
	}
	written, err := expr.ParseTemplate(src.Text, expr.Mixed)
	if err != nil || len(written.Refs()) == 0 {
		return src.Pos
	}
	ref := written.Refs()[0]
	return src.At(ref.From, ref.To)
}

func shorten(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(s); len(runes) > 40 {
		return string(runes[:39]) + "…"
	}
	return s
}
