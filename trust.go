package hocket

import (
	"os"
	"path/filepath"
	"time"

	"github.com/hocket-dev/hocket/trust"
)

// Powers are what the files of the project can do and that needs trust: its
// configuration, agents, tools and CLIs, the workflows that it has by name, and
// those that are given.
func (p *Project) Powers(workflows ...*Workflow) (trust.Powers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	powers, err := p.files.AllPowers()
	for _, w := range workflows {
		powers = powers.Union(w.l.Powers())
	}
	return powers, err
}

// Powers are what a run of the workflow could do and that needs trust: its steps, and
// everything of the project but other workflows.
func (w *Workflow) Powers() trust.Powers {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.l.Powers()
}

// Abilities says in one line what the workflow may do on this machine: run commands,
// write files, reach the network; "" none of it.
func (w *Workflow) Abilities() string {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	return w.l.Abilities()
}

// Trusted says whether a person has approved powers of the project, here or by the
// digest that the caller was given.
func (p *Project) Trusted(powers trust.Powers, digest string) (trust.Decision, error) {
	var granted []trust.Kind
	if p.Config().Autonomy == "full" {
		granted = append(granted, trust.Autonomy)
	}
	return p.Approvals().Decide(p.Root(), powers, digest, granted...)
}

// Trust keeps that the user approved exactly these powers of the project.
func (p *Project) Trust(powers trust.Powers) error {
	_, err := p.Approvals().Replace(p.Root(), powers, p.owner().By, time.Now())
	return err
}

// Approvals are what the user approved, of all projects.
func (p *Project) Approvals() *trust.Store { return trust.Open(stateHome()) }

// userConfig is the user's own config.yml, for what no project may set; "" there is no
// place for one.
func userConfig() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "hocket", "config.yml")
}
