package tool

import (
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/agent"
)

func TestDistinct(t *testing.T) {
	long := strings.Repeat("x", 80)
	var tools []agent.Tool
	for _, name := range []string{"a", "a", "b.c", "b c", "b_c", "", "é", long, long + "y", "a_2"} {
		tools = append(tools, agent.Tool{Name: name})
	}
	want := []string{"a", "a_2", "b_c", "b_c_2", "b_c_3", "_", "__2", long[:64], long[:62] + "_2", "a_2_2"}
	for i, one := range Distinct(tools) {
		if one.Name != want[i] || !IsName(one.Name) {
			t.Errorf("%q became %q, want %q", tools[i].Name, one.Name, want[i])
		}
	}
	if tools[1].Name != "a" {
		t.Error("the given tools were changed")
	}
}
