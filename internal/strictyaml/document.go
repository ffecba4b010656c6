package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hocket-dev/hocket/workflow"
)

// Limits of a document. They are far above what people write, and low enough that no file
// can exhaust time, memory or the stack.
const (
	maxBytes    = 16 << 20
	maxDepth    = 200
	maxAliased  = 100_000 // nodes that aliases add; a long text counts as several
	aliasedText = 50
)

// Document is a parsed YAML file. It is not safe for concurrent use.
type Document struct {
	file  string
	text  []byte // without byte order mark
	lines []line
	root  *node
	found workflow.Diagnostics
	seen  place // where the last position was looked up
	piece Piece
	own   Pool // if the piece has none

	broken int // number of syntax errors
	joined int // how often it was parsed again, see joinPairs

	sources []workflow.Source // places of nodes that were composed
}

// Read parses a file. A file that cannot be parsed has no root, and diagnostics that say
// why.
func Read(file string, text []byte) *Document {
	return ReadAt(file, bytes.TrimPrefix(text, []byte("\uFEFF")), 1, 1)
}

// ReadAt parses a piece of a file that begins at a line and column: the front
// matter of a section. Its other lines are whole lines of the file.
func ReadAt(file string, text []byte, line, column int) *Document {
	return ReadPiece(file, text, Piece{Line: line, Column: column})
}

// Piece is the position of a text in a file, and how to read it.
type Piece struct {
	Line, Column int // where it begins
	Indent       int // characters to the left of its other lines
	// Braces means that a value may begin with {{ without quotes, and is text.
	Braces bool
	// Unit is the unit of a duration without one; zero makes that an error.
	Unit time.Duration
	// Pool is shared by the pieces of one file; it may be nil.
	Pool *Pool
}

// ReadPiece parses a piece of a file: the fields of a note.
func ReadPiece(file string, text []byte, piece Piece) *Document {
	d := newDocument(piece.Pool)
	d.file, d.text, d.piece = file, text, piece
	if len(d.text) > maxBytes {
		d.report(workflow.Errorf(workflow.Pos{File: file}, codeSize, "split it into several workflows", "the file is larger than %d MiB", maxBytes>>20))
		return d
	}
	d.lines = d.splitLines(d.text)
	if d.checkCharacters() {
		d.parse()
	}
	return d
}

// parse sets root, unless the document is invalid.
func (d *Document) parse() {
	if d.piece.Braces {
		d.parseBraces()
		return
	}
	if d.root = readQuickly(d.text, d.lines, d.piece.Pool); d.root != nil {
		return // without aliases, and not deep
	}
	dec := yaml.NewDecoder(bytes.NewReader(d.text))
	root, err := decode(dec)
	if errors.Is(err, io.EOF) {
		return
	}
	if err != nil && d.joinPairs(err) {
		d.parse()
		return
	}
	if err != nil {
		d.broken++
		found := d.syntaxError(err)
		d.report(found)
		if d.fix(found.Change) {
			d.parse()
		}
		return
	}
	if second, err := decode(dec); !errors.Is(err, io.EOF) {
		d.report(d.secondDocument(second, err))
		return
	}
	if root := convert(root.Content[0], map[*yaml.Node]*node{}); d.bounded(root) {
		d.root = root
	}
}

// secondDocument is the diagnostic for what follows the first document.
func (d *Document) secondDocument(second *yaml.Node, err error) workflow.Diagnostic {
	if err != nil {
		return d.syntaxError(err)
	}
	at := d.mark(second.Line, second.Column, 3)
	if content := second.Content[0]; content.Kind == yaml.ScalarNode && content.Value == "" {
		return workflow.Errorf(at, codeDocuments, "remove this line: YAML files need no end marker", "a second, empty document begins here")
	}
	return workflow.Errorf(at, codeDocuments, "keep one document per file, and remove the line ---", "a second document begins here")
}

// decode reads the next document. The library panics on some malformed comments; we treat
// that as a syntax error.
func decode(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = nil, errUnreadable
		}
	}()
	n = &yaml.Node{}
	err = dec.Decode(n)
	return n, err
}

