package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// longestName is how long the name of a tool may be: models take no longer one.
const longestName = 64

// Distinct gives tools from several places names that models take, each its own: what
// is no letter, digit, - or _ becomes _, and of two that are the same the later one
// gets a number.
func Distinct(tools []agent.Tool) []agent.Tool {
	out := slices.Clone(tools)
	taken := map[string]bool{}
	for i := range out {
		name := legal(out[i].Name)
		for n := 2; taken[name]; n++ {
			number := fmt.Sprintf("_%d", n)
			name = cutTo(legal(out[i].Name), longestName-len(number)) + number
		}
		taken[name] = true
		out[i].Name = name
	}
	return out
}

func legal(name string) string {
	name = strings.Map(func(r rune) rune {
		if IsName(string(r)) {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		name = "_"
	}
	return cutTo(name, longestName)
}

func cutTo(name string, most int) string { return name[:min(len(name), most)] }
