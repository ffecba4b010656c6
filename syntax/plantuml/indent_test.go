package plantuml

import (
	"strings"
	"testing"
)

// A text with many forks in a row is about as long as what it is made of, however deep they are written.
func TestDeepTextsAreNotIndentedForEver(t *testing.T) {
	const forks, perFork = 600, 400
	w, found := Parse("x.puml", []byte("@startuml\nstart\n"+strings.Repeat("fork\n:a;\nfork again\n:b;\nend fork\n", forks)+"stop\n@enduml\n"))
	if found.Errors() {
		t.Fatal(found)
	}
	text, err := Format(w)
	if err != nil || len(text) > forks*perFork {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
