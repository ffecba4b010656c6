package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket"
)

// NewServer returns a server for one client, for tests with other transports.
func NewServer(ctx context.Context, p *hocket.Project, o Options) *sdk.Server {
	return newServer(ctx, p, o).sdk
}
