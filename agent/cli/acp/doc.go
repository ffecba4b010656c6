// Package acp talks to a CLI agent in the Agent Client Protocol: JSON-RPC 2.0, an object
// per line, over the standard streams of the program. What the agent says and does goes to
// the log immediately, its requests for permission become questions to a person, and a
// conversation can be continued later.
//
// [Converse] is a [cli.Driver]. Differences between agents that they do not announce
// themselves are data: [cli.Quirks], from their manifests.
package acp
