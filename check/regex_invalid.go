package check

import (
	"regexp"

	"github.com/hocket-dev/hocket/workflow"
)

var regexInvalid = rule{
	code:     "regex-invalid",
	severity: workflow.Error,
	summary:  "the regular expression of an output does not parse",
	node: func(p *pass, n *node) {
		if n.Output.Mode != workflow.Regex {
			return
		}
		if _, err := regexp.Compile(n.Output.Pattern); err != nil {
			p.errorf(placeOr(n.Output.Places().Pattern, p.outputPos(n)), err.Error(), "the pattern of %q is not a valid regular expression", n.ID)
		}
	},
}
