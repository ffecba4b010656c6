package hocket

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/local"
	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
)

// OpenDriver opens a driver for a project. It is not called before the user has approved where the project's own
// configuration leads.
type OpenDriver func(DriverSetup) (driver.Driver, error)

// DriverSetup is the project that a driver is opened for.
type DriverSetup struct {
	Root   string // the directory of the project
	State  string // its state directory
	Config project.Config
	// Metrics is the address at which to serve figures to Prometheus; "": nowhere.
	Metrics string
	// Prepare means that what runs need at the place where they will be is created, if it is missing.
	Prepare bool
}

// Driver returns the name of the driver that stores and drives the project's runs, "" if they are on this machine.
func (p *Project) Driver() string {
	if p.o.Local {
		return ""
	}
	return p.Config().Driver
}

// openDriver opens the driver of the project for a state directory. The caller has locked opened.
func (p *Project) openDriver(state string, prepare bool) (driver.Driver, error) {
	p = p.steady()
	name := p.Driver()
	if name == "" {
		return local.Open(state, p.localOptions())
	}
	open := p.o.Drivers[name]
	if open == nil {
		return nil, &UnknownDriverError{name}
	}
	if err := p.trustDriver(); err != nil {
		return nil, err
	}
	return open(DriverSetup{Root: p.Root(), State: state, Config: p.Config(), Metrics: p.o.Metrics, Prepare: prepare})
}

// UnknownDriverError reports that this program does not have the driver of a project.
type UnknownDriverError struct{ Name string }

func (e *UnknownDriverError) Error() string {
	return fmt.Sprintf("unknown driver %q", e.Name)
}

// Hint returns what to do about it.
func (e *UnknownDriverError) Hint() string {
	if e.Program() != "" {
		return "install " + e.Program() + " in a directory of your PATH that is not in the project, as docs/howto/temporal.md describes; or remove `driver` from config.yml to store runs on this machine"
	}
	return "this program does not include it: use one that does, or remove `driver` from config.yml to store runs on this machine"
}

// Program returns the program that has the driver, "" if none is known.
func (e *UnknownDriverError) Program() string {
	if e.Name == project.TemporalDriver {
		return "hocket-temporal"
	}
	return ""
}

// DriverProgram returns the file of the program to use instead of this one, because only that one has the driver of the
// project. It is "" if this program has it, or if the other one is not on the PATH. A program in the project itself does not
// count, and neither does one in a relative directory: the project must not choose what starts.
func (p *Project) DriverProgram() string {
	p = p.steady()
	missing := &UnknownDriverError{p.Driver()}
	if p.o.Drivers[missing.Name] != nil || missing.Program() == "" {
		return ""
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		file, err := trust.Locate(p.Root(), missing.Program(), dir)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err == nil && !slices.ContainsFunc([]string{file, real}, p.holds) {
			return file
		}
	}
	return ""
}

// holds reports whether an absolute path is in the project.
func (p *Project) holds(file string) bool {
	rel, err := filepath.Rel(p.Root(), file)
	return err == nil && filepath.IsLocal(rel)
}

// Migration is what became of moving a project to the driver that its configuration names.
type Migration struct {
	// Unfinished are the runs on this machine that are not over. If there are any, nothing was done.
	Unfinished []Info
	// Stay is how many runs were on this machine before. They stay there, see [Options.Local].
	Stay int
}

// Migrate prepares the place where the driver of the project stores its runs, so that they can start there. It can be
// repeated. Runs are not moved, and until those on this machine are over, nothing is done: their steps may be in progress here.
func (p *Project) Migrate(ctx context.Context) (m Migration, err error) {
	if p.Driver() == "" {
		return m, &NoWorkersError{}
	}
	here, err := local.Open(p.State(), local.Options{})
	if err != nil {
		return m, err
	}
	defer here.Close()
	all, err := here.Runs(ctx, Filter{})
	if err != nil {
		return m, err
	}
	m.Stay = len(all)
	m.Unfinished = slices.DeleteFunc(all, func(i Info) bool { return i.Status.Done() || i.Status == Damaged })
	if len(m.Unfinished) > 0 {
		return m, nil
	}
	p.opened.Lock()
	defer p.opened.Unlock()
	d, err := p.openDriver(p.State(), true)
	if err == nil {
		err = d.Close()
	}
	return m, err
}

// HasRunHere reports whether one run on this machine has an id or begins with it, although the project has a driver. Such a run is from
// before, see [Options.Local].
func (p *Project) HasRunHere(ctx context.Context, id string) bool {
	if p.Driver() == "" {
		return false
	}
	here, err := local.Open(p.State(), local.Options{})
	if err != nil {
		return false
	}
	defer here.Close()
	_, err = here.Find(ctx, id)
	return err == nil
}

// CheckRuns reads everything that is stored about runs, and returns how many there are, -1
// if there is no journal yet.
func (p *Project) CheckRuns(ctx context.Context) (int, error) {
	d, err := p.runs()
	if err != nil {
		return 0, err
	}
	if c, ok := d.(interface {
		Check(ctx context.Context) (int, error)
	}); ok {
		return c.Check(ctx)
	}
	all, err := d.Runs(ctx, Filter{})
	return len(all), err
}

// CheckDriver says whether the place where the driver stores runs is in order. It returns nothing if the driver
// cannot say that.
func (p *Project) CheckDriver(ctx context.Context) ([]driver.Finding, error) {
	d, err := p.runs()
	if e, ok := d.(driver.Examiner); ok && err == nil {
		return e.Examine(ctx), nil
	}
	return nil, err
}

// agree remembers that powers were approved, and the project's driver together with something else: the digest of a command
// and the answer of [Options.Trust] may be for this process only.
func (p *Project) agree(powers trust.Powers) {
	p.agreeSecrets(powers)
	p.opened.Lock()
	defer p.opened.Unlock()
	p.agreed = p.agreed.Union(slices.DeleteFunc(slices.Clone(powers), func(power trust.Power) bool { return power.Kind != trust.Driver }))
}

// trustDriver returns an *[UntrustedError] unless the user has approved where the driver of the project sends its
// runs. It asks nobody: also what only lists runs opens the driver. The caller has locked opened.
func (p *Project) trustDriver() error {
	powers := p.now().files.DriverPowers()
	if !powers.Exceeds(p.agreed) {
		return nil
	}
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil || decision.Trusted {
		return err
	}
	all, err := p.Powers()
	if err != nil { // in a workflow, which has nothing to do with it
		all = powers
	}
	if decision, err = p.Trusted(all, p.o.TrustDigest); err != nil {
		return err
	}
	untrusted := decision.Error(p.Root(), all)
	untrusted.Approve = []string{"trust"}
	return untrusted
}
