package llm

import (
	"cmp"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

const (
	defaultTurns    = 50
	defaultSilence  = 5 * time.Minute
	defaultOutputKB = 1024
)

type settings struct {
	Provider       string   `json:"provider"`
	Model          string   `json:"model"`
	MaxTurns       int      `json:"max_turns"`
	MaxTokens      int64    `json:"max_tokens"`
	Temperature    *float64 `json:"temperature"`
	TopP           *float64 `json:"top_p"`
	Effort         string   `json:"effort"`
	ThinkingTokens int64    `json:"thinking_tokens"`
	Stop           []string `json:"stop"`
	Partial        bool     `json:"partial"`
	Silence        string   `json:"silence"`
	MaxOutputKB    int      `json:"max_output_kb"`
}

// efforts are the levels of thinking, from none to most.
var efforts = []any{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// schema describes the settings of a task for a model.
func schema() map[string]any {
	count := func(description string, most int) map[string]any {
		return map[string]any{"description": description, "type": "integer", "minimum": 1, "maximum": most}
	}
	text := func(description string) map[string]any {
		return map[string]any{"description": description, "type": "string", "minLength": 1}
	}
	return map[string]any{
		"type":                 "object",
		"additionalProperties": false,
		"properties": map[string]any{
			"provider":        text("Name of a provider in the configuration, such as anthropic. Default: determined by the model."),
			"model":           text("Name of a model, or provider/model. Default: the agent's, otherwise the project's."),
			"max_turns":       count("Maximum number of model responses in one attempt; each may call tools. Default: the agent's, otherwise 50.", 1000),
			"max_tokens":      count("Maximum number of tokens in one answer. Default: the provider's maximum.", 1<<24),
			"temperature":     map[string]any{"description": "Sampling temperature, for models that support it.", "type": "number", "minimum": 0, "maximum": 2},
			"top_p":           map[string]any{"description": "Nucleus sampling threshold, for models that support it.", "type": "number", "minimum": 0, "maximum": 1},
			"effort":          map[string]any{"description": "Reasoning effort of the model. Default: the provider's.", "enum": efforts},
			"thinking_tokens": count("Maximum number of tokens for thinking, for models of Anthropic and Google that use a number instead of effort.", 1<<24),
			"stop":            map[string]any{"description": "Stop sequences: the answer ends at the first of them.", "type": "array", "items": map[string]any{"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 4},
			"partial":         map[string]any{"description": "Accept an answer that was cut off by max_tokens, instead of failing.", "type": "boolean"},
			"silence":         map[string]any{"description": "Longest time without any data from the provider, such as 90s. Default: 5m.", "type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`},
			"max_output_kb":   count("Maximum size of the answer, in KiB. Default: 1024.", 1<<20),
		},
	}
}

// turns returns how often the model may answer: as set by the task, otherwise by its agent.
func (c *conversation) turns() int {
	return cmp.Or(c.set.MaxTurns, c.task.Agent.MaxTurns, defaultTurns)
}

func (s *settings) patience() (time.Duration, error) {
	if s.Silence == "" {
		return defaultSilence, nil
	}
	d, err := time.ParseDuration(s.Silence)
	if err != nil || d <= 0 {
		return 0, agent.Permanentf("silence %q is not a duration", s.Silence)
	}
	return d, nil
}
