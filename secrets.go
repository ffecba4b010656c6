package hocket

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// SecretError reports that something which is stored and shown to agents contains the
// value of a secret.
type SecretError struct {
	What string // such as: the input "token"
	File string // if it is in a file of the project
	Line int
	// Short, if not nil, reports that the secret is too short to be masked.
	Short *secret.Error
}

func (e *SecretError) Error() string {
	if e.Short != nil {
		return e.Short.Error()
	}
	if e.File != "" {
		return fmt.Sprintf("%s:%d contains the value of a secret", e.File, e.Line)
	}
	return e.What + " contains the value of a secret"
}

// Hint returns what to do about it.
func (e *SecretError) Hint() string {
	if e.Short != nil {
		return e.Short.Hint()
	}
	if e.File != "" {
		return "files are stored with the runs that use them, and shown to agents; remove the value, and let a step read the secret from its environment, or declare it under secrets in config.yml"
	}
	return "it would be stored with the run, and shown to agents; remove the value, and let a step read the secret from its environment"
}

// CheckSecret returns an error if a text contains the value of a secret. what describes
// the text.
func (p *Project) CheckSecret(what, text string) error {
	if p.holdsSecret(text) {
		return &SecretError{What: what}
	}
	return nil
}

// Mask hides the project's secrets in a text.
func (p *Project) Mask(text string) string { return p.now().secrets.Masker().Mask(text) }

func (p *Project) holdsSecret(text string) bool { return p.Mask(text) != text }

func (p *Project) checkInputs(inputs map[string]any) error {
	for _, name := range sorted.Keys(inputs) {
		if err := p.CheckSecret(fmt.Sprintf("the input %q", name), workflow.FormatText(inputs[name])); err != nil {
			return err
		}
	}
	return nil
}

// CheckExposed returns an error if a secret would be exposed: because it is too short to
// be masked, or because a file of the workflow contains its value. It does not read secrets
// in files outside of a project that is not trusted.
func (w *Workflow) CheckExposed() error {
	secrets := w.p.now().secrets
	var short *secret.Error
	if err := secrets.TooShort(); errors.As(err, &short) {
		return &SecretError{Short: short}
	}
	sources := w.l.Sources()
	for _, file := range sorted.Keys(sources) {
		if line := secretLine(secrets.Masker(), sources[file]); line > 0 {
			return &SecretError{File: file, Line: line}
		}
	}
	return nil
}

// secretLine returns the first line of a text that contains a secret, zero if none does.
func secretLine(m *secret.Masker, text []byte) int {
	holds := func(text []byte) bool { return m.Mask(string(text)) != string(text) }
	if !holds(text) {
		return 0
	}
	number := 0
	for line := range bytes.Lines(text) {
		if number++; holds(line) {
			return number
		}
	}
	return 1 // it has several
}

// mayRead reports whether a file of a secret may be opened: it is in the project, or the user has
// approved where the project's secrets are.
func (p *Project) mayRead(s *snapshot, file string) bool {
	if s.files.Holds(file) {
		return true
	}
	powers := s.secretPowers()
	if agreed := p.secretsAgreed.Load(); agreed != nil && !powers.Exceeds(*agreed) {
		return true
	}
	decision, err := p.Trusted(powers, p.o.TrustDigest)
	return err == nil && (decision.Trusted || len(powers) == 0)
}

// agreeSecrets remembers that the user has approved powers for this process, perhaps without storing it.
func (p *Project) agreeSecrets(powers trust.Powers) {
	for {
		before, all := p.secretsAgreed.Load(), powers
		if before != nil {
			all = before.Union(powers)
		}
		if p.secretsAgreed.CompareAndSwap(before, &all) {
			return
		}
	}
}
