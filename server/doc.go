// Package server is the HTTP front end: a JSON API with a stream of events, for programs and for the
// page. Like every front end, it only translates between a protocol and the host.
//
// The API is described by the OpenAPI document that it serves at /api/openapi.json, which is
// generated from the types of this package.
//
// # Who may do what
//
// A request needs a token or the cookie of a browser session, see [Access]. What a request may do
// depends on the scopes of the token; the answers, runs and approvals that it makes are recorded under
// the token's name. The server answers only requests for its own host name, and accepts cookies only
// from its own pages.
//
// # Who drives
//
// The server drives the runs that were started or continued through it, in this process. A run that
// waits for people or for a time is not driven: the server drives it again when there is an answer or
// the time has come.
package server
