// Command mutants measures whether the tests notice broken code. It breaks the code in one
// place, runs the tests of the package, and expects one of them to fail.
//
//	make mutants
//	go run ./internal/mutants -n 100 -seed 7 agent/secret internal/sandbox
//	go run ./internal/mutants -n 0 -only "Masker.Add" agent/secret
//
// A mutant that no test notices is a survivor. It needs a test, or a line in survivors.txt
// that says why it makes no difference; the mutants on that list do not count. The work tree
// is never changed: the go command reads the broken file through -overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// target is a folder, or a file that has its own goal.
type target struct {
	name string
	goal int // percent
	// also are other packages whose tests run it.
	also []string
	// short means that tests repeat less often, with -short: processes are killed, and the power
	// fails, at fewer moments.
	short bool
}

// holds reports whether a file belongs to a target. A file that is a target itself is not part
// of its folder's target.
func (t target) holds(file string) bool {
	own := slices.ContainsFunc(targets, func(other target) bool { return other.name == file })
	return file == t.name || path.Dir(file) == t.name && !own
}

const overall = 90

var targets = []target{
	{name: "engine", goal: 95, also: []string{"internal/recorded"}},
	{name: "journal", goal: 90, short: true},
	{name: "driver/local", goal: 90, short: true},
	{name: "workflow", goal: 90, also: []string{"syntax/yaml"}},
	{name: "check", goal: 90},
	{name: "agent", goal: 90},
	{name: "agent/permission.go", goal: 95},
	{name: "agent/secret", goal: 95},
	{name: "internal/sandbox", goal: 95},
	{name: "internal/sandbox/inside", goal: 95, also: []string{"internal/sandbox"}},
	{name: "internal/outbound", goal: 90},
	{name: "internal/wholefile", goal: 90},
}

func main() {
	n := flag.Int("n", 200, "how many mutants to try, the same number for each package; 0: all")
	seed := flag.Uint64("seed", 1, "which random sample to take")
	only := flag.String("only", "", "try only mutants whose name contains this text, for example a survivor that has a test now")
	verbose := flag.Bool("v", false, "print every mutant, not only survivors")
	jobs := flag.Int("jobs", 1, "how many mutants to try at the same time, for packages whose tests allow it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, options{*n, *seed, *only, *verbose, *jobs}, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

type options struct {
	n       int // 0: all
	seed    uint64
	only    string // part of their names
	verbose bool
	jobs    int
}

func run(ctx context.Context, o options, names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	listed, err := readSurvivors(survivorsFile)
	if err != nil {
		return err
	}
	bench, err := newBench()
	if err != nil {
		return err
	}
	defer bench.close()
	o.n = share(o.n, len(chosen))
	var scores []score
	for _, t := range chosen {
		s, err := try(ctx, bench, t, o, listed)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		scores = append(scores, s)
	}
	return report(scores)
}

// choose returns all targets, or those that are named.
func choose(names []string) ([]target, error) {
	if len(names) == 0 {
		return targets, nil
	}
	var chosen []target
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.name == strings.TrimSuffix(name, "/") })
		if i < 0 {
			return nil, fmt.Errorf("unknown target %q: add it to the table in internal/mutants/main.go", name)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}

// share returns how many of n mutants one of several targets gets.
func share(n, targets int) int {
	if n == 0 {
		return 0
	}
	return (n + targets - 1) / targets
}

// score counts the outcomes of a target's mutants.
type score struct {
	target
	killed, survived int
	timedOut         int      // of the killed ones
	stale            []string // lines of survivors.txt for which there is no mutant
}

// try tries a sample of the mutants of a target.
func try(ctx context.Context, b *bench, t target, o options, listed survivors) (score, error) {
	s := score{target: t}
	p, err := load(t)
	if err != nil {
		return s, err
	}
	all := p.mutants()
	s.stale = listed.stale(t, all)
	all = slices.DeleteFunc(all, func(m mutant) bool { return listed[m.String()] || !strings.Contains(m.String(), o.only) })
	schema := newSchema(p, p.sample(all, o))
	var suites []tests
	for _, dir := range append([]string{p.dir}, t.also...) {
		tests, err := b.measure(ctx, tests{dir: dir, short: t.short}, schema.changed())
		if err != nil {
			return s, err
		}
		suites = append(suites, tests)
	}
	fmt.Printf("%s: %d of %d mutants, %d of them built alone, %s\n", t.name, len(schema.mutants), len(all), schema.countAlone(), suites)
	return s, s.try(ctx, b, schema, suites, o)
}

// sample returns some of the mutants that compile, in random order.
func (p *pkg) sample(all []mutant, o options) (some []mutant) {
	random := rand.New(rand.NewPCG(o.seed, 0))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, m := range all {
		if o.n > 0 && len(some) == o.n {
			break
		}
		if p.compiles(m) {
			some = append(some, m)
		}
	}
	return some
}

// try tries all mutants of a schema.
func (s *score) try(ctx context.Context, b *bench, schema *schema, suites []tests, o options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex // of s
	slots := make(chan struct{}, max(1, o.jobs))
	for i, m := range schema.mutants {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			killer, err := b.try(ctx, suites, func(t tests) ([]byte, error) {
				if schema.alone(i + 1) {
					return b.build(ctx, t.dir, map[string][]byte{m.file: m.apply(schema.sources[m.file])})
				}
				return with(t.program, i+1), nil
			})
			if err != nil {
				cancel(fmt.Errorf("%s: %w", m, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			s.count(m, killer, time.Since(start), o.verbose)
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// count counts and prints an outcome.
func (s *score) count(m mutant, killer string, took time.Duration, verbose bool) {
	if killer == "" {
		s.survived++
		fmt.Printf("survived %s  (line %d)\n", m, m.line)
		return
	}
	s.killed++
	if killer == timeout {
		s.timedOut++
	}
	if verbose || killer == timeout {
		fmt.Printf("killed   %s  (line %d, %s by %s)\n", m, m.line, took.Round(time.Millisecond), killer)
	}
}

// report prints the scores. The error says which goals were missed.
func report(scores []score) error {
	var errs []error
	var all score
	fmt.Printf("\n%-24s %6s %6s %6s  %-4s  %s\n", "", "killed", "of", "", "goal", "by a timeout")
	line := func(name string, s score, goal int) {
		total := max(1, s.killed+s.survived)
		fmt.Printf("%-24s %6d %6d %5.1f%%  %3d%%  %d\n", name, s.killed, s.killed+s.survived, 100*float64(s.killed)/float64(total), goal, s.timedOut)
		if 100*s.killed < goal*(s.killed+s.survived) {
			errs = append(errs, fmt.Errorf("%s is below its goal of %d%%", name, goal))
		}
	}
	for _, s := range scores {
		line(s.name, s, s.goal)
		all.killed += s.killed
		all.survived += s.survived
		all.timedOut += s.timedOut
		for _, entry := range s.stale {
			errs = append(errs, fmt.Errorf("%s lists a mutant that does not exist: %s", survivorsFile, entry))
		}
	}
	line("all", all, overall)
	return errors.Join(errs...)
}
