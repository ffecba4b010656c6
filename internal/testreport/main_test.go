package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	tests := []struct {
		name, input, want string
		passed, broken    bool
	}{
		{"all passed", `{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}
`, "ok  \ta\t0.1s\nEvery test ran.\n", true, false},
		{"a failure is shown, with what the test printed", `{"Action":"output","Package":"a","Test":"TestA","Output":"    a_test.go:1: wrong\n"}
{"Action":"output","Package":"a","Test":"TestA","Output":"--- FAIL: TestA\n"}
{"Action":"fail","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
`, "    a_test.go:1: wrong\n--- FAIL: TestA\nFAIL\ta\t0.1s\nEvery test ran.\n", false, false},
		{"a package that does not compile", `{"ImportPath":"a","Action":"build-output","Output":"a.go:1: syntax error\n"}
{"ImportPath":"a","Action":"build-fail"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a"}
`, "a.go:1: syntax error\nFAIL\ta [build failed]\nEvery test ran.\n", false, false},
		{"skipped tests are counted by the reason", `{"Action":"output","Package":"a","Test":"TestA/x","Output":"    a_test.go:1: not installed; ` + "`make clis`" + ` does that\n"}
{"Action":"skip","Package":"a","Test":"TestA/x"}
{"Action":"output","Package":"a","Test":"TestA/y","Output":"    b_test.go:1: run make clis first\n"}
{"Action":"skip","Package":"a","Test":"TestA/y"}
{"Action":"output","Package":"a","Test":"TestB","Output":"    a_test.go:9: no links here\n"}
{"Action":"skip","Package":"a","Test":"TestB"}
{"Action":"skip","Package":"a","Test":"TestC"}
{"Action":"output","Package":"a","Test":"TestD","Output":"    a_test.go:9: not offered: it has no such mode\n"}
{"Action":"skip","Package":"a","Test":"TestD"}
{"Action":"pass","Package":"a"}
{"Action":"skip","Package":"without tests"}
`, "Not proven, because 4 tests were skipped: 2 that `make clis` runs; 1: no links here; 1: no reason given.\n", true, false},
		{"what a test proves is shown if it passes", `{"Action":"attr","Package":"a","Test":"TestA","Key":"proof","Value":"two texts are equal"}
{"Action":"attr","Package":"a","Test":"TestA","Key":"other","Value":"x"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"attr","Package":"a","Test":"TestB","Key":"proof","Value":"two others are equal"}
{"Action":"fail","Package":"a","Test":"TestB"}
{"Action":"fail","Package":"a"}
`, "two texts are equal\nEvery test ran.\n", false, false},
		{"what is not JSON is passed on", "go: downloading x\n{\"Action\":\"pass\",\"Package\":\"a\"}\n", "go: downloading x\nEvery test ran.\n", true, false},
		{"nothing was tested", "", "", false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			passed, err := report(strings.NewReader(test.input), &out)
			if out.String() != test.want || passed != test.passed || (err != nil) != test.broken {
				t.Errorf("passed %v, %v\n%swant passed %v\n%s", passed, err, &out, test.passed, test.want)
			}
		})
	}
}
