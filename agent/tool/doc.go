// Package tool holds the tools of a project, which agents with a model call: each is
// a folder .hocket/tools/NAME with a tool.yml, and [Load] makes a [Set] of them and
// of the built-in ones.
//
// A manifest describes the inputs and outputs of a tool (JSON Schema), what it may do, and
// how it works:
//
//	http     makes a request; inputs are put into it, each escaped for its place
//	command  starts a program; inputs are on its standard input and in its
//	         environment, never in its arguments
//	script   the same with a file of the tool's folder and the interpreter for it
//	search   asks a search engine and takes titles, addresses and snippets out of
//	         its answer
//
// # What is enforced
//
// A call is checked before it is made, and its result afterwards. A request reaches only
// the hosts that the manifest names, after redirects too, and no private network unless its
// host is named. A program sees only a few harmless variables and the secrets that the
// manifest names; processes that it starts end with it. On Linux it is confined (see
// internal/sandbox) to the files that the manifest names, and to the same hosts as a
// request: it reaches them through a proxy. Elsewhere the log says that this is not
// enforced; see [Set.Enforcement].
//
// The value of a secret is masked in outputs, logs and errors.
package tool
