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

// vanishPause is the first pause of steadily; each is twice as long as the one before.
var vanishPause = 20 * time.Millisecond

// steadily does something again if a file vanished meanwhile: editors and builds make files for a moment, all the time.
func steadily(ctx context.Context, do func() error) (err error) {
	const tries = 6
	for try := range tries {
		if err = do(); !errors.As(err, new(*VanishedError)) || ctx.Err() != nil {
			return err
		}
		time.Sleep(vanishPause << try)
	}
	return err
}

// addListed adds everything of the work tree to the index, except some paths, while files are created and removed there all the time. Unlike git
// add, git update-index takes a file that is gone for one that was removed. But it leaves out what git add refuses, knows nothing about
// repositories, and takes no directory in place of a file: if there is anything like that, nothing counts as added. It also returns what git says.
func (q *quarantine) addListed(ctx context.Context, except []string) (messages string, added bool) {
	list := []string{"ls-files", "-z", "--modified", "--others", "--exclude-standard", "--", ":(top)"}
	for _, path := range except {
		list = append(list, exclude+path)
	}
	err := steadily(ctx, func() error {
		names, said, err := q.run(ctx, nil, list...)
		if err = vanished(said, err); err != nil {
			return err
		}
		if strings.Contains(names, "/\x00") {
			return errors.New("there is a repository")
		}
		_, messages, err = q.run(ctx, strings.NewReader(names), "update-index", "--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin")
		if err = vanished(messages, err); err == nil && strings.Contains(messages, "Ignoring path ") {
			err = errors.New("there is an invalid path")
		}
		messages = said + messages
		return err
	})
	return messages, err == nil
}
