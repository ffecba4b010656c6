// Package http makes HTTP requests: the built-in agent "http", and the executor of
// every agent definition with `agent: http`.
//
// # Settings
//
//	url            http or https
//	method         GET (default; POST if there is a body), HEAD, POST, PUT, PATCH,
//	               DELETE or OPTIONS
//	query          map of parameters, added to the url. Values are escaped; a list
//	               repeats the parameter, null leaves it out
//	headers        map. A value is text, or a secret by reference: {env: NAME} takes
//	               it from the environment of Hocket, {env: NAME, prefix: "Bearer "}
//	               puts something before it
//	body           text to send, or
//	json           a value to send as JSON
//	expect         status that is a success: 200, 2xx, or a list of these; default: 2xx.
//	               With 302, 3xx or the like in it, redirects are not followed
//	private_network  true, or a list of hosts: servers in private networks that a value
//	               or a redirect may name
//	timeout        duration for the whole exchange; default: 60s
//	max_output_kb  most that the response may hold; default: that of the
//	               agent's definition, otherwise 1024
//
// A server that the workflow names literally in url may be anywhere. If a value or a
// redirect determines the server, only public addresses and those that private_network
// allows can be reached.
//
// A value that is inserted into the url itself is not escaped: use query for values that
// may not be safe. A prompt and inputs are not sent: the settings say everything.
//
// POST and PATCH carry the key of the attempt as Idempotency-Key, unless headers say
// otherwise. It stays the same when the attempt is repeated after a crash, so that a server
// that supports the header acts once.
//
// # Output
//
// The output is the body of the response as text. A body that is not UTF-8 fails the
// attempt permanently. At most five redirects are followed; a secret header is not sent to
// another server.
//
// An unexpected status fails the attempt with the status and the beginning of the body.
// There is no retry if the status says that the request itself is wrong: 4xx except 408,
// 425 and 429, and 501 and 505. 429 and 503 with a Retry-After of at most 24 h are a quota:
// the step waits until then, at least one second, without using up an attempt. With a later
// time they fail permanently, and without one they are an ordinary failure.
package http
