package attempt

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/internal/lazy"
	"github.com/hocket-dev/hocket/workflow"
)

// Rule is what Hocket can enforce of a constraint. The agent is told all constraints; those with a
// kind are also enforced.
type Rule struct {
	Kind     RuleKind
	Paths    []string      // Only, Except
	Duration time.Duration // Duration
	CostUSD  float64       // Cost
	Tokens   int64         // Tokens
}

// RuleKind is the kind of a rule; "" if the constraint is advisory.
type RuleKind string

// The kinds of rules.
const (
	ReadOnly RuleKind = "read-only" // nothing outside the directory of the session may change
	Only     RuleKind = "only"      // only these paths may change
	Except   RuleKind = "except"    // these paths must not change
	Duration RuleKind = "duration"  // the limit for all attempts together
	Cost     RuleKind = "cost"
	Tokens   RuleKind = "tokens"
)

// ParseConstraint returns the rule for a constraint. It is careful: if a constraint might mean
// something else, there is no rule. exists reports whether a path exists in the project; nil means
// that none does.
func ParseConstraint(constraint string, exists func(path string) bool) Rule {
	text := strings.TrimRight(strings.Join(strings.Fields(constraint), " "), ".!")
	if at := remark().FindStringIndex(text); at != nil && !exception().MatchString(text[at[0]:]) {
		text = text[:at[0]]
	}
	if exists == nil {
		exists = func(string) bool { return false }
	}
	lower := strings.ToLower(text)
	for _, p := range patterns {
		if !slices.ContainsFunc(strings.Fields(p.begins), func(word string) bool { return strings.HasPrefix(lower, word) }) {
			continue
		}
		if m := p.form().FindStringSubmatch(text); m != nil {
			if r, ok := p.rule(m[1], exists); ok {
				return r
			}
		}
	}
	return Rule{}
}

// A remark at the end, such as (no service restarts), only explains a constraint, unless it
// restricts it, as (except docs/) and (per test) do.
var (
	remark    = lazy.Regexp(` \([^()]*\)$`)
	exception = lazy.Regexp(`(?i)\b(?:except|unless|but|besides|apart|other|outside|excluding|only|until|before|after|if|when|may|can|allowed|per|each|every|about|soft)\b`)
)

// patterns are the supported forms of constraints. The group of each is the amount or the paths.
var patterns = []struct {
	begins string // with one of these words, so that most expressions need not even be compiled
	form   func() *regexp.Regexp
	rule   func(part string, exists func(string) bool) (Rule, bool)
}{
	{"strictly read", lazy.Regexp(`(?i)^(?:strictly )?(read[- ]only)(?: (?:mode|task|work|validation|review|research|analysis|operations?|checks?|access))?(?: only)?$`), readOnly},
	{"do don't never", lazy.Regexp(`(?i)^(?:do not|don't|never) (?:modify|change|edit|write|create or modify) ((?:any )?(?:files?|code|source code|anything))$`), readOnly},
	{"no", lazy.Regexp(`(?i)^no (?:file|code|source code) ((?:changes|modifications|edits))$`), readOnly},
	{"do don't never", lazy.Regexp(`(?i)^(?:do not|don't|never) (?:modify|change|edit|touch|write to|write in)(?: (?:any )?files? (?:in|under|below))? (.+)$`), except},
	{"no", lazy.Regexp(`(?i)^no (?:changes|modifications|edits) (?:to|in|under) (.+)$`), except},
	{"only modify change edit write", lazy.Regexp(`(?i)^(?:only (?:modify|change|edit|write to|write in)|(?:modify|change|edit|write) only(?: to| in)?)(?: files? (?:in|under|below))? (.+)$`), only},
	{"max time duration timeout", lazy.Regexp(`(?i)^(?:max(?:imum)?\.? (?:duration|time|run ?time|execution time)|(?:time|duration) limit|timeout) ?(?::|=|of|is)? ?(.+)$`), duration},
	{"max cost budget spending", lazy.Regexp(`(?i)^(?:max(?:imum)?\.? (?:cost|budget|spend(?:ing)?)|(?:cost|budget|spending) limit|budget) ?(?::|=|of|is)? ?(.+)$`), cost},
	{"max token", lazy.Regexp(`(?i)^(?:max(?:imum)?\.? tokens?(?: usage)?|tokens? (?:limit|budget)) ?(?::|=|of|is)? ?(.+?)(?: tokens?)?$`), tokens},
	{"at no max", lazy.Regexp(`(?i)^(?:at most|no more than|max(?:imum)?(?: of)?) (.+?) tokens?$`), tokens},
	{"at no finish within", lazy.Regexp(`(?i)^(?:at most|no more than|finish within|within) (.+)$`), duration},
}

func readOnly(string, func(string) bool) (Rule, bool) { return Rule{Kind: ReadOnly}, true }

func except(list string, exists func(string) bool) (Rule, bool) {
	paths, ok := pathsIn(list, exists)
	return Rule{Kind: Except, Paths: paths}, ok
}

