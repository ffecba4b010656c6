// Package fakemodel is a model's API on loopback, for tests: the client, the network and
// the program in front of it are real, only the answers are scripted. It supports Anthropic
// Messages, OpenAI Responses and Chat Completions, and Gemini, streaming and plain.
//
// The answers of the model are in the prompt, as [Prompt] writes them:
//
//	FAKE{"steps":[{"tool":"$shell","cmd":"touch x"},{"text":"done"}]}
//
// The last script in the user's messages counts, and its step is the number of turns that
// the model has had since. So the server keeps no state, and many agents can share one.
// Without a script, [Server.Reply] answers.
package fakemodel
