package hocket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// Trigger starts runs of a workflow by itself, see package trigger.
type Trigger = project.Trigger

// What fires a trigger, see [project.Cause].
type (
	// Schedule fires at local times of a zone.
	Schedule = project.Schedule
	// Hook fires for requests with a valid signature.
	Hook = project.Hook
	// Files fires when a file is new or has changed.
	Files = project.Files
	// After fires when a run of another workflow has ended.
	After = project.After
)

// What happens to times of a schedule that were missed, and if an older run of a trigger is not over.
const (
	MissedOnce  = project.MissedOnce
	MissedSkip  = project.MissedSkip
	MissedAll   = project.MissedAll
	QueueRuns   = project.Queue
	SkipRuns    = project.Skip
	CancelOlder = project.CancelOlder
)

// The labels of runs that a trigger started: its name, the key of the firing, and how many runs led to it, each
// after the other.
const (
	TriggerLabel = "trigger"
	FiringLabel  = "firing"
	DepthLabel   = "trigger_depth"
)

// Triggers reads the triggers of the project, those with mistakes included.
func (p *Project) Triggers() []*Trigger { return p.now().files.Triggers() }

// CheckTrigger finds the mistakes in a trigger: in its file, and in what it starts.
func (p *Project) CheckTrigger(t *Trigger) workflow.Diagnostics {
	return p.now().files.CheckTrigger(t)
}

// LoadTrigger loads the workflow that a trigger starts. The error is an *[UntrustedError] if the user has not approved
// the trigger with exactly this workflow: nobody is there to see what it starts.
func (p *Project) LoadTrigger(t *Trigger) (*Workflow, error) {
	p = p.steady()
	if found := p.CheckTrigger(t); found.Errors() {
		return nil, &InvalidError{found}
	}
	w, err := p.LoadNamed(t.Workflow)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	powers := p.now().files.TriggerPowers(t, w.l)
	w.mu.Unlock()
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil {
		return nil, err
	}
	if !decision.Trusted && len(decision.Missing.Without(trust.Settings)) > 0 {
		return nil, decision.Error(p.Root(), powers)
	}
	return w, nil
}

// ErrSignature means that a signature is missing or does not match.
var ErrSignature = errors.New("missing or invalid signature")

// CheckSignature checks the signature of a message, sha256= and its HMAC in hexadecimal digits, with a secret of the
// project. The error is [ErrSignature], or says why the secret cannot be read: a project that is not trusted must not
// decide which secrets are.
func (p *Project) CheckSignature(secret, signature string, message []byte) error {
	p = p.steady()
	powers := p.now().files.SecretPowers(secret)
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err != nil {
		return err
	}
	if !decision.Trusted {
		return decision.Error(p.Root(), powers)
	}
	key, err := p.now().secrets.Get(secret)
	if err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(signature, "sha256=")
	given, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write(message)
	if !hmac.Equal(given, mac.Sum(nil)) {
		return ErrSignature
	}
	return nil
}
