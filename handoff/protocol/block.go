package protocol

import (
	"bytes"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// block is a piece of a file that holds a request.
type block struct {
	// text has the lines of the block with their indentation, so that columns match the file. Markdown
	// prefixes such as > are replaced by spaces.
	text  []byte
	start xmltext.Start
	// from and to are the fences around it, in the file.
	from, to int
	open     bool // nothing closes the fence
}

// fences parses the block structure of Markdown only. It has no inline parsers: they are not
// needed, and some texts make them slow.
var fences = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	))
})

// blocks returns the fenced blocks of a Markdown text whose content matches wanted.
func blocks(source []byte, wanted func(content string) bool) []block {
	var all []block
	lines := lineCounter{text: source}
	_ = ast.Walk(fences().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		fenced, ok := n.(*ast.FencedCodeBlock)
		if !ok || !entering || fenced.Lines().Len() == 0 {
			return ast.WalkContinue, nil
		}
		segments := fenced.Lines()
		if !wanted(string(segments.Value(source))) {
			return ast.WalkContinue, nil
		}
		from := lineStart(source, segments.At(0).Start)
		to := segments.At(segments.Len() - 1).Stop
		b := block{text: bytes.Clone(source[from:to]), start: xmltext.Start{Line: lines.at(from), Offset: from}}
		for i := range segments.Len() {
			at := segments.At(i).Start
			for j := lineStart(source, at); j < at; j++ {
				if source[j] != '\t' {
					b.text[j-from] = ' '
				}
			}
		}
		withoutDeclaration(b.text)
		b.from, b.to = lineStart(source, from-1), to
		closing, rest, _ := bytes.Cut(source[to:], []byte("\n"))
		if marks := bytes.TrimLeft(closing, " \t>"); len(marks) > 0 && (marks[0] == '`' || marks[0] == '~') {
			b.to = len(source) - len(rest)
		} else {
			b.open = to == len(source)
		}
		all = append(all, b)
		return ast.WalkContinue, nil
	})
	return all
}

// withoutDeclaration replaces an XML declaration by spaces. XML allows it only at the very start of
// a text, and an indented block starts with spaces.
func withoutDeclaration(text []byte) {
	text = bytes.TrimLeft(text, xmltext.Layout)
	for i := range xmltext.Declaration().Find(text) {
		if text[i] != '\n' && text[i] != '\r' {
			text[i] = ' '
		}
	}
}

// shallow is a parser for container blocks. It treats blocks that are nested too deeply as text,
// because the parsing time grows with the square of the depth.
type shallow struct{ parser.BlockParser }

const maxNesting = 100

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxNesting {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// around returns the text of a file without its blocks.
func around(source []byte, all []block) string {
	var b strings.Builder
	at := 0
	for _, block := range all {
		b.Write(source[at:block.from])
		at = block.to
	}
	b.Write(source[at:])
	return strings.TrimSpace(b.String())
}

func lineStart(text []byte, at int) int {
	return bytes.LastIndexByte(text[:max(at, 0)], '\n') + 1
}

// lineCounter counts the line breaks before ascending offsets.
type lineCounter struct {
	text        []byte
	seen, lines int
}

func (c *lineCounter) at(offset int) int {
	c.lines += bytes.Count(c.text[c.seen:offset], []byte("\n"))
	c.seen = offset
	return c.lines
}
