// Package llm executes tasks with a model over its API: it sends the prompt, streams the
// answer, calls the tools that the model asks for, and enforces the limits of the agent.
//
// A provider is an API at an address. There are four kinds: Anthropic's Messages,
// OpenAI's Responses, Chat Completions as Ollama, vLLM and many others offer it,
// and Google's Gemini. Each is one file, independent of the others; provider.go has
// what they share, and loop.go uses it.
//
// The clients of the providers do not retry: errors.go alone decides what is retried, and
// when.
package llm
