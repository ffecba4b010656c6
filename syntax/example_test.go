package syntax_test

import (
	"fmt"

	"github.com/hocket-dev/hocket/syntax"
	"github.com/hocket-dev/hocket/workflow"
)

// A file is read in the notation of its name and content. Every mistake is
// reported, with what to write instead.
func ExampleParse() {
	_, found := syntax.Parse("greet.yml", []byte(`name: greet
steps:
  - agent: writer
    promt: Say hello.
`))
	fmt.Println(found)
	// Output:
	// greet.yml:4:5: error[yaml-unknown-key]: unknown key "promt"; did you mean "prompt"?
}

// Convert a workflow: read it in one notation, write it in another.
func ExampleFormat() {
	w, found := syntax.Parse("links.xml", []byte(`
<workflow name="Links">
  <agent name="browser" id="open"><task>Open https://example.com</task></agent>
  <agent name="llm" id="sort" depends="open"><task>Sort the links</task></agent>
</workflow>`))
	if found.Errors() {
		fmt.Println(found)
		return
	}
	text, err := syntax.Format(w, "mermaid")
	if err != nil {
		fmt.Println(err)
		return
	}
	again, _ := syntax.Parse("links.md", text)
	fmt.Println(workflow.Digest(again) == workflow.Digest(w))
	fmt.Printf("%s", text)
	// Output:
	// true
	// ---
	// name: Links
	// ---
	//
	// # Links
	//
	// ```mermaid
	// flowchart TD
	//     open
	//     sort
	//     open --> sort
	// ```
	//
	// ### open
	//
	// ---
	// agent: browser
	// ---
	//
	// Open https://example.com
	//
	// ### sort
	//
	// ---
	// agent: llm
	// ---
	//
	// Sort the links
}
