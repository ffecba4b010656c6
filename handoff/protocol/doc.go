// Package protocol reads and checks handoffs: the <agent_request> blocks with which one agent hands
// work to another. A block may be in a Markdown file, in an XML file, or in the answer of a model.
// The package checks whether it is valid, and reports where it is not. It does not carry out
// requests.
//
// Strict reading accepts what the published XML Schema accepts, as xmllint would. Lenient reading,
// which is meant for text written by a model, also accepts elements in another order, values in
// another letter case, and what the recovering reader of package xmltext repairs. It reports every
// repair.
//
// The answer to a request is an <agent_response>, a JSON object or prose. [ReadResponse] reads all
// three, always leniently.
package protocol
