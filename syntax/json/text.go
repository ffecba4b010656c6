package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/syntax/internal/source"
	"github.com/hocket-dev/hocket/workflow"
)

// readText parses JSON into values with positions. Most YAML parsers accept JSON, but not keys of
// more than a thousand characters.
func readText(file string, text []byte) (*strictyaml.Document, strictyaml.Node, error) {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	t := &tokens{doc: strictyaml.Compose(file), src: source.New(file, text), dec: json.NewDecoder(bytes.NewReader(text))}
	t.dec.UseNumber()
	root, err := t.value(0)
	if err == nil {
		if _, more := t.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("unexpected text after the value")
		}
	}
	if err != nil {
		at := int(t.dec.InputOffset())
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = max(int(syntax.Offset)-1, 0)
		}
		at = min(at, max(len(text)-1, 0))
		t.doc.Report(workflow.Errorf(t.src.Pos(source.Span{From: at, To: min(at+1, len(text))}), codeSyntax, "see json.org for the syntax", "invalid JSON: %v", err))
	}
	return t.doc, root, err
}

// maxDepth limits how deep values nest.
const maxDepth = 200

var errDeep = errors.New("values are nested too deeply")

type tokens struct {
	doc *strictyaml.Document
	src *source.Text
	dec *json.Decoder
}

// next returns the next token with its position.
func (t *tokens) next() (json.Token, source.Span, error) {
	from := int(t.dec.InputOffset())
	token, err := t.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	to := int(t.dec.InputOffset())
	for from < to && strings.IndexByte(" \t\r\n,:", t.src.Bytes[from]) >= 0 {
		from++
	}
	return token, source.Span{From: from, To: to}, err
}

func (t *tokens) value(depth int) (strictyaml.Node, error) {
	token, at, err := t.next()
	if err != nil {
		return strictyaml.Node{}, err
	}
	switch {
	case depth > maxDepth:
		return strictyaml.Node{}, errDeep
	case token == json.Delim('{'):
		return t.object(depth, at)
	case token == json.Delim('['):
		return t.list(depth, at)
	}
	return t.doc.Of(token, t.scalar(token, at)), nil
}

// scalar returns the position of a scalar. That of a text begins after the opening quote.
func (t *tokens) scalar(token json.Token, at source.Span) workflow.Source {
	text, ok := token.(string)
	if !ok {
		return workflow.Source{Pos: t.src.Pos(at)}
	}
	return workflow.Source{Text: text, Pos: t.src.Pos(source.Span{From: at.From + 1, To: max(at.From+1, at.To-1)})}
}

func (t *tokens) object(depth int, open source.Span) (strictyaml.Node, error) {
	var pairs []strictyaml.Pair
	for t.dec.More() {
		key, at, err := t.next()
		if err != nil {
			return strictyaml.Node{}, err
		}
		value, err := t.value(depth + 1)
		if err != nil {
			return strictyaml.Node{}, err
		}
		name, _ := key.(string)
		pairs = append(pairs, strictyaml.Pair{Key: name, Pos: t.src.Pos(at), Value: value})
	}
	_, _, err := t.next()
	return t.doc.Map(pairs, t.src.Pos(open)), err
}

func (t *tokens) list(depth int, open source.Span) (strictyaml.Node, error) {
	var items []strictyaml.Node
	for t.dec.More() {
		item, err := t.value(depth + 1)
		if err != nil {
			return strictyaml.Node{}, err
		}
		items = append(items, item)
	}
	_, _, err := t.next()
	return t.doc.List(items, t.src.Pos(open)), err
}
