package workspace

import (
	"fmt"
	"strconv"
	"strings"
)

// Shown returns the path of a file as messages show it. Agents choose the names of files, and a name may have spaces and line breaks:
// unless it is plain, it is quoted, so that it does not look like a part of the message. A long one is cut in its middle.
func Shown(path string) string {
	const most = 200
	if len(path) > most {
		path = strings.ToValidUTF8(path[:most/2], "") + "…" + strings.ToValidUTF8(path[len(path)-most/2:], "")
	}
	if IsPlain(path) {
		return path
	}
	return strconv.Quote(path)
}

// IsPlain reports whether a path has only characters that mean the same in a sentence and in every shell.
func IsPlain(path string) bool {
	return path != "" && !strings.ContainsFunc(path, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_./+@-", r)
	})
}

// Listed joins names or other short texts for a message. Of very many, it leaves out the last.
func Listed(items []string, most int) string {
	if len(items) > most {
		items = append(items[:most:most], fmt.Sprintf("and %d more", len(items)-most))
	}
	return strings.Join(items, ", ")
}

// maxListed is how many files a message names.
const maxListed = 10

// shownAll lists paths for a message.
func shownAll(paths []string, most int) string {
	var shown []string
	for _, path := range paths {
		shown = append(shown, Shown(path))
	}
	return Listed(shown, most)
}
