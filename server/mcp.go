package server

import (
	"context"
	"net/http"

	"github.com/hocket-dev/hocket"
)

// addMCP adds the addresses for MCP clients, one for each project. A client is a program with a model, so it
// needs a token: what a browser is signed in to is not for it.
func (s *Server) addMCP(mux *http.ServeMux, serve func(context.Context, func(*http.Request) (*hocket.Project, string), func(string) error) (http.Handler, func())) {
	for _, p := range s.projects {
		handler, leave := serve(context.Background(), func(r *http.Request) (*hocket.Project, string) {
			who := callerOf(r.Context())
			return p.Project, who.Name
		}, func(run string) error {
			r, err := p.Run(context.Background(), run)
			if err != nil {
				return err
			}
			return p.drives.take(context.Background(), r)
		})
		s.leave = append(s.leave, leave)
		mux.Handle("/mcp/"+p.name, s.page(Start, func(w http.ResponseWriter, r *http.Request) {
			if callerOf(r.Context()).Browser {
				fail(w, newProblem(http.StatusForbidden, "scope", "an MCP client needs a token of its own; see `hocket serve token`"))
				return
			}
			handler.ServeHTTP(w, r)
		}))
	}
}
