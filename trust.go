package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// UntrustedError reports that the files of a project can do things that the user has not
// approved, and lists them.
type UntrustedError = trust.UntrustedError

// Powers returns what the files of the project can do that needs trust: its configuration,
// agents, tools and CLIs, its workflows, and the given ones, also that workers do them.
func (p *Project) Powers(workflows ...*Workflow) (trust.Powers, error) {
	powers, err := p.now().files.AllPowers()
	for _, w := range workflows {
		powers = powers.Union(w.Powers())
		if p.Driver() != "" {
			powers = powers.Union(w.workerPowers())
		}
	}
	return powers, err
}

// workerPowers returns what workers need to work for runs of the workflow, besides its powers.
func (w *Workflow) workerPowers() trust.Powers {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.l.WorkerPowers()
}

// Powers returns what a run of the workflow could do that needs trust: its own steps, and
// everything in the project except other workflows.
func (w *Workflow) Powers() trust.Powers {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.l.Powers()
}

// Abilities describes in one line what the workflow may do on this machine: run commands,
// write files, access the network. It is "" if it does none of these. A step with a reply
// does nothing.
func (w *Workflow) Abilities(replies *Replies) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if replies == nil {
		return w.l.Abilities(nil)
	}
	return w.l.Abilities(replies.CoversEvery)
}

// Trusted reports whether the user has approved powers of the project, earlier or with a
// digest. The digest of all powers of the project approves each of them.
func (p *Project) Trusted(powers trust.Powers, digest string) (trust.Decision, error) {
	p = p.steady()
	if digest != "" && digest != powers.Digest() {
		all, err := p.Powers()
		if err != nil {
			return trust.Decision{}, err
		}
		if all.Union(powers).Digest() == digest {
			digest = powers.Digest()
		}
	}
	var granted []trust.Kind
	if p.Config().Autonomy == "full" {
		granted = append(granted, trust.Autonomy)
	}
	return p.Approvals().Decide(p.Root(), powers, digest, granted...)
}

// trusted is Trusted with the digest that the user gave. It may also be that of all powers with which the user trusts a
// file.
func (p *Project) trusted(powers trust.Powers, file string) (trust.Decision, error) {
	digest := p.o.TrustDigest
	if digest != "" && file != "" && p.Driver() != "" {
		if w, err := p.Load(file); err == nil {
			if all, err := p.Powers(w); err == nil && all.Digest() == digest && !powers.Exceeds(all) {
				digest = powers.Digest()
			}
		}
	}
	return p.Trusted(powers, digest)
}

// Trust stores that the user has approved these powers of the project, in addition to others that
// were approved before.
func (p *Project) Trust(powers trust.Powers) error {
	_, err := p.Approvals().Approve(p.Root(), powers, p.owner.By, time.Now())
	return err
}

// pinnedTrust is the decision about a project's powers when a run was recorded.
type pinnedTrust struct {
	Trusted bool         `json:"trusted"`
	Powers  trust.Powers `json:"powers,omitempty"`
	At      time.Time    `json:"at,omitzero"` // when it was decided
	// Definition is the approval of the workflow itself, if it needs one.
	Definition *RunApproval `json:"definition,omitempty"`
}

// settle decides whether powers are trusted before a run is recorded or resumed. again means that
// the user has revoked an approval, so that even a run without powers does not continue. A run with
// a wrong digest does not continue either. file is that of the workflow, if any.
func (p *Project) settle(ctx context.Context, powers trust.Powers, file string, again bool) (pinnedTrust, error) {
	decision, err := p.trusted(powers, file)
	if err != nil {
		return pinnedTrust{}, err
	}
	pinned := pinnedTrust{Trusted: decision.Trusted, Powers: powers, At: time.Now().UTC()}
	untrusted := decision.Untrusted(p.Root(), powers)
	if (again || p.o.TrustDigest != "") && !decision.Trusted {
		untrusted = decision.Error(p.Root(), powers)
	}
	if untrusted == nil {
		p.agree(powers)
		return pinned, nil
	}
	untrusted.Approve = p.now().files.Approve(powers, file)
	if p.o.Trust == nil || p.o.TrustDigest != "" {
		return pinnedTrust{}, untrusted
	}
	pinned.Trusted, err = p.o.Trust(ctx, untrusted)
	switch {
	case err == nil && pinned.Trusted:
		p.agree(powers)
	case err == nil:
		err = untrusted
	}
	return pinned, err
}

