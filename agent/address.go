package agent

import (
	"net/url"
	"strings"
)

// Address is an address in the one form in which it is held against permissions, with
// or without a method before it: who writes it otherwise, with another case, a user, a
// port that it has anyway or dots in its path, reaches the same.
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
	if u = u.JoinPath(); u.Path == "" {
		u.Path = "/"
	}
	return method + u.String()
}

// leads is matches for addresses: a star in the host of a pattern stands for a part of
// a host only. Else https://*.example.com/* would match https://evil.net/.example.com/.
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

// splitAddress parts an address, or a pattern for one, behind its host.
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
