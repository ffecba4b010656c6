package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hocket-dev/hocket/workflow"
)

// firstJSON finds the JSON in what an agent wrote: the whole text, otherwise the first code fence
// that contains JSON, otherwise the first object or list in the text.
func firstJSON(raw string) (any, error) {
	text := strings.TrimSpace(raw)
	v, err := workflow.ParseJSON([]byte(text))
	if err == nil {
		return v, nil
	}
	for _, fenced := range fences(text) {
		if v, err := workflow.ParseJSON([]byte(fenced)); err == nil {
			return v, nil
		}
	}
	return inProse(text)
}

const fence = "```"

// fences returns the contents of all code fences. A fence that is not closed extends to the end
// of the text.
func fences(text string) []string {
	var found []string
	open := strings.Index(text, fence)
	for open >= 0 {
		_, content, _ := strings.Cut(text[open+len(fence):], "\n") // skip the language
		content, text, _ = strings.Cut(content, fence)
		found = append(found, content)
		open = strings.Index(text, fence)
	}
	return found
}

// inProse finds the first object or list in the text. It limits how much it parses in vain: a
// text of opening brackets would otherwise take quadratic time.
func inProse(text string) (any, error) {
	var first error
	budget := 4*len(text) + 1<<16
	for at := 0; budget > 0; at++ {
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		v, read, err := decodeAt(text, at)
		if err == nil {
			return v, nil
		}
		if first == nil {
			first = fmt.Errorf("expected JSON, found %s that is not valid JSON: %s", where(text, at), describe(err, text, at))
		}
		budget -= read + 64
	}
	if first == nil {
		first = fmt.Errorf("expected JSON, found %s; answer with the JSON value alone", excerpt(text))
	}
	return nil, first
}

func decodeAt(text string, at int) (v any, read int, err error) {
	dec := json.NewDecoder(strings.NewReader(text[at:]))
	dec.UseNumber()
	err = dec.Decode(&v)
	read = int(dec.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		read = int(syntax.Offset)
	} else if err != nil {
		read = len(text) - at
	}
	return v, read, err
}

// describe says what is wrong with the JSON that begins at an offset, and where.
func describe(err error, text string, at int) string {
	var syntax *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	if errors.As(err, &syntax) {
		line, column := position(text, at+int(syntax.Offset)-1)
		return fmt.Sprintf("%s at line %d, column %d", err, line, column)
	}
	return err.Error()
}

func where(text string, at int) string {
	what := "an object"
	if text[at] == '[' {
		what = "a list"
	}
	line, column := position(text, at)
	return fmt.Sprintf("%s at line %d, column %d", what, line, column)
}

func position(text string, at int) (line, column int) {
	before := text[:min(max(at, 0), len(text))]
	line = strings.Count(before, "\n") + 1
	return line, len([]rune(before[strings.LastIndexByte(before, '\n')+1:])) + 1
}

const excerptLength = 120

// excerpt quotes the beginning of a text.
func excerpt(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "nothing"
	}
	runes := []rune(text[:min(len(text), 4*excerptLength)])
	if len(runes) > excerptLength {
		return fmt.Sprintf("%q…", string(runes[:excerptLength]))
	}
	return fmt.Sprintf("%q", string(runes))
}