// CheckTrust returns an *[UntrustedError] if the user has not approved what the project's
// files other than workflows can do.
func (p *Project) CheckTrust(ctx context.Context) error {
	p = p.steady()
	_, err := p.settle(ctx, p.now().files.Powers(), "", false)
	return err
}

// Settle decides once about what several workflows can do, so that Record with the returned
// option does not decide about each of them. The error is an *[UntrustedError] if the user
// does not approve it.
func (p *Project) Settle(ctx context.Context, replies *Replies, workflows ...*Workflow) (StartOption, error) {
	p = p.steady()
	decided, err := p.settle(ctx, powersOf(replies, workflows), "", false)
	return func(s *starting) { s.decided = &decided }, err
}

// Unsettled returns what Settle would ask the user about, nil if nothing. It asks nobody.
func (p *Project) Unsettled(replies *Replies, workflows ...*Workflow) (*UntrustedError, error) {
	p = p.steady()
	powers := powersOf(replies, workflows)
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil {
		return nil, err
	}
	return decision.Untrusted(p.Root(), powers), nil
}

// powersOf returns what several workflows can do, unless replies stand in for all of a workflow.
func powersOf(replies *Replies, workflows []*Workflow) (powers trust.Powers) {
	for _, w := range workflows {
		if replies == nil || !replies.CoversAll(w.Bundle()) {
			powers = powers.Union(w.Powers())
		}
	}
	return powers
}

// settleStart decides about the powers of a workflow. A workflow whose tasks all have
// replies uses none of them.
func (p *Project) settleStart(ctx context.Context, w *Workflow, s *starting) (pinnedTrust, error) {
	powers := w.Powers()
	if p.o.Trial.replays() || s.replies != nil && s.replies.CoversAll(w.Bundle()) {
		return pinnedTrust{Powers: powers}, nil
	}
	if s.decided != nil && !powers.Exceeds(s.decided.Powers) {
		return pinnedTrust{Trusted: s.decided.Trusted, Powers: powers, At: s.decided.At}, nil
	}
	if s.within {
		decision, err := p.trusted(powers, w.Model().Pos.File)
		if more := decision.Untrusted(p.Root(), powers); more != nil {
			err = errors.Join(err, more)
		}
		return pinnedTrust{Trusted: decision.Trusted, Powers: powers, At: time.Now().UTC()}, err
	}
	return p.settle(ctx, powers, w.Model().Pos.File, false)
}

// trustNotes returns what the user should know before a workflow starts: what it may do on
// this machine, once for each digest, and what it has to do without.
func (p *Project) trustNotes(w *Workflow, replies *Replies) ([]string, error) {
	if p.o.Trial.replays() || replies != nil && replies.CoversAll(w.Bundle()) {
		return nil, nil
	}
	var notes []string
	if able := w.Abilities(replies); able != "" && w.only == nil && p.Approvals().First(workflow.Digest(w.Model())+" "+able) {
		notes = append(notes, able)
	}
	decision, err := p.trusted(w.Powers(), w.Model().Pos.File)
	if left := decision.Left(); left != "" {
		notes = append(notes, left)
	}
	if !decision.Trusted {
		notes = append(notes, p.withheld(w)...)
	}
	return notes, err
}

// withheld lists the environment variables that commands of an untrusted project do not
// see: those that a step uses, for each workflow, otherwise some of them, once.
func (p *Project) withheld(w *Workflow) []string {
	w.mu.Lock()
	commands := strings.Join(w.l.Commands(), "\n")
	w.mu.Unlock()
	if commands == "" {
		return nil
	}
	_, names := secret.Usual(os.Environ(), secretVariables(p.Config())...)
	if len(names) == 0 {
		return nil
	}
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(commands, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words[word] = true
	}
	about := p.Root()
	if named := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !words[name] }); len(named) > 0 {
		names, about = named, workflow.Digest(w.Model())+" "+strings.Join(slices.Sorted(slices.Values(named)), " ")
	}
	if !p.Approvals().First("withheld " + about) {
		return nil
	}
	names = secret.LikelyFirst(names)
	list := strings.Join(names[:min(len(names), 5)], ", ")
	if more := len(names) - 5; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return []string{"the project is not trusted, so its commands do not see these environment variables: " + list + "; run `hocket trust` to pass them on"}
}

