package tool

import (
	"fmt"
	"slices"
	"strings"
)

// What programs print when they were denied something: files, host names, and connections.
var (
	saidOfFiles = []string{"permission denied", "operation not permitted", "eacces", "eperm", "read-only file system", "bad system call"}
	saidOfNames = []string{
		"could not resolve", "couldn't resolve", "name or service not known", "name resolution", "enotfound", "eai_again", "getaddrinfo", "no such host",
	}
	saidOfConnections = []string{"address family not supported", "network is unreachable", "tunnel failed", "fetch failed", "socket", "connect"}
)

// hint suggests a fix if a confined program seems to have failed because it was denied
// something; "" otherwise.
func (c *call) hint(h *hold, said string) string {
	if h.box == nil {
		return ""
	}
	said = strings.ToLower(said)
	says := func(list []string) bool {
		return slices.ContainsFunc(list, func(words string) bool { return strings.Contains(said, words) })
	}
	files, names, connections := says(saidOfFiles), says(saidOfNames), says(saidOfConnections)
	h.mu.Lock()
	defer h.mu.Unlock()
	text, more := "", []string{}
	if files && len(h.denied) == 0 {
		more = append(more, "`fs: {read: [PATH], write: [PATH]}`")
	}
	switch {
	case len(h.denied) > 0:
		more = append(more, "`network: ["+strings.Join(h.denied, ", ")+"]`")
	case h.proxy == nil && (names || connections):
		more = append(more, "`network: [HOST]`")
	case len(h.missed) > 0 && (names || connections):
		text = " It could not reach " + strings.Join(h.missed, ", ") + "."
	case names:
		text = " It can reach hosts only through the proxy in HTTP_PROXY and HTTPS_PROXY, which this program may not support."
	}
	if len(more) > 0 {
		text += fmt.Sprintf(" If it needs more, add %s under `permissions` in %s.", strings.Join(more, " or "), c.file())
	}
	if files && c.task != nil && c.task.Writes != nil {
		text += " The task that calls it is limited in where it may write, too."
	}
	if text == "" {
		return ""
	}
	return "\nThe tool " + c.Permissions.allowed() + "." + text
}

// allowed describes what a program may do, as the end of a sentence.
func (p *Permissions) allowed() string {
	or := func(list []string, none string) string {
		if len(list) == 0 {
			return none
		}
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("may read %s, write %s and reach %s", or(slices.Concat(p.Read, p.Write), "nothing in the project"), or(p.Write, "nothing"), strings.Replace(p.Network.String(), "none", "no host", 1))
}
