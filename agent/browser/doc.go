// Package browser drives Chromium: the built-in agent "browser", and the executor of every
// agent definition with `agent: browser`.
//
// # Settings
//
//	steps            what to do, in order; see below
//	url, extract     short for opening a page and extracting something
//	private_network  true, or a list of hosts: pages may come from networks that are
//	                 not public. Default: no
//	timeout          duration for each step; default: 30s
//	max_output_kb    maximum size of the output; default: that of the agent's
//	                 definition, otherwise 1024
//
// A step is one of
//
//	open: URL                            or {url}
//	click: SELECTOR                      or {selector} or {text}: its visible text
//	type: {selector, text, submit}       replaces what is in a field; submit: then Enter
//	wait: SELECTOR                       or {selector} or {text} until it appears, or {time: 2s}
//	extract: SELECTOR                    or {selector, attribute, all}
//	text                                 or text: SELECTOR: the visible text
//	links                                the links of the page
//	screenshot: NAME                     or {name, full}: a file among the artifacts
//	back                                 to the previous page
//
// Steps that return something have a key `as`, which names it in the output. If only one
// step returns something and has no `as`, that is the output: text unchanged, everything
// else as JSON. Otherwise the output is a JSON object.
//
// The actions open, click, type and wait, and extract for one element, wait for what they
// need. They may have their own timeout.
//
// # What a page cannot do
//
// Only http and https addresses are opened, whether by a step, a link, a script, a redirect
// or a frame. Every connection of the browser goes through our proxy, which resolves the
// name and rejects addresses that are not public, unless private_network allows them.
// Downloads are rejected, windows that a page opens are closed (the target of a click is
// opened in the page itself), and dialogs are dismissed. Documents that are not from the
// web are not read.
//
// Each attempt has a browser and a profile of its own. Both are removed afterwards, with
// every process that the browser started. Of Hocket's environment it sees only paths and
// the language.
//
// As root, Chromium works only without its sandbox. Then it gets the flag for that, and the
// log says so.
package browser
