package project

import (
	"strings"
	"time"
	_ "time/tzdata" // so that zones are known on every machine

	cron "github.com/netresearch/go-cron"
)

// Schedule fires at local times of a zone.
type Schedule struct {
	Cron string
	Zone string // "": that of this machine
	// Missed says what happens to times that passed while nothing served the trigger.
	Missed Missed

	zone  *time.Location
	local cron.Schedule // of wall clock times, see Next
}

// Missed says what happens to times that were missed.
type Missed string

// What can happen to them.
const (
	MissedOnce Missed = "once" // the last one fires
	MissedSkip Missed = "skip"
	MissedAll  Missed = "all"
)

// cronParser reads five fields, or a word such as @daily. As usual, a day that is limited both in the month
// and in the week matches if either does.
var cronParser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)

// parseSchedule parses an expression for a zone. The text says what is wrong, "" if nothing is.
func parseSchedule(text string, zone *time.Location) (s Schedule, wrong, hint string) {
	const example = "write five fields such as \"30 3 * * 1-5\": minute, hour, day of the month, month, day of the week"
	s = Schedule{Cron: text, zone: zone}
	word := strings.TrimSpace(text)
	switch {
	case strings.Contains(text, "="):
		return s, "a zone does not belong in the schedule", "set `zone`"
	case strings.HasPrefix(word, "@every"):
		return s, "@every is not supported", "write times, such as \"*/10 * * * *\" for every ten minutes"
	}
	local, err := cronParser.Parse(word)
	if err != nil {
		return s, err.Error(), example
	}
	if s.local = local; s.Next(time.Now()).IsZero() {
		return s, "it never fires", "use a day that exists"
	}
	return s, "", ""
}

// Next returns the first time after another at which the schedule fires, zero if there is none.
//
// It looks for the next local time as if clocks were never changed, and then for the instant at which the clock
// shows it. A local time that is skipped in spring becomes the instant after the gap, where several of them are one.
// A local time that comes twice in autumn is its first instant.
func (s *Schedule) Next(after time.Time) time.Time {
	wall := clock(after.In(s.zone))
	for {
		if wall = s.local.Next(wall); wall.IsZero() {
			return time.Time{}
		}
		// In the repeated hour, the first instants of the local times to come have passed.
		if at := instant(wall, s.zone); at.After(after) {
			return at
		}
	}
}

// In returns a time as clocks of the schedule show it.
func (s *Schedule) In(t time.Time) time.Time { return t.In(s.zone) }

// clock returns what a clock shows, as a time in UTC.
func clock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant returns the first time at which clocks of a zone show a local time, or the end of the gap that it is in.
func instant(wall time.Time, zone *time.Location) time.Time {
	// Date chooses one of two periods if a change of the clocks is near, so look at those next to it, too.
	near := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := near.ZoneBounds()
	var first time.Time
	for _, near := range []time.Time{start.Add(-time.Second), near, end} { // with the zero time, which is harmless
		_, offset := near.In(zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if clock(at).Equal(wall) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		return first
	}
	for _, change := range []time.Time{start, end} {
		if !change.IsZero() && clock(change.Add(-time.Second)).Before(wall) && clock(change).After(wall) {
			return change
		}
	}
	return near
}
