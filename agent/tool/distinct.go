package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket/agent"
)

// longestName is the maximum length of a tool name that models accept.
const longestName = 64

// Distinct gives tools from several sources unique names that models accept: characters
// other than letters, digits, - and _ become _, and the later one of two equal names gets a
// number.
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
