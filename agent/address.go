package agent

import (
	"net/url"
	"strings"
)

// Address returns the canonical form of a URL for comparison with permissions, with or
// without a method before it. Different letter case, a user, a default port or dots in the
// path would otherwise get around a rule.
func Address(text string) string {
	method, address, found := strings.Cut(text, " ")
	if !found {
		method, address = "", text
	} else {
		method += " "
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return text
	}
	host := strings.TrimRight(strings.ToLower(u.Hostname()), ".")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		host += ":" + port
	}
	u.Host, u.User, u.Fragment, u.RawFragment, u.RawPath = host, nil, "", "", ""
	return method + u.JoinPath().String()
}

// leads is like matches, for URLs: a star in the host of a pattern matches only part of a
// host. Otherwise https://*.example.com/* would match https://evil.net/.example.com/.
func leads(pattern, address string) bool {
	host, rest := splitAddress(pattern)
	switch {
	case rest == "" && (strings.HasSuffix(host, "*") || !strings.Contains(host, "://")):
		return matches(pattern, address)
	case rest == "":
		rest = "/"
	}
	atHost, atRest := splitAddress(address)
	return matches(strings.ToLower(host), strings.ToLower(atHost)) && matches(rest, atRest)
}

// splitAddress splits a URL, or a pattern for one, after its host.
func splitAddress(text string) (host, rest string) {
	at := strings.Index(text, "://")
	if at < 0 {
		return text, ""
	}
	at += len("://")
	end := strings.IndexAny(text[at:], "/?#")
	if end < 0 {
		return text, ""
	}
	return text[:at+end], text[at+end:]
}