// trustOf returns what was decided when a run was recorded.
func trustOf(pin *driver.Pin) (t pinnedTrust, err error) {
	if pin.Trust != nil {
		if err = json.Unmarshal(pin.Trust, &t); err != nil {
			err = fmt.Errorf("hocket: trust: %w", err)
		}
	}
	return t, err
}

// settleAgain compares what the project can do now with what it could do when a run was
// recorded. If it can do more, if its approval was revoked, or if it was moved, the user
// has to decide again.
func (p *Project) settleAgain(ctx context.Context, pin *driver.Pin, agents *agent.Set, replies *Replies) (pinnedTrust, error) {
	before, err := trustOf(pin)
	if err != nil {
		return before, err
	}
	if replies != nil && replies.CoversAll(pin.Bundle) {
		return before, nil
	}
	revoked, err := p.Approvals().Revoked(p.Root())
	if err != nil {
		return pinnedTrust{}, err
	}
	was := pin.Dir
	if real, err := filepath.EvalSymlinks(was); err == nil { // an older version stored the path with symbolic links
		was = real
	}
	moved := was != p.Root()
	again := before.Trusted && (moved || !revoked.IsZero() && !before.At.After(revoked))
	now := p.pinnedPowers(*pin.Bundle, agents)
	if before.Trusted && !again && !now.Exceeds(before.Powers) {
		p.agreeSecrets(now)
		return before, nil
	}
	settled, err := p.settle(ctx, now, pin.Bundle.Root.Pos.File, again)
	settled.Definition = before.Definition
	return settled, err
}

// pinnedPowers returns the powers of a run's workflow and agents with the project's current
// files.
func (p *Project) pinnedPowers(b workflow.Bundle, agents *agent.Set) trust.Powers {
	return p.now().files.Pinned(b, agents, isTask(b.Root)).Powers()
}

// held is an executor that refuses tasks which exceed the approved powers. Values of the
// run may have become part of their settings, and an agent may have changed files. If
// nothing was approved, its programs see no secrets of the user and use no settings of the
// project.
type held struct {
	agent.Executor
	to      pinnedTrust
	current func() trust.Powers // what agents can currently use of the project

	telemetry *agent.Telemetry // how its programs export spans; nil: they do not
}

func (h held) Run(ctx context.Context, task *agent.Task, log agent.Log) (agent.Result, error) {
	task.Untrusted = !h.to.Trusted
	traits := h.Traits()
	var missing trust.Powers
	if traits.Powers != nil {
		missing = traits.Powers(task.Dir, task.Settings)
	}
	if traits.Configured || traits.FromPrompt(task) {
		missing = append(missing, h.current()...)
	}
	if h.to.Trusted {
		missing = missing.Minus(h.to.Powers)
	}
	if more := missing.Without(trust.Settings); len(more) > 0 {
		return agent.Result{}, agent.Permanentf("not approved: %s (a file has changed, or it contains a value of this run); run `hocket trust` to review it", more[0].What)
	}
	if len(missing) > 0 && h.to.Trusted {
		log([]byte("the agent starts without the project's own settings, which are not approved: " + missing[0].What + "; run `hocket trust` to review them\n"))
		task.Untrusted = true
	}
	if !task.Untrusted {
		task.Telemetry = h.telemetry
	}
	return h.Executor.Run(ctx, task, log)
}

// Approvals returns the user's approvals for all projects.
func (p *Project) Approvals() *trust.Store { return trust.Open(stateHome()) }

// userConfig returns the path of the user's own config.yml, for settings that a project
// cannot set, "" if the user has no home directory.
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
