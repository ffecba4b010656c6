package plantuml

import (
	"runtime"
	"strings"
	"testing"
)

// Writing four times as many forks in a row does not take sixteen times the memory, however deep they are written.
func TestManyForks(t *testing.T) {
	allocated := func(forks int) uint64 {
		w, found := Parse("x.puml", []byte("@startuml\nstart\n"+strings.Repeat("fork\n:a;\nfork again\n:b;\nend fork\n", forks)+"stop\n@enduml\n"))
		if found.Errors() {
			t.Fatal(found)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Format(w); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(400), allocated(1600); many > 8*few {
		t.Errorf("%d MB for 400 forks, %d MB for 1,600", few>>20, many>>20)
	}
}
