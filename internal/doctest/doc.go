// Package doctest holds no code, only the test that keeps the documentation
// true: it reads and checks every workflow in it, carries out every command, and
// compares what comes out with what the page says. It also runs the examples.
//
// What the test does with a fenced block is said by the words behind the fence:
//
//	yaml               a workflow; it must be free of errors
//	yaml steps         the steps of one
//	yaml wrong CODE    a workflow with that mistake
//	xml …              the same three in XML
//	plantuml           the same as an activity diagram; plantuml steps: what stands in one
//	yaml agent         an agent definition
//	yaml replies       a file for --replies
//	yaml tool          the file of a tool, whose name is in its first line
//	yaml config        a project's config.yml
//	sh                 commands after "$ " with the output that follows them, or
//	                   commands alone, which are not carried out
//	json               a JSON value; jsonl: one on each line
//	go                 Go source, or statements of it
//	text, or nothing   text
//
// A block that begins with a comment like "# review.yml", in XML one like
// "<!-- review.xml -->", is also written to that file, so that the commands of the
// same page find it. In expected output … stands for any text, and a line that is …
// for any lines.
package doctest
