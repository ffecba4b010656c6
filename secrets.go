package hocket

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-dev/hocket/agent/secret"
	"github.com/hocket-dev/hocket/workflow"
)

// SecretError says that something which is kept and shown to agents holds the
// value of a secret.
type SecretError struct {
	What string // such as: the input "token"
	File string // where it is, if it is in a file of the project
	Line int
	// Short: the secret itself is at fault, because it is too short to be hidden.
	Short *secret.Error
}

func (e *SecretError) Error() string {
	if e.Short != nil {
		return e.Short.Error()
	}
	if e.File != "" {
		return fmt.Sprintf("%s:%d holds the value of a secret", e.File, e.Line)
	}
	return e.What + " holds the value of a secret"
}

// Hint says what to do about it.
func (e *SecretError) Hint() string {
	if e.Short != nil {
		return e.Short.Hint()
	}
	if e.File != "" {
		return "files are kept with the runs that use them, and shown to agents; let a step find the secret in its environment, or name it under secrets in config.yml"
	}
	return "it would be kept with the run, and shown to agents; leave the value out, and let a step find the secret in its environment"
}

// CheckSecret refuses a text that holds the value of a secret. what says what the
// text is.
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
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if err := p.CheckSecret(fmt.Sprintf("the input %q", name), workflow.FormatText(inputs[name])); err != nil {
			return err
		}
	}
	return nil
}

// CheckExposed refuses to go on where a secret would not stay one: because it is
// too short to be hidden, or because a file that was read holds its value. Secrets in
// files outside of the project are not looked at, as nobody may have trusted it yet.
func (w *Workflow) CheckExposed() error {
	return w.checkExposed(w.p.now().secrets.Only(w.p.now().files.Holds))
}

func (w *Workflow) checkExposed(secrets *secret.Store) error {
	var short *secret.Error
	if err := secrets.TooShort(); errors.As(err, &short) {
		return &SecretError{Short: short}
	}
	sources := w.l.Sources()
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		if line := secretLine(secrets.Masker(), sources[file]); line > 0 {
			return &SecretError{File: file, Line: line}
		}
	}
	return nil
}

// secretLine is the first line of a text that holds a secret; zero: none does.
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
