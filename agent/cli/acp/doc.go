// Package acp has a conversation with a CLI agent in the Agent Client Protocol:
// JSON-RPC 2.0, an object per line, over the standard streams of the program. What the
// agent says and does goes to the log as it comes, what it wants to be allowed becomes
// a question to a person, and a conversation can be taken up again.
//
// [Converse] is a [cli.Driver]. What differs between agents beyond what they say of
// themselves is data: [cli.Quirks], from their manifests.
package acp
