package drivertest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every duty listed in package engine has a scenario, and the guide for driver authors
// names it.
func TestEveryDutyHasAScenario(t *testing.T) {
	guide := readFile(t, "../../docs/howto/add-a-driver.md")
	number := 0
	for _, m := range regexp.MustCompile(`(?m)^//  (\d+)\. ([^.]+)\.`).FindAllStringSubmatch(readFile(t, "../../engine/doc.go"), -1) {
		number++
		if m[1] != fmt.Sprint(number) {
			t.Fatalf("duty %s of package engine is the %dth", m[1], number)
		}
		var names []string
		for _, s := range Scenarios {
			if slices.Contains(s.Proves, number) {
				names = append(names, s.Name)
			}
		}
		if names == nil {
			t.Errorf("no scenario proves duty %s, %s", m[1], m[2])
		}
		head, scenarios := fmt.Sprintf("\n| %d. %s | ", number, m[2]), " | "+strings.Join(names, ", ")+" |"
		_, row, _ := strings.Cut(guide, head)
		if row, _, _ = strings.Cut(row, "\n"); !strings.HasSuffix(row, scenarios) {
			t.Errorf("the guide has no row %s…%s", head, scenarios)
		}
	}
	for _, s := range Scenarios {
		if len(s.Proves) == 0 || slices.Max(s.Proves) > number {
			t.Errorf("%s proves %v, and package engine lists %d duties", s.Name, s.Proves, number)
		}
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
