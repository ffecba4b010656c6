package plantuml

import ("testing";"os";"fmt";"github.com/hocket-dev/hocket/workflow")

func TestZZ(t *testing.T) {
	f := os.Getenv("F")
	if f == "" { t.Skip() }
	text, _ := os.ReadFile(f)
	w, ds := Parse(f, text)
	fmt.Println(ds)
	fmt.Println(workflow.Print(w))
	out, err := Format(w)
	fmt.Println(string(out), err)
}
