// Package http makes HTTP requests: the built-in agent "http", and the executor of
// every agent definition with `agent: http`.
//
// # Settings
//
//	url            http or https
//	method         GET (default; POST where there is a body), HEAD, POST, PUT, PATCH,
//	               DELETE or OPTIONS
//	query          map of parameters, added to the url. Values are escaped; a list
//	               gives the parameter several times, null leaves it out
//	headers        map. A value is text, or a secret by reference: {env: NAME} takes
//	               it from the environment of Hocket, {env: NAME, prefix: "Bearer "}
//	               puts something before it
//	body           text to send, or
//	json           a value to send as JSON
//	expect         status that is a success: 200, 2xx, or a list of such; default: 2xx.
//	               With 302, 3xx or the like among them no redirect is followed
//	private_network  true, or a list of hosts: servers in private networks that a value
//	               or a redirect may lead to
//	timeout        duration for the whole exchange; default: 60s
//	max_output_kb  most that the answer may hold; default: what the agent's
//	               definition says, else 1024
//
// The server that the url names in the workflow may be anywhere. Where a value decides
// which one it is, or a redirect leads to another one, only public addresses are
// reached, and those that private_network allows.
//
// A value that is inserted in the url itself is not escaped: use query for what is
// not known to be harmless. A prompt and inputs are not sent: the settings say all.
//
// POST and PATCH carry the key of the attempt as Idempotency-Key, unless headers
// say otherwise. It is the same when the attempt is repeated after a crash, so that
// a server that knows the header acts once.
//
// # What comes back
//
// The output is the body of the answer as text. A byte that is not UTF-8 fails the
// attempt for good. At most five redirects are followed; a secret header is not
// sent on to another server.
//
// A status that is not expected fails the attempt with the status and the
// beginning of the body. A retry is of no use, and not made, where the status says
// that the request itself is wrong: 4xx except 408, 425 and 429, and 501 and 505.
// 429 and 503 with a Retry-After of at most 24 h are a quota: they wait until then,
// one second at least, without using up an attempt. With a later time they fail for
// good, and without one they are an ordinary failure.
package http
