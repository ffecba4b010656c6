// Package browser drives a Chromium: the built-in agent "browser", and the executor
// of every agent definition with `agent: browser`.
//
// # Settings
//
//	steps            what to do, in order; see below
//	url, extract     short for opening a page and taking something from it
//	private_network  true, or a list of hosts: pages may come from networks that are
//	                 not public. Default: no
//	timeout          duration for each step; default: 30s
//	max_output_kb    most that may be given back; default: what the agent's
//	                 definition says, else 1024
//
// A step is one of
//
//	open: URL                            or {url}
//	click: SELECTOR                      or {selector} or {text}: what one reads on it
//	type: {selector, text, submit}       replaces what is in a field; submit: then Enter
//	wait: SELECTOR                       or {selector} or {text} until it is there, or {time: 2s}
//	extract: SELECTOR                    or {selector, attribute, all}
//	text                                 or text: SELECTOR: what a reader sees
//	links                                the links of the page
//	screenshot: NAME                     or {name, full}: a file among the artifacts
//	back                                 to the page before
//
// Steps that give something have a key `as`, under which it stands in the output. If
// only one step gives something and has no `as`, that is the output: text as it is,
// everything else as JSON. Otherwise the output is a JSON object.
//
// An open, click, type or wait, and an extract of one element, wait for what they
// need. They may have a timeout of their own.
//
// # What a page cannot do
//
// Only http and https addresses are opened, whether by a step, a link, a script, a
// redirect or a frame. Every connection that the browser makes goes through a proxy
// of ours that resolves the name and refuses an address that is not public, unless
// private_network allows it. Downloads are refused, windows that a page opens are
// closed (where a click wanted to lead is opened in the page itself), dialogs are
// dismissed. A document that is no page of the web is not read.
//
// Each attempt has a browser and a profile of its own. Both are gone afterwards, with
// every process that the browser started. It is given none of Hocket's environment
// but paths and the language.
//
// Run by root, Chromium works only without its sandbox. Then it gets the flag for
// that, and the log says so.
package browser
