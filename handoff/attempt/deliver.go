package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hocket-dev/hocket/handoff/protocol"
	"github.com/hocket-dev/hocket/workflow"
)

// Measure returns the hash of each deliverable, or "" if it does not exist or is not a valid
// deliverable. It also looks up the paths in constraints.
func (h *Handoff) Measure(ctx context.Context, root string) (map[string]string, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	defer r.Close()
	h.LookUp(root)
	found := map[string]string{}
	for _, file := range h.Files() {
		found[file], _ = digest(ctx, r, file)
	}
	return found, ctx.Err()
}

// Check checks each deliverable.
func (h *Handoff) Check(ctx context.Context, root string, answer *protocol.Response) ([]workflow.Finding, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("handoff: %w", err)
	}
	defer r.Close()
	unanswered := map[protocol.Deliverable]int{} // there may be thousands
	for _, d := range answer.Unanswered(h.Request) {
		unanswered[d]++
	}
	found := make([]workflow.Finding, len(h.Request.Deliverables))
	for i, d := range h.Request.Deliverables {
		why := ""
		if d.Kind == protocol.File {
			why = h.wrongFile(ctx, r, d, answer, h.SessionOnly && h.origin(i) == "")
		} else if unanswered[d] > 0 {
			unanswered[d]--
			why = "is not answered"
		}
		found[i] = workflow.Finding{OK: why == "", Why: why}
	}
	return found, ctx.Err()
}

// missing says why the work is not accepted, with one line for each deliverable.
func (h *Handoff) missing(found []workflow.Finding) (lines []string) {
	for i, d := range h.Request.Deliverables {
		f, line := found[i], ""
		switch {
		case f.OK || !d.Required && f.Why == notThere:
			continue
		case d.Kind == protocol.File:
			line = h.path(d) + " " + f.Why
		default:
			line = fmt.Sprintf("the %s %s: %s", d.Kind, f.Why, d.Text)
		}
		if from := h.origin(i); from != "" {
			line += " (asked for by the " + from + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

const notThere = "does not exist"

// wrongFile says what is wrong with a delivered file; "" if nothing is.
func (h *Handoff) wrongFile(ctx context.Context, r *os.Root, d protocol.Deliverable, answer *protocol.Response, sessionOnly bool) string {
	file := h.path(d)
	if sessionOnly && !strings.HasPrefix(file, h.Dir+"/") {
		return "is outside the session directory " + h.Dir
	}
	hash, err := digest(ctx, r, file)
	switch {
	case err != nil && h.Dir != "" && file == h.resultFile() && answer.Form != protocol.ProseForm:
		return "" // Hocket writes it from the answer
	case errors.Is(err, fs.ErrNotExist):
		return notThere
	case err != nil:
		return err.Error()
	case d.Required && h.Before != nil && hash == h.Before[file]:
		return "has not changed since the work was handed off"
	case path.Ext(file) == ".json":
		return invalidJSON(r, file)
	}
	return ""
}

// refusedFile says why a path cannot be a deliverable.
type refusedFile string

func (e refusedFile) Error() string { return string(e) }

// openFile opens a deliverable: a regular file that is reached without any link. The path is
// checked before and after the file is opened, so that nobody can replace a part of it by a link in
// between and have another file checked.
func openFile(r *os.Root, file string) (*os.File, error) {
	before, err := steps(r, file)
	if err != nil {
		return nil, err
	}
	switch mode := before[len(before)-1].Mode(); {
	case mode.IsDir():
		return nil, refusedFile("is a directory")
	case !mode.IsRegular():
		return nil, refusedFile("is not a regular file")
	}
	f, err := r.OpenFile(filepath.FromSlash(file), os.O_RDONLY|syscall.O_NONBLOCK, 0) // by now it may be a pipe, and opening it would block
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	after, again := steps(r, file)
	if err = errors.Join(err, again); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	same := os.SameFile(opened, after[len(after)-1])
	for i := range before {
		same = same && os.SameFile(before[i], after[i])
	}
	if !same {
		return nil, errors.Join(refusedFile("was replaced while it was checked"), f.Close())
	}
	return f, nil
}

// steps returns the file info for each part of a path without links.
func steps(r *os.Root, file string) ([]fs.FileInfo, error) {
	parts := strings.Split(file, "/")
	infos := make([]fs.FileInfo, len(parts))
	for i := range parts {
		at := path.Join(parts[:i+1]...)
		info, err := r.Lstat(filepath.FromSlash(at))
		if err != nil {
			return nil, err
		}
		last := i == len(parts)-1
		switch mode := info.Mode(); {
		case mode&fs.ModeSymlink != 0 && last:
			return nil, refusedFile("is a symbolic link")
		case mode&fs.ModeSymlink != 0:
			return nil, refusedFile("is below the symbolic link " + at)
		}
		infos[i] = info
	}
	return infos, nil
}

// digest returns the hash of a deliverable. An agent can create a file of any size instantly, so
// reading it stops with ctx.
func digest(ctx context.Context, r *os.Root, file string) (string, error) {
	f, err := openFile(r, file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	for err == nil && ctx.Err() == nil {
		_, err = io.CopyN(sum, f, 1<<20)
	}
	if err != io.EOF {
		return "", cmp.Or(err, ctx.Err())
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// maxJSON limits how much of a JSON file is read into memory.
const maxJSON = 10 << 20

// readSmall returns the content of a deliverable.
func readSmall(r *os.Root, file string) ([]byte, error) {
	f, err := openFile(r, file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxJSON+1))
	if err == nil && len(text) > maxJSON {
		err = refusedFile("is larger than 10 MB")
	}
	return text, err
}

func invalidJSON(r *os.Root, file string) string {
	text, err := readSmall(r, file)
	if err != nil {
		return err.Error()
	}
	var value json.RawMessage
	if err := json.Unmarshal(text, &value); err != nil {
		return "is not valid JSON: " + err.Error()
	}
	return ""
}