// only accepts directories. The kernel can allow writing to an existing file, but most programs
// replace the file with a new one.
func only(list string, exists func(string) bool) (Rule, bool) {
	paths, ok := pathsIn(list, exists)
	for _, p := range paths {
		ok = ok && (path.Ext(p) == "" || strings.Contains(list, p+"/"))
	}
	return Rule{Kind: Only, Paths: paths}, ok
}

var (
	pathSeparator = lazy.Regexp(`,? and |,? or |, ?`)
	likelyPath    = lazy.Regexp(`/|\.[A-Za-z]`)
	aPath         = lazy.Regexp(`^[A-Za-z0-9._@+-]+(?:/[A-Za-z0-9._@+-]+)*/?$`)
	pathNoun      = lazy.Regexp(`([/` + "`" + `'"]) (?:code|files?|directory|folder)$`)
)

// pathsIn reads a list of paths. Every item has to be clearly a path: in backquotes, ending with a
// slash, or beginning with ./. Others are paths only if they exist in the project, which
// client/server and Node.js usually do not. A plain word is never a path, because it may mean
// something else.
func pathsIn(list string, exists func(string) bool) ([]string, bool) {
	var paths []string
	for _, item := range pathSeparator().Split(list, -1) {
		item = pathNoun().ReplaceAllString(strings.TrimPrefix(strings.TrimSpace(item), "the "), "$1")
		bare := strings.Trim(item, "`'\"")
		plain := strings.TrimPrefix(bare, "./")
		clean := path.Clean(plain)
		if !aPath().MatchString(plain) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, false
		}
		certain := plain != bare || strings.HasSuffix(bare, "/") || strings.HasPrefix(item, "`")
		if likely := bare != item || likelyPath().MatchString(plain); !certain && !(likely && exists(clean)) {
			return nil, false
		}
		paths = append(paths, clean)
	}
	return paths, true
}

var amountOfTime = lazy.Regexp(`(?i)^([0-9]+(?:\.[0-9]+)?) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)$`)

func duration(text string, _ func(string) bool) (Rule, bool) {
	m := amountOfTime().FindStringSubmatch(text)
	if m == nil {
		return Rule{}, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour}[strings.ToLower(m[2])[0]]
	d := time.Duration(n * float64(unit))
	return Rule{Kind: Duration, Duration: d}, err == nil && d > 0 && n < 10_000
}

var amountOfMoney = lazy.Regexp(`(?i)^(?:(?:US)?\$ ?)?([0-9]+(?:\.[0-9]+)?) ?(?:USD|dollars?)?$`)

func cost(text string, _ func(string) bool) (Rule, bool) {
	m := amountOfMoney().FindStringSubmatch(text)
	if m == nil || m[0] == m[1] { // a bare number may be anything
		return Rule{}, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	return Rule{Kind: Cost, CostUSD: n}, err == nil && n > 0
}

var amountOfTokens = lazy.Regexp(`(?i)^([0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+(\.[0-9]+)?) ?(k|m)?$`)

func tokens(text string, _ func(string) bool) (Rule, bool) {
	m := amountOfTokens().FindStringSubmatch(text)
	if m == nil || m[2] != "" && m[3] == "" { // 50.000 may be 50 or 50,000
		return Rule{}, false
	}
	n, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(m[1]), 64)
	n *= map[string]float64{"": 1, "k": 1000, "m": 1_000_000}[strings.ToLower(m[3])]
	return Rule{Kind: Tokens, Tokens: int64(n)}, err == nil && n >= 1 && n < 1e12
}

// Limits returns the limits for a run that carries out a request. Zero means no limit.
func Limits(q *protocol.Request) workflow.Limits {
	limits := workflow.Limits{Runtime: q.Timeout}
	for _, c := range q.Constraints {
		switch r := ParseConstraint(c, nil); r.Kind {
		case Duration:
			limits.Runtime = least(limits.Runtime, r.Duration)
		case Cost:
			limits.CostUSD = least(limits.CostUSD, r.CostUSD)
		case Tokens:
			limits.Tokens = least(limits.Tokens, r.Tokens)
		}
	}
	return limits
}

func least[N int64 | float64 | time.Duration](a, b N) N {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// EnforcedBy says what enforces a rule; "" if the constraint is advisory. unenforced says why write
// limits cannot be enforced here, "" if they can.
func (r Rule) EnforcedBy(unenforced string) string {
	switch r.Kind {
	case ReadOnly, Only, Except:
		if unenforced != "" {
			return ""
		}
		be := " are"
		if len(r.Paths) == 1 {
			be = " is"
		}
		return map[RuleKind]string{
			ReadOnly: "only the session directory is writable (Landlock)",
			Only:     "nothing but " + strings.Join(r.Paths, ", ") + " and the session directory is writable (Landlock)",
			Except:   strings.Join(r.Paths, ", ") + be + " not writable (Landlock)",
		}[r.Kind]
	case Duration:
		return fmt.Sprintf("a timeout of %s", workflow.FormatDuration(r.Duration))
	case Cost:
		return fmt.Sprintf("a budget of $%.2f", r.CostUSD)
	case Tokens:
		return fmt.Sprintf("a budget of %d tokens", r.Tokens)
	}
	return ""
}
