package http

import (
	"strings"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/sorted"
	"github.com/hocket-dev/hocket/trust"
)

// does reports that every request leaves the machine.
func does(map[string]any) []agent.Power { return []agent.Power{agent.MayReach} }

// powers returns the variables of the environment that headers send.
func powers(_ string, settings map[string]any) trust.Powers {
	headers, _ := settings["headers"].(map[string]any)
	url, _ := settings["url"].(string)
	var list trust.Powers
	for _, name := range sorted.Keys(headers) {
		header, _ := headers[name].(map[string]any)
		if variable, ok := header["env"].(string); ok {
			list = append(list, trust.Power{Kind: trust.Secret, What: "sends the variable " + variable + " to " + server(url)})
		}
	}
	return list
}

// server returns the part of a URL that names the recipient of a request. If it depends on
// a reference, it is returned as written, and so never equals the one that is reached.
func server(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	end := strings.IndexAny(rest, `/?#\`)
	if !ok || end < 0 || strings.Contains(scheme+rest[:end], "${") {
		return url
	}
	return scheme + "://" + rest[:end]
}
