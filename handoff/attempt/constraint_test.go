package attempt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-dev/hocket/handoff/attempt"
)

func TestUnderstand(t *testing.T) {
	readOnly := attempt.Rule{Kind: attempt.ReadOnly}
	except := func(paths ...string) attempt.Rule { return attempt.Rule{Kind: attempt.Except, Paths: paths} }
	takes := func(d time.Duration) attempt.Rule { return attempt.Rule{Kind: attempt.Duration, Duration: d} }
	costs := func(usd float64) attempt.Rule { return attempt.Rule{Kind: attempt.Cost, CostUSD: usd} }
	uses := func(n int64) attempt.Rule { return attempt.Rule{Kind: attempt.Tokens, Tokens: n} }
	exists := func(path string) bool {
		return slices.Contains([]string{"Makefile", "go.mod", "src/x.go", "docs/plans", "docs/plan.md", "lib/db.go", "tests"}, path)
	}
	for text, want := range map[string]attempt.Rule{
		"Read-only validation only":                  readOnly,
		"read only":                                  readOnly,
		"Do not modify any files.":                   readOnly,
		"No code changes":                            readOnly,
		"Do not modify src/":                         except("src"),
		"Read-only validation (no service restarts)": readOnly,
		"Do not modify src/ code (implementation already complete)": except("src"),
		"Do not modify `client/server` files":                       except("client/server"),
		"Do not modify ./Node.js":                                   except("Node.js"),
		"Do not change lib/db.go":                                   except("lib/db.go"),
		"Do not change lib/db.go or 'tests'":                        except("lib/db.go", "tests"),
		"Maximum duration: 5 minutes (hard limit)":                  takes(5 * time.Minute),
		"don't touch `Makefile` or go.mod":                          except("Makefile", "go.mod"),
		"Do not change files in src/auth/":                          except("src/auth"),
		"No changes to docs/, ./src/x.go":                           except("docs", "src/x.go"),
		"Only modify tests/":                                        {Kind: attempt.Only, Paths: []string{"tests"}},
		"Write only to docs/plans":                                  {Kind: attempt.Only, Paths: []string{"docs/plans"}},
		"Maximum duration: 10 minutes":                              takes(10 * time.Minute),
		"Max duration 90s":                                          takes(90 * time.Second),
		"Time limit: 1.5 hours":                                     takes(90 * time.Minute),
		"Maximum cost: $2":                                          costs(2),
		"Budget: 2.50 USD":                                          costs(2.5),
		"Maximum tokens: 50,000":                                    uses(50_000),
		"Token limit: 50k":                                          uses(50_000),
		"Token limit: 1.5M":                                         uses(1_500_000),
		"At most 2000 tokens":                                       uses(2000),
		"Finish within 5 minutes":                                   takes(5 * time.Minute),

		// These may mean something else, so they are advisory.
		"Read-only access to the database":         {},
		"No production configuration changes":      {},
		"Do not modify the public API":             {},
		"Do not modify src/ or the database":       {},
		"Do not modify ../other/":                  {},
		"Do not restart services":                  {},
		"Write only to docs/plan.md":               {},
		"Maximum duration: soon":                   {},
		"Maximum cost: 5":                          {},
		"At most 3 files":                          {},
		"Maximum duration: 0 minutes":              {},
		"Maximum cost: $0":                         {},
		"Maximum cost: US5":                        {},
		"Maximum tokens: 50.000":                   {},
		"Token limit: 1,5M":                        {},
		"Do not change v1.2":                       {},
		"Do not modify client/server":              {},
		"Do not modify Node.js":                    {},
		"Do not modify Node.js or src/":            {},
		"Do not change tests":                      {}, // it exists, but the word may mean something else
		"Do not touch \"database\"":                {},
		"Do not write code without tests":          {},
		"Read-only (except docs/)":                 {},
		"Do not modify src/ (unless it is broken)": {},
		"Read-only (outside docs/)":                {},
		"Maximum duration: 5 minutes (per test)":   {},
		"Maximum cost: $2 (for each file)":         {},
		"Do not modify existing agent personas until migration plan approved": {},
		"Do not create new git branches (use main for research synthesis)":    {},
		"Use existing bcrypt library (do not add new dependencies)":           {},
		"": {},
	} {
		if diff := cmp.Diff(want, attempt.ParseConstraint(text, exists)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestMeans(t *testing.T) {
	for constraint, want := range map[string]string{
		"Do not modify src/":         "src is not writable (Landlock)",
		"Do not modify src/ or lib/": "src, lib are not writable (Landlock)",
	} {
		if got := attempt.ParseConstraint(constraint, nil).EnforcedBy(""); got != want {
			t.Errorf("%s: %s", constraint, got)
		}
	}
}
