package process

import (
	"context"
	"slices"
	"strings"
)

// The variables with which a program joins a trace, by the W3C recommendation Trace Context.
const (
	traceParent = "TRACEPARENT"
	traceState  = "TRACESTATE"
)

type traceKey struct{}

// WithTrace returns a context for commands that belong to a span, which is in the form of TRACEPARENT.
func WithTrace(ctx context.Context, parent string) context.Context {
	return context.WithValue(ctx, traceKey{}, parent)
}

// traced returns an environment with the span that a command belongs to. What this process has inherited is not that, and what
// somebody has set would lead elsewhere.
func traced(env []string, ctx context.Context) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.EqualFold(name, traceParent) || strings.EqualFold(name, traceState)
	})
	if parent, _ := ctx.Value(traceKey{}).(string); parent != "" {
		env = append(env, traceParent+"="+parent)
	}
	return env
}
