// Package doctest holds no code, only the test of the documentation: it reads and checks
// every workflow in it, runs every command, and compares the output with the page. It also
// runs the examples.
//
// The words after the fence say what the test does with a fenced block:
//
//	yaml               a workflow; it must be free of errors
//	yaml steps         the steps of one
//	yaml wrong CODE    a workflow with that error
//	xml …              the same three in XML
//	plantuml           the same as an activity diagram; plantuml steps: its content
//	yaml agent         an agent definition
//	yaml replies       a file for --replies
//	yaml test          a file of tests
//	yaml tool          the file of a tool, whose name is in its first line
//	yaml config        a project's config.yml
//	handoff            a handoff, as a model may write it
//	sh                 commands of hocket and git after "$ " with the output that follows them, or
//	                   commands alone, which are not run
//	json               a JSON value; jsonl: one on each line
//	go                 a Go file, declarations or statements
//	text, or nothing   text
//
// A block that begins with a comment like "# review.yml", in XML one like "<!-- review.xml
// -->", is also written to that file, so that the commands of the same page find it. In
// expected output, … matches any text, and a line that consists of … matches any lines.
package doctest