// Root returns the document's value; it does not exist if the file is empty or cannot be
// parsed.
func (d *Document) Root() Node { return Node{doc: d, y: resolved(d.root)} }

// Readable reports whether the file is well-formed.
func (d *Document) Readable() bool { return d.broken == 0 && (d.root != nil || !d.found.Errors()) }

// Diagnostics returns everything found so far, in the order of the file.
func (d *Document) Diagnostics() workflow.Diagnostics { return d.found.Sort() }

// Failed reports whether an error was found so far.
func (d *Document) Failed() bool { return d.found.Errors() }

// Start returns the position of the first character of the file, for what is missing from
// it altogether.
func (d *Document) Start() workflow.Pos { return d.mark(1, 1, 1) }

func newDocument(p *Pool) *Document {
	if p == nil {
		return &Document{}
	}
	return p.documents.next()
}

// knownKeys returns an empty list for the keys that a map is asked for. A large file has
// many maps, so their lists are reused.
func (d *Document) knownKeys() []string {
	if d == nil { // a missing map
		return make([]string, 0, 32)
	}
	p := d.pool()
	if len(p.keys) == 0 {
		return make([]string, 0, 64)
	}
	last := len(p.keys) - 1
	keys := p.keys[last]
	p.keys = p.keys[:last]
	return keys
}

func (d *Document) pool() *Pool {
	if d.piece.Pool != nil {
		return d.piece.Pool
	}
	return &d.own
}

// Report adds an error that the reader found.
func (d *Document) Report(diag workflow.Diagnostic) { d.report(diag) }

func (d *Document) report(diag workflow.Diagnostic) { d.found = append(d.found, diag) }

// bounded checks depth, cycles and the expansion of aliases.
func (d *Document) bounded(root *node) bool {
	w := &weigher{doc: d, sizes: map[*node]int{}}
	w.size(root, 1)
	return !w.failed
}

// weigher counts the nodes of a document with its aliases expanded, without expanding them:
// an anchored node is counted once and remembered.
type weigher struct {
	doc     *Document
	sizes   map[*node]int // of anchored nodes; 0 while they are being counted
	aliased int
	failed  bool
}

func (w *weigher) size(n *node, depth int) int {
	switch {
	case w.failed:
		return 1
	case depth > maxDepth:
		return w.fail(n, codeSize, "make it flatter", "more than %d levels of nesting", maxDepth)
	case n.Kind == yaml.AliasNode:
		return w.alias(n, depth)
	}
	if n.Anchor != "" {
		w.sizes[n] = 0
	}
	total := min(1+len(n.Value)/aliasedText, maxAliased+1)
	for _, child := range n.Content {
		total = min(total+w.size(child, depth+1), maxAliased+1)
	}
	if n.Anchor != "" {
		w.sizes[n] = total
	}
	return total
}

func (w *weigher) alias(n *node, depth int) int {
	size := w.sizes[n.Alias]
	if size == 0 {
		return w.fail(n, codeAlias, "an anchor must not contain an alias to itself", "*%s contains itself", n.Value)
	}
	if w.aliased += size; w.aliased > maxAliased {
		return w.fail(n, codeAlias, "write the parts out, or use fewer aliases", "the aliases expand to more than %d values", maxAliased)
	}
	if depth+height(n.Alias) > maxDepth {
		return w.fail(n, codeSize, "make it flatter", "more than %d levels of nesting", maxDepth)
	}
	return size
}

func (w *weigher) fail(n *node, code, detail, summary string, args ...any) int {
	w.failed = true
	w.doc.report(workflow.Errorf(w.doc.pos(n), code, detail, summary, args...))
	return 1
}

// height returns the number of levels below a node, including aliases. Anchored nodes were
// counted and are free of cycles, and the sum of all aliases is limited, so the walk is
// too.
func height(n *node) int {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	most := 0
	for _, child := range n.Content {
		most = max(most, 1+height(child))
	}
	return most
}

// resolved follows an alias.
func resolved(n *node) *node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
