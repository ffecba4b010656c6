// Package protocol reads and checks handoffs: the <agent_request> blocks with which one
// agent hands work to another. A block is written in a Markdown file, in an XML file, or in
// the answer of a model. The package decides whether it is valid, and says where it is not;
// it starts nothing.
//
// Strict reading accepts what the published XML Schema accepts, as xmllint would. Lenient
// reading, which is meant for what a model wrote, also accepts elements in another order,
// values in another letter case, and what the recovering reader of package xmltext repairs.
// It reports every repair.
//
// The answer to a request is an <agent_response>, a JSON object or prose. [ReadResponse]
// understands all three, and always leniently.
package protocol
