package server

import (
	"context"
	"net/http"

	"github.com/hocket-dev/hocket"
)

// ServeMCP returns what serves MCP clients in a project, and what ends it. client returns the name of the token of
// a request, and an id that no other token has. resume has the server drive a run.
type ServeMCP func(p *hocket.Project, client func(r *http.Request) (name, id string), resume func(run string) error) (serve http.Handler, leave func())

const mcpPath = "/mcp/"

// addMCP adds the addresses for MCP clients, one for each project. A client is a program with a model, so its
// token opens nothing else: in the API, what is in the project runs without an approval.
func (s *Server) addMCP(mux *http.ServeMux, with ServeMCP) {
	for _, p := range s.projects {
		handler, leave := with(p.Project, func(r *http.Request) (name, id string) {
			who := callerOf(r.Context())
			return who.Name, who.Hash
		}, func(run string) error {
			r, err := p.Run(context.Background(), run)
			if err != nil {
				return err
			}
			return p.drives.take(context.Background(), r)
		})
		s.leave = append(s.leave, leave)
		mux.Handle(mcpPath+p.name, s.page(Model, func(w http.ResponseWriter, r *http.Request) {
			if err := s.mayStart(); err != nil {
				fail(w, s.Explain(r.Context(), err))
				return
			}
			if r.Method == http.MethodGet { // a stream
				ctx, done, err := s.watch(r.Context())
				if err != nil {
					fail(w, s.Explain(r.Context(), err))
					return
				}
				defer done()
				r = r.WithContext(ctx)
			}
			handler.ServeHTTP(w, r)
		}))
	}
}
