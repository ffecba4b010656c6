package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/workflow/extract"
)

// chain returns a schema in which each part refers to the next one several times.
func chain(n, times int) map[string]any {
	defs := map[string]any{}
	for i := range n {
		var all []any
		for range times {
			all = append(all, map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)})
		}
		if times == 1 {
			defs[fmt.Sprintf("d%d", i)] = all[0]
		} else {
			defs[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": all}
		}
	}
	defs[fmt.Sprintf("d%d", n)] = map[string]any{"type": "string"}
	return map[string]any{"$ref": "#/$defs/d0", "$defs": defs}
}

// A schema that would keep the validator busy is refused at once.
func TestLargeSchemas(t *testing.T) {
	wide := map[string]any{}
	for i := range 6000 {
		wide[fmt.Sprintf("p%d", i)] = map[string]any{"type": "string"}
	}
	tree := map[string]any{"$defs": map[string]any{"a /b": map[string]any{"anyOf": []any{map[string]any{"$ref": "#"}, map[string]any{"$ref": "#/$defs/a%20~1b"}}}},
		"properties": map[string]any{"left": map[string]any{"$ref": "#"}, "right": map[string]any{"$ref": "#"}}}
	for name, c := range map[string]struct {
		schema map[string]any
		want   string
	}{
		"chain":      {chain(500, 1), ""},
		"long chain": {chain(10000, 1), "more than 3000 schemas"},
		"doubling":   {chain(10, 2), ""},
		"doubled":    {chain(60, 2), "more than 10000 schemas apply to one value"},
		"wide":       {map[string]any{"properties": wide}, "more than 3000 schemas"},
		"recursive":  {tree, ""},
		"anchors":    {map[string]any{"$ref": "#d", "$defs": map[string]any{"d": map[string]any{"$anchor": "d"}}}, `unsupported reference "#d"`},
		"schemas":    {map[string]any{"not": map[string]any{"$ref": "https://json-schema.org/draft/2020-12/schema"}}, ""},
	} {
		s, err := extract.Compile(c.schema)
		if c.want == "" {
			if err != nil || len(s.Mistakes("a")) > 0 || name != "recursive" && name != "schemas" && len(s.Mistakes(1)) == 0 {
				t.Errorf("%s: %v", name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkCompileChain(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, err := extract.Compile(chain(n, 1)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
