package web

import (
	"html"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// rowsTogether is how many rows of a list the browser lays out together.
const rowsTogether = 50

// rows renders the list of the nodes of a run. A template takes 30 ms for 1,000 of them, which is most of what such a
// page takes.
func rows(d *runData) template.HTML {
	var b strings.Builder
	put := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	also := func(yes bool, parts ...string) {
		if yes {
			put(parts...)
		}
	}
	text := html.EscapeString
	link := linker(d.query, "step")
	for i, n := range d.Nodes {
		also(i%rowsTogether == 0, "<tbody>\n")
		tally, title := tallied(n.Counts), n.Title
		if title == "" {
			title = n.ID
		}
		put(`<tr data-place="`, text(n.Place), `"`)
		also(tally != "", ` data-tally="`, text(tally), `"`)
		also(len(n.Past) > 0, ` data-past="`, text(tallied(n.Past)), `"`)
		also(n.Depth > 0, ` class="deep-`, strconv.Itoa(n.Depth), `" data-depth="`, strconv.Itoa(n.Depth), `"`)
		also(n.Holds, ` data-holds`)
		also(n.Kind == choiceKind, ` data-choice`)
		also(n.Kind == eachKind && !n.Holds, ` data-each`)
		put(`><td><a href="`, text(link(n.Place)), `" data-step>`, text(title), `</a> <small>`)
		also(title != n.ID, text(n.ID), ` · `)
		put(text(n.Kind), `</small>`)
		also(n.Text != "", `<p>`, text(n.Text), `</p>`)
		put(`<td><span class="pill `, text(n.Status), `">`, text(statusText(n.Status)), `</span>`)
		also(n.Total() > 1, ` <small>`, text(n.counted()), `</small>`)
		put(`<td>`, text(n.Agent), `<td>`)
		also(!n.Since.IsZero(), `<span data-since="`, isoTime(n.Since), `">`, n.took(), `</span>`)
		also(n.Since.IsZero(), n.took())
		put(`<td>`, text(usd(n.Price())), "\n")
	}
	return template.HTML(b.String()) //nolint:gosec // all text of a run is escaped
}

// took returns how long the node took, or has been in progress.
func (n *node) took() string {
	switch {
	case !n.Since.IsZero():
		return duration(time.Since(n.Since))
	case n.Took == 0:
		return ""
	}
	return duration(n.Took)
}

// figures returns what the list says about nodes that have started, a line for each: its place, since when it is in progress,
// how long it took, and its cost.
func figures(nodes []*node) string {
	var b strings.Builder
	for _, n := range nodes {
		if n.Total() == 0 {
			continue
		}
		since := ""
		if !n.Since.IsZero() {
			since = isoTime(n.Since)
		}
		b.WriteString(n.Place + "\t" + since + "\t" + n.took() + "\t" + usd(n.Price()) + "\n")
	}
	return b.String()
}
