package workspace

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// VanishedError means that a file was removed or became shorter between the moment when git found it and the one when git read it.
type VanishedError struct {
	Path string
	Err  error // of git; nil: it did not fail
}

func (e *VanishedError) Error() string {
	return fmt.Sprintf("files keep vanishing while they are recorded, such as %s: stop the program that makes them, or ignore them, and try again", Shown(e.Path))
}

func (e *VanishedError) Unwrap() error { return e.Err }

// vanishing is what git says then.
var vanishing = regexp.MustCompile(`(?m)^(?:` +
	`(?:fatal: unable to stat '(.*)'|error: (?:open|readlink)\("(.*)"\)|warning: could not open directory '(.*)'): (?:No such file or directory|Not a directory)|` +
	`fatal: pathspec '(.*)' did not match any files|` +
	`error: short read while indexing (.*))$`)

// vanished returns a *[VanishedError] if git says that in its messages, and otherwise its error.
func vanished(messages string, err error) error {
	if found := vanishing.FindStringSubmatch(messages); found != nil {
		return &VanishedError{strings.TrimSuffix(strings.Join(found[1:], ""), "/"), err}
	}
	return err
}

// steadily does something again if a file vanished meanwhile: editors and builds make files for a moment, all the time.
func steadily(ctx context.Context, do func() error) (err error) {
	const tries, pause = 6, 20 * time.Millisecond
	for try := range tries {
		if err = do(); !errors.As(err, new(*VanishedError)) || ctx.Err() != nil {
			return err
		}
		time.Sleep(pause << try)
	}
	return err
}
