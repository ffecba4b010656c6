package hocket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/hocket-dev/hocket/driver"
)

// UnacceptedError reports that a run is of other files than those of the machine that should work for it, or of one that
// its user has not trusted. Anyone who can reach the server could have started it.
type UnacceptedError struct {
	Worker, Run, Digest string
	// Untrusted is the file of the run, relative to the project, if it is the same there, but has to be trusted.
	Untrusted string
	// Unfiled means that the run's workflow is in no file, as that of a single task.
	Unfiled bool
	// Unusable is the file that the run names, if that cannot be a workflow of the project; - is standard input.
	Unusable string
	// Replies means that its replies change files. The digest is that of the run with them.
	Replies bool
}

func (e *UnacceptedError) Error() string {
	switch {
	case e.Untrusted != "":
		return fmt.Sprintf("worker %s has %s of run %s, but its user has not trusted this file: trust it on that machine with `hocket trust %s`", e.Worker, e.Untrusted, e.Run, word(e.Untrusted))
	case e.Unfiled:
		return fmt.Sprintf("worker %s works only for workflows in files, and run %s is of none (digest %s), as a single task is: cancel it and start it with HOCKET_DRIVER=local in front of the command, or start the worker with --accept-any, which lets everyone who can start runs do anything there", e.Worker, e.Run, e.Digest)
	case e.Replies:
		return fmt.Sprintf("the replies of run %s change files, which worker %s would then work with (digest %s): if they are yours, start the worker with --accept %s", e.Run, e.Worker, e.Digest, e.Digest)
	case e.Unusable == "-":
		return fmt.Sprintf("worker %s works only for workflow files of the project, and that of run %s is from standard input: start it from a file in the project, or the worker with --accept %s", e.Worker, e.Run, e.Digest)
	case e.Unusable != "":
		return fmt.Sprintf("worker %s works only for workflow files of the project, and run %s names %.200q, which is none: start it with a file in the project, or the worker with --accept %s", e.Worker, e.Run, e.Unusable, e.Digest)
	}
	return fmt.Sprintf("worker %s has other workflows or agents than run %s uses (digest %s): update its files, or start it with --accept %s", e.Worker, e.Run, e.Digest, e.Digest)
}

// word returns a path as a word of a command, or what it stands for if a shell would read it in another way.
func word(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._/+@-", r)
	}) || strings.HasPrefix(path, "-") {
		return "FILE"
	}
	return path
}

// acceptance decides for which runs a worker works. It remembers those of earlier versions of the files: a
// run in progress goes on after an update, unless a person rejects its workflow here.
type acceptance struct {
	p      *Project
	worker string // its name
	any    bool
	since  time.Time // when the user trusted the project

	mu   sync.Mutex
	runs map[string]acceptedRun // by their digests
	read bool
}

// acceptedRun is a line of the file of an acceptance.
type acceptedRun struct {
	Digest   string       `json:"digest"`
	Approval *RunApproval `json:"approval,omitempty"` // that it needs here
	// Trusted is when the user was found to trust its file, which must not have been revoked since; zero: it is in
	// .hocket/workflows.
	Trusted time.Time `json:"trusted,omitzero"`
}

// check returns the approval that a run needs on this machine, nil if none.
func (a *acceptance) check(run string, pin *driver.Pin) (*RunApproval, error) {
	if a.any {
		return nil, nil
	}
	digest, err := runDigest(pin.Bundle, pin.Agents)
	if err != nil {
		return nil, err
	}
	one, ok, err := a.known(digest)
	if ok || err != nil {
		return one.Approval, err
	}
	refused := &UnacceptedError{Worker: a.worker, Run: run, Digest: digest, Unfiled: pin.File == ""}
	one, err = a.look(pin.File, refused)
	return one.Approval, err
}

// checkReplies refuses replies that change files, unless somebody here has accepted exactly these: they come with a run that
// anybody can have started, and the steps after them work with the files.
func (a *acceptance) checkReplies(ctx context.Context, r *Run) error {
	replies, err := r.Replies(ctx)
	if a.any || err != nil || replies == nil || !replies.ChangeFiles() {
		return err
	}
	digest, err := repliesDigest(r.pin, replies)
	if err != nil {
		return err
	}
	if _, ok, err := a.known(digest); ok || err != nil {
		return err
	}
	return &UnacceptedError{Worker: a.worker, Run: r.id, Digest: digest, Replies: true}
}

