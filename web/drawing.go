package web

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/draw"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

const maxOpen = 100 // sets of steps, which the address of a page names

// picture draws a workflow, unless it has been drawn before. open are the places of folded steps that are shown one by one.
func (s *site) picture(ctx context.Context, drawing draw.Inline, open []string) (*draw.Picture, error) {
	open = open[:min(len(open), maxOpen)]
	key := fmt.Sprintf("%s %t %q %q %q", draw.Digest(drawing.Bundle), drawing.Link, open, drawing.Handed, drawing.Titles)
	drawing.Calls, drawing.Unfold = draw.MostCalled, true
	drawing.Fold = draw.Fold{Over: draw.ReadableAlike, Open: func(place string) bool { return slices.Contains(open, place) }}
	return s.drawings.of(key, func() (*draw.Picture, error) { return drawing.Draw(ctx) })
}

// handedOff returns what steps have handed off, by their places. What a handoff has handed off belongs to the same step.
func handedOff(nodes []*node) map[string][]draw.Handed {
	handed, by := map[string][]draw.Handed{}, map[string]string{}
	for _, n := range nodes { // each after the one that handed it off
		if n.Kind != handoffKind {
			by[n.Place] = n.Place
			continue
		}
		step := by[n.Place[:strings.LastIndexByte(n.Place, '/')]]
		by[n.Place] = step
		handed[step] = append(handed[step], draw.Handed{Place: n.Place, Text: n.ID + " · " + n.Agent})
	}
	return handed
}

// changed returns a query with other values for a name.
func changed(query url.Values, name string, values ...string) string {
	all := url.Values{}
	maps.Copy(all, query)
	if all[name] = values; len(values) == 0 {
		delete(all, name)
	}
	return all.Encode()
}

// linker returns a function for links to a page with another value for a name. It is fast for many of them.
func linker(query url.Values, name string) func(value string) string {
	link := "?" + name + "="
	if rest := changed(query, name); rest != "" {
		link = "?" + rest + "&" + name + "="
	}
	return func(value string) string { return link + url.QueryEscape(value) }
}

// drawn is a picture on a page.
type drawn struct {
	SVG  template.HTML
	Note string
	Open []openFold
}

// openFold is a set of steps that could be one box, but are shown one by one.
type openFold struct {
	First string // its place
	Close string // the query of a page on which it is one box
}

// newDrawn returns a picture for a page whose address has more in its query, which links keep.
func newDrawn(p *draw.Picture, look draw.Look, query url.Values) *drawn {
	look.Link = linker(query, "step")
	look.Unfold = func(place string) string {
		return "?" + changed(query, "unfold", append(slices.Clone(p.Opened), place)...) + "#drawing"
	}
	d := &drawn{SVG: template.HTML(p.SVG(look)), Note: p.Note} //nolint:gosec // draw escapes all text
	for i, place := range p.Opened {
		d.Open = append(d.Open, openFold{place, "?" + changed(query, "unfold", slices.Delete(slices.Clone(p.Opened), i, i+1)...)})
	}
	return d
}

// colours are the states of a run in its drawing. The module of the page computes the same from events.
type colours struct {
	nodes   map[string]*node
	decided map[string]map[engine.Branch]bool // by place
	chooses map[string]bool                   // places with an edge that depends on a decision
	times   map[string]bool                   // places with an edge for timeouts
}

func newColours(p *draw.Picture, nodes []*node, decisions map[string]engine.Branch) *colours {
	c := &colours{map[string]*node{}, map[string]map[engine.Branch]bool{}, map[string]bool{}, map[string]bool{}}
	for _, n := range nodes {
		c.nodes[n.Place] = n
	}
	for place, members := range p.Folds() {
		one := &node{Place: place, Counts: c.count(members), Status: c.fold(members)}
		if one.Status == "" && len(one.Counts) > 0 { // some have not started
			one.Status = "running"
			one.Counts[one.Status]++
		}
		c.nodes[place] = one
	}
	for address, branch := range decisions {
		place := hocket.PlaceOf(address)
		if c.decided[place] == nil {
			c.decided[place] = map[engine.Branch]bool{}
		}
		c.decided[place][branch] = true
	}
	for e := range p.Edges() {
		for _, from := range e.From {
			c.chooses[from] = c.chooses[from] || e.On == workflow.OnLabel || e.On == workflow.OnWhen
			c.times[from] = c.times[from] || e.On == workflow.OnTimeout
		}
	}
	return c
}

func (c *colours) look() draw.Look {
	return draw.Look{
		Node: func(place string) string {
			if n := c.nodes[place]; n != nil {
				return n.Status
			}
			return ""
		},
		Edge: c.edge, Fold: c.fold, Text: c.text,
	}
}

// edge returns whether an edge was taken, or will not be any more.
func (c *colours) edge(e draw.Edge) string {
	if len(e.From) == 0 {
		if n := c.nodes[e.To]; n != nil && n.Status != "" && n.Status != "skipped" {
			return "taken"
		}
		return ""
	}
	dead := true
	for _, from := range e.From {
		taken, over := c.takes(from, e)
		if taken {
			return "taken"
		}
		dead = dead && over
	}
	if dead {
		return "dead"
	}
	return ""
}

// takes reports whether a step has taken an edge, and if not, whether it is over.
func (c *colours) takes(from string, e draw.Edge) (taken, over bool) {
	n := c.nodes[from]
	if n == nil || n.Status == "" || n.Counts["running"]+n.Counts["waiting"] > 0 {
		return false, false
	}
	switch e.On {
	case workflow.OnFailure:
		return n.Counts["error"] > 0 || n.Counts["timeout"] > 0 && !c.times[from], true
	case workflow.OnTimeout:
		return n.Counts["timeout"] > 0, true
	case workflow.OnLabel, workflow.OnWhen:
		return c.decided[from][engine.Branch{On: e.On, Case: e.Case}], true
	case workflow.OnSuccess, workflow.OnElse:
	}
	if c.chooses[from] {
		return c.decided[from][engine.Branch{On: workflow.OnElse}], true
	}
	return n.Counts["success"]+n.Counts["partial"] > 0, n.Counts["skipped"] == n.Total()
}

// fold returns the state of steps that are one box: done only if all are.
func (c *colours) fold(places []string) string {
	by := c.count(places)
	for _, s := range statusOrder {
		if by[s] > 0 && (s != "success" && s != "skipped" || by["success"]+by["skipped"] == len(places)) {
			return s
		}
	}
	return ""
}

// text returns how many steps of a box are in which state.
func (c *colours) text(places []string) string {
	by := c.count(places)
	if len(by) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d done", by["success"]+by["partial"]+by["skipped"], len(places))
	for _, s := range []struct {
		n    int
		what string
	}{{by["error"] + by["timeout"], "failed"}, {by["cancelled"], "cancelled"}, {by["running"], "running"}, {by["waiting"], "waiting"}} {
		if s.n > 0 {
			text += fmt.Sprintf(", %d %s", s.n, s.what)
		}
	}
	return text
}

func (c *colours) count(places []string) map[string]int {
	by := map[string]int{}
	for _, place := range places {
		if n := c.nodes[place]; n != nil && n.Status != "" {
			by[n.Status]++
		}
	}
	return by
}
