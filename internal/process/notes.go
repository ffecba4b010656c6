package process

import "context"

type notesKey struct{}

// WithNotes returns a context for commands whose marks are noted in a file, for [EndNoted]. With [Mark], the mark of a command
// stays with everything that it starts.
func WithNotes(ctx context.Context, file string) context.Context {
	return context.WithValue(ctx, notesKey{}, file)
}

// notesOf returns the file of WithNotes; "": there is none.
func notesOf(ctx context.Context) string {
	file, _ := ctx.Value(notesKey{}).(string)
	return file
}