// stands returns an error if the user has revoked the trust in the project since the worker began, and not trusted it again.
// Then it does not even do what needs no trust: it would not have begun.
func (a *acceptance) stands(p *Project) error {
	revoked, err := p.Approvals().Revoked(p.Root())
	if err != nil || !revoked.After(a.since) {
		return err
	}
	powers := p.now().files.DriverPowers()
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	if err == nil && !decision.Trusted {
		untrusted := decision.Error(p.Root(), powers)
		untrusted.Approve = []string{"trust"}
		err = untrusted
	}
	return err
}

// known returns what was accepted with a digest, unless that was revoked.
func (a *acceptance) known(digest string) (one acceptedRun, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.load(); err != nil {
		return one, false, err
	}
	if one, ok = a.runs[digest]; ok && !one.Trusted.IsZero() {
		revoked, err := a.p.Approvals().Revoked(a.p.Root())
		if err != nil {
			return one, false, err
		}
		if ok = one.Trusted.After(revoked); !ok {
			delete(a.runs, digest)
		}
	}
	return one, ok, nil
}

// look accepts the workflows that the files have now, and that of a file of a run. It returns what is accepted with the digest
// of a refusal, or that refusal. Nothing is locked for other runs meanwhile: whoever started this one has chosen the file.
func (a *acceptance) look(file string, refused *UnacceptedError) (one acceptedRun, err error) {
	p, err := a.p.reloaded()
	if err != nil {
		return one, err
	}
	unapproved, err := a.update(p, refused.Digest)
	if err != nil {
		return one, err
	}
	one, ok, err := a.known(refused.Digest) // perhaps of another file that means the same
	if ok || err != nil {
		return one, err
	}
	if unapproved == nil {
		if one, ok, unapproved = a.ofFile(p, file, refused); ok {
			return one, nil
		}
	}
	return one, cmp.Or(unapproved, error(refused))
}

func (a *acceptance) file() string { return filepath.Join(a.p.State(), "accepted.jsonl") }

// load reads what earlier workers have accepted.
func (a *acceptance) load() error {
	if a.read {
		return nil
	}
	text, err := os.ReadFile(a.file())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range bytes.Lines(text) {
		var one acceptedRun
		if json.Unmarshal(line, &one) != nil { // a process died while it wrote it
			continue
		}
		if known, ok := a.runs[one.Digest]; !ok || !known.Trusted.IsZero() && known.Trusted.Before(one.Trusted) {
			a.runs[one.Digest] = one
		}
	}
	a.read = true
	return nil
}

// update accepts the workflows that the files have now and that could be started here. unapproved says why the wanted one
// could not.
func (a *acceptance) update(p *Project, wanted string) (unapproved, err error) {
	var added []acceptedRun
	for _, name := range p.Workflows() {
		w, err := p.Load(name)
		if err != nil || w.Model() == nil {
			continue // a run cannot be of it either
		}
		digest, err := w.runDigest()
		if _, ok, _ := a.known(digest); ok || err != nil {
			continue
		}
		needs, err := p.admit(w, &starting{})
		switch {
		case err == nil:
			added = append(added, acceptedRun{Digest: digest, Approval: needs})
		case digest == wanted:
			unapproved = err
		}
	}
	return unapproved, a.add(added...)
}

// ofFile accepts the workflow of a file of the project that its user trusts, if a run of it has the digest of a refusal. The
// path comes with a run that anybody can have started. If the file is not that, the refusal says more.
func (a *acceptance) ofFile(p *Project, file string, refused *UnacceptedError) (one acceptedRun, ok bool, err error) {
	if file == "" {
		return one, false, nil
	}
	w, err := p.loadFile(file)
	if unknown := (*UnknownWorkflowError)(nil); errors.As(err, &unknown) {
		refused.Unusable = file
	}
	if err != nil || w.Model() == nil {
		return one, false, nil //nolint:nilerr // a run cannot be of it either
	}
	if here, err := w.runDigest(); err != nil || here != refused.Digest {
		return one, false, err
	}
	at := time.Now().UTC() // before it is known, so that a revocation in between counts
	powers := w.workerPowers()
	decision, err := p.Trusted(powers, "")
	if err != nil {
		return one, false, err
	}
	if len(powers) > 0 && !decision.Trusted {
		refused.Untrusted = powers[0].Where
		return one, false, nil
	}
	needs, err := p.admit(w, &starting{})
	if err != nil {
		return one, false, err
	}
	one = acceptedRun{refused.Digest, needs, at}
	return one, true, a.add(one)
}

// add remembers what is accepted.
func (a *acceptance) add(added ...acceptedRun) error {
	if len(added) == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var lines []byte
	for _, one := range added {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		a.runs[one.Digest] = one
		lines = append(append(lines, line...), '\n')
	}
	if err := os.MkdirAll(a.p.State(), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(a.file(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}
