// Package fakemodel is a model's API on loopback, for tests: the client, the
// network and the program in front of it are real, only the answers are written
// down beforehand. It speaks Anthropic Messages, OpenAI Responses and Chat
// Completions, and Gemini, streaming and plain.
//
// What the model answers stands inside of the prompt, as [Prompt] writes it:
//
//	FAKE{"steps":[{"tool":"$shell","cmd":"touch x"},{"text":"done"}]}
//
// The last script in what the user said holds, and the step taken is the number of
// turns that the model has had since. So the server remembers nothing, and many
// agents can share one. Where no script is given, [Server.Reply] has the word.
package fakemodel
