package check_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/workflow"
)

func TestFits(t *testing.T) {
	values := []struct {
		value any
		fits  []workflow.ParamType
	}{
		{"", []workflow.ParamType{workflow.StringType}},
		{json.Number("7"), []workflow.ParamType{workflow.NumberType, workflow.IntegerType}},
		{json.Number("-7"), []workflow.ParamType{workflow.NumberType, workflow.IntegerType}},
		{json.Number("7.5"), []workflow.ParamType{workflow.NumberType}},
		{json.Number("-"), []workflow.ParamType{workflow.NumberType}},
		{true, []workflow.ParamType{workflow.BooleanType}},
		{[]any{}, []workflow.ParamType{workflow.ArrayType}},
		{map[string]any{}, []workflow.ParamType{workflow.ObjectType}},
		{nil, nil},
	}
	for _, c := range values {
		want := map[workflow.ParamType]bool{workflow.AnyType: true}
		for _, typ := range c.fits {
			want[typ] = true
		}
		for _, typ := range []workflow.ParamType{workflow.AnyType, workflow.StringType, workflow.NumberType, workflow.IntegerType, workflow.BooleanType, workflow.ArrayType, workflow.ObjectType, "other"} {
			if got := check.Fits(typ, c.value); got != want[typ] {
				t.Errorf("%#v as %q: %v", c.value, typ, got)
			}
		}
	}
}

func TestOverride(t *testing.T) {
	all := workflow.Limits{Steps: 1, Parallel: 2, Depth: 3, Runtime: 4, CostUSD: 5, Tokens: 6}
	if got := check.Override(check.Defaults(), all); got != all {
		t.Errorf("%+v", got)
	}
	if got := check.Override(all, workflow.Limits{}); got != all {
		t.Errorf("%+v", got)
	}
}
