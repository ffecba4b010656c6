package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Checks what counts as a word, and which words are the same.
func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Review THE code, then review it.": "review",
		"ab abc":                           "abc",
		"scan scans scanned scanner scanners scanning": "scan",
		"security securities":                          "secur",
		"warnings warning warn":                        "warn",
		"queries query":                                "quer",
		"walked walks":                                 "walk",
		"fetches fetch":                                "fetch",
		"write writes":                                 "writ",
		"used uses use":                                "",
		"tests tester":                                 "test",
		"bees":                                         "bees", // the rest would not be a word
		"API2 x-ray":                                   "api2 ray",
		"buildings":                                    "build",
		"文書を書く":                                        "文書 書を を書 書く",
		"API文書":                                        "api 文書",
		"漏洞abc漏洞":                                      "漏洞 abc",
		"การ":                                          "กา าร",
		strings.Join(fillers(), " ") + " about, all; with you": "",
	} {
		var stems []string
		for _, w := range wordsOf(text) {
			stems = append(stems, w.stem)
		}
		if got := strings.Join(stems, " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// A prompt of many different words, which a client can submit, does not take long.
func TestManyWords(t *testing.T) {
	const n = 1_000_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "w%d ", i+100)
	}
	words := make(chan int, 1)
	go func() { words <- len(wordsOf(text.String())) }()
	select {
	case got := <-words:
		if got != n {
			t.Errorf("%d words", got)
		}
	case <-time.After(time.Minute): // it takes a second, or half an hour if it looks at every pair
		t.Error("it does not end")
	}
}
