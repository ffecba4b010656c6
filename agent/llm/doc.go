// Package llm is the executor of tasks by a model over its API: it says the
// prompt, hands on the answer as it comes, calls the tools that the model asks
// for, and keeps to the bounds of the agent.
//
// A provider is an API at an address. There are four kinds: Anthropic's Messages,
// OpenAI's Responses, Chat Completions as Ollama, vLLM and many others offer it,
// and Google's Gemini. Each is one file and knows nothing of the others; what all
// of them have in common is in provider.go, and what is done with it in loop.go.
//
// The clients of the providers make no retries of their own: what is worth another
// try, and when, is decided in one place, errors.go.
package llm
