package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// The limits of a text that a client submits. To read, check and draw a workflow takes up to a thousand times the memory of
// its text, and cannot be interrupted everywhere. So a text is limited by what it is made of: a workflow of 5,000 steps fits, and
// none takes longer than a second or two. Texts in the files of a project are not limited.
const (
	maxText  = 1_000_000 // bytes
	maxParts = 100_000   // lines, entries of lists and objects, tags and attributes
	maxSteps = 10_000
	maxEdges = 30_000

	smallText = 32_000 // bytes; at most maxSmall of them are read at a time, and one that is larger
	maxSmall  = 4
)

func tooLarge(what string, most int) *Problem {
	p := newProblem(http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("the text has more than %d %s", most, what))
	p.Hint = "split it into workflows that call each other, or check it with the command line, which has no such limit"
	return p
}

// WithText does work with a text of a client if the text is not too large. Texts take turns; what waits ends when ctx is done.
func (s *Server) WithText(ctx context.Context, text string, work func() error) error {
	if len(text) > maxText {
		return tooLarge("bytes", maxText)
	}
	parts := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ',', '<', '{', '[', '=':
			parts++
		}
	}
	if parts > maxParts {
		return tooLarge("lines, list entries and tags", maxParts)
	}
	turn := s.texts
	if len(text) <= smallText {
		turn = s.smallTexts
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil { // the client has left
		return err
	}
	return work()
}

// fits reports what is too large in a workflow, and whether the client has left.
func fits(ctx context.Context, w *workflow.Workflow) error {
	if err := ctx.Err(); err != nil || w == nil {
		return err
	}
	steps, edges := 0, len(w.Body.Edges)
	w.Body.Walk(func(_ *workflow.Graph, n *workflow.Node) {
		if steps++; n.Body() != nil {
			edges += len(n.Body().Edges)
		}
	})
	switch {
	case steps > maxSteps:
		return tooLarge("steps", maxSteps)
	case edges > maxEdges:
		return tooLarge("edges between steps", maxEdges)
	}
	return nil
}

// Format writes a text in the usual style of its notation.
func Format(ctx context.Context, file, text string) ([]byte, workflow.Diagnostics, error) {
	w, found := syntax.Parse(file, []byte(text))
	if err := fits(ctx, w); err != nil || found.Errors() {
		return nil, found, err
	}
	formatted, found := syntax.Fmt(file, []byte(text))
	return formatted, found, nil
}
