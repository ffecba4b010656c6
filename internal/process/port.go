package process

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// PortVariable is the environment variable with the first of the ports that belong to a workspace.
const PortVariable = "HOCKET_PORT"

type portKey struct{}

// WithPort returns a context for commands that may use ports from a number on.
func WithPort(ctx context.Context, first int) context.Context {
	return context.WithValue(ctx, portKey{}, first)
}

// Port returns the first of the ports that commands of a context may use, 0 if it has none.
func Port(ctx context.Context) int {
	first, _ := ctx.Value(portKey{}).(int)
	return first
}

// ported returns an environment with the ports of a command. What this process has inherited belongs to
// another workspace.
func ported(env []string, ctx context.Context) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool { return strings.HasPrefix(pair, PortVariable+"=") })
	if first := Port(ctx); first > 0 {
		env = append(env, PortVariable+"="+strconv.Itoa(first))
	}
	return env
}
