package web

import (
	"slices"
	"sort"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/workflow"
)

// timeline shows when steps ran. Time in which nothing ran is folded, so that it does not squeeze the rest.
type timeline struct {
	Width, Height int
	Bars          []bar
	Folds         []fold
	Ticks         []tick
	More          int // steps that are not shown
}

type bar struct {
	X, Y, W, T   float64 // T is where the label begins, or ends
	Label        string
	Address      string
	Link         string
	Status, Took string
	Since        *time.Time // nil: it is not in progress
	After        bool       // the label is left of the bar, since there is no room to the right
}

type fold struct {
	X     float64
	Text  string // "" if there is no room for it
	Title string
}

type tick struct {
	X    float64
	Text string
}

const (
	lineWidth  = 760
	lineHigh   = 24
	lineTop    = 26
	mostBars   = 300
	foldWidth  = 34.0
	labelWidth = 220.0
	letterWide = 6.0 // of the texts above the bars, about
)

type span struct{ from, to time.Time }

// newTimeline places the steps that have started. Those in progress end now, or when the run was left.
func newTimeline(s *hocket.State, driven bool, now time.Time) *timeline {
	t := &timeline{Width: lineWidth}
	var bars []bar
	var spans, working []span
	latest := lastOf(s.Result.Steps)
	for i := range s.Result.Steps {
		step := &s.Result.Steps[i]
		if step.Started.IsZero() || step.Status == engine.Skipped {
			continue
		}
		if len(bars) == mostBars {
			t.More++
			continue
		}
		end, status := step.Ended, statusIn(step, driven)
		var since *time.Time
		switch {
		case !end.IsZero():
		case status == "interrupted":
			end = slices.MaxFunc([]time.Time{step.Started, s.Info.Changed}, time.Time.Compare)
		default:
			end, since = now, &step.Started
		}
		person := false
		if n := s.Bundle.At(hocket.PlaceOf(step.Address)); n != nil {
			_, person = n.Step.(*workflow.Human)
		}
		if !person { // waiting for a person is idle time, too
			working = append(working, span{step.Started, end})
		}
		bars = append(bars, bar{Label: step.Address, Address: step.Address, Link: linkTo(step.Address, latest[withoutIterations(step.Address)] != i), Status: status, Took: duration(end.Sub(step.Started)), Since: since})
		spans = append(spans, span{step.Started, end})
	}
	if len(bars) == 0 {
		return nil
	}
	if len(working) == 0 {
		working = spans
	}
	busy := union(working)
	last := busy[len(busy)-1].to
	worked := time.Duration(0)
	for _, b := range busy {
		worked += b.to.Sub(b.from)
	}
	idle := func(i int) time.Duration { return busy[i+1].from.Sub(busy[i].to) }
	folded := func(i int) bool { return idle(i) > max(worked/10, 100*time.Millisecond) }
	length, folds := worked, 1 // the end may be idle, too
	for i := range len(busy) - 1 {
		if folded(i) {
			folds++
		} else {
			length += idle(i)
		}
	}
	scale := max(100, lineWidth-labelWidth-float64(folds)*foldWidth) / float64(max(length, time.Millisecond))
	x := func(at time.Time) float64 {
		pos := 0.0
		for i, b := range busy {
			if !at.After(b.to) {
				return pos + float64(max(0, at.Sub(b.from)))*scale
			}
			pos += float64(b.to.Sub(b.from)) * scale
			if i == len(busy)-1 || folded(i) {
				pos += foldWidth
			} else {
				pos += float64(idle(i)) * scale
			}
		}
		return pos
	}
	for i := range bars {
		b := &bars[i]
		b.X, b.Y = x(spans[i].from), float64(lineTop+i*lineHigh)
		b.W = max(3, x(spans[i].to)-b.X)
		b.After = b.X+b.W > lineWidth-labelWidth+2 && b.X > labelWidth
		if b.T = b.X + b.W + 5; b.After {
			b.T = b.X - 5
		}
	}
	for i := range len(busy) - 1 {
		if folded(i) {
			t.Folds = append(t.Folds, fold{X: x(busy[i].to) + foldWidth/2, Title: duration(idle(i))})
		}
	}
	for _, s := range spans {
		if s.to.After(last) {
			t.Folds = append(t.Folds, fold{X: x(last) + foldWidth/2, Title: "idle"})
			break
		}
	}
	t.Ticks = []tick{{0, busy[0].from.Local().Format("15:04:05")}}
	t.label()
	t.Bars, t.Height = bars, lineTop+len(bars)*lineHigh+4
	return t
}

// label writes above the folds how long they are, where that does not cover what is left of it.
func (t *timeline) label() {
	free := 0.0
	for _, at := range t.Ticks {
		free = max(free, at.X+letterWide*float64(len(at.Text)))
	}
	for i := range t.Folds {
		f := &t.Folds[i]
		if half := letterWide * float64(utf8.RuneCountInString(f.Title)) / 2; f.X-half > free {
			f.Text, free = f.Title, f.X+half+letterWide
		}
	}
}

// union joins spans that touch.
func union(spans []span) []span {
	sorted := slices.Clone(spans)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].from.Before(sorted[j].from) })
	var all []span
	for _, s := range sorted {
		if n := len(all); n > 0 && !s.from.After(all[n-1].to) {
			if s.to.After(all[n-1].to) {
				all[n-1].to = s.to
			}
			continue
		}
		all = append(all, s)
	}
	return all
}
