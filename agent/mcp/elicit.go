package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
)

// How a person responds to a server.
const (
	accept  = "accept"
	decline = "decline"
)

// elicit puts a question of a server to a person. A person can only choose from a few
// answers: choices are asked field by field, and a form that needs more is declined. If
// nobody is available, it is declined as well.
func (s *Session) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	fields, ok := fieldsOf(req.Params)
	if !ok {
		return &sdk.ElicitResult{Action: decline}, nil
	}
	s.asking.Add(1)
	defer func() {
		s.answered.Add(1)
		s.asking.Add(-1)
	}()
	text := fmt.Sprintf("MCP server %q asks: %s", s.server.Name, shown(req.Params.Message))
	if len(fields) == 0 {
		said, err := s.options.Ask(ctx, agent.Question{Text: text, Options: []string{accept, decline}})
		return result(said, nil, err), nil
	}
	content := map[string]any{}
	for _, f := range fields {
		said, err := s.options.Ask(ctx, agent.Question{Text: text, Detail: f.about, Options: append(slices.Clone(f.options), decline)})
		if err != nil || said == decline {
			return result(said, nil, err), nil
		}
		content[f.name] = f.value(said)
	}
	return result(accept, content, nil), nil
}

func result(said string, content map[string]any, err error) *sdk.ElicitResult {
	switch {
	case err != nil:
		return &sdk.ElicitResult{Action: "cancel"}
	case said == decline:
		return &sdk.ElicitResult{Action: decline}
	}
	return &sdk.ElicitResult{Action: accept, Content: content}
}

// field is a part of a form that is answered by a choice.
type field struct {
	name    string
	about   string
	options []string
	boolean bool
}

func (f *field) value(said string) any {
	if f.boolean {
		return said == "yes"
	}
	return said
}

// maxOptions is how many answers a person can choose from.
const maxOptions = 50

// fieldsOf returns the fields of a form in a stable order; false if it needs more than
// choices. Optional fields that are not choices are left out.
func fieldsOf(p *sdk.ElicitParams) ([]field, bool) {
	var form struct {
		Properties map[string]struct {
			Type        any      `json:"type"`
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Enum        []string `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	text, err := json.Marshal(p.RequestedSchema)
	if err != nil || json.Unmarshal(text, &form) != nil || p.Mode == "url" || p.URL != "" {
		return nil, false
	}
	var all []field
	for _, name := range sorted.Keys(form.Properties) {
		is := form.Properties[name]
		f := field{name: name, about: shown(name), options: is.Enum, boolean: is.Type == "boolean"}
		for _, more := range []string{is.Title, is.Description} {
			if more != "" {
				f.about += ": " + shown(more)
			}
		}
		if f.boolean {
			f.options = []string{"yes", "no"}
		}
		switch choice := len(f.options) > 0 && len(f.options) <= maxOptions && !slices.Contains(f.options, decline); {
		case choice:
			all = append(all, f)
		case slices.Contains(form.Required, name):
			return nil, false
		}
	}
	return all, len(all) > 0 || len(form.Properties) == 0
}
