package project

import (
	"testing"
	"time"
)

// The clocks of three zones change, one of them by half an hour. A local time that is skipped fires at the end of the
// gap, once, and one that comes twice fires the first time.
func TestClocksChange(t *testing.T) {
	for _, test := range []struct {
		zone, cron, after string
		want              []string
	}{
		// 2026-03-29: from 02:00 to 03:00, at 01:00 UTC.
		{"Europe/Berlin", "30 2 * * *", "2026-03-28T00:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		{"Europe/Berlin", "*/20 2 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		{"Europe/Berlin", "0 3 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"}},
		{"Europe/Berlin", "30 2,3 * * *", "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
		// 2026-10-25: from 03:00 back to 02:00, at 01:00 UTC.
		{"Europe/Berlin", "30 2 * * *", "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25T00:45:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25T01:15:00Z", []string{"2026-10-26T01:30:00Z"}},
		{"Europe/Berlin", "0 * * * *", "2026-10-24T23:30:00Z", []string{"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"}},
		// 2026-03-08, 02:00 to 03:00, and 2026-11-01, 02:00 back to 01:00.
		{"America/New_York", "15 2 * * *", "2026-03-07T12:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:15:00Z"}},
		{"America/New_York", "15 1 * * *", "2026-10-31T12:00:00Z", []string{"2026-11-01T05:15:00Z", "2026-11-02T06:15:00Z"}},
		// 2026-10-04, 02:00 to 02:30, and 2026-04-05, 02:00 back to 01:30.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"Australia/Lord_Howe", "30 2 * * *", "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:30:00Z"}},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00:00Z", []string{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		// A whole day that did not exist.
		{"Pacific/Apia", "0 12 30 12 *", "2011-12-29T00:00:00Z", []string{"2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"}},
		{"UTC", "0 0 13 * 5", "2026-11-12T12:00:00Z", []string{"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}}, // either day
	} {
		t.Run(test.zone+" "+test.cron, func(t *testing.T) {
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			s, wrong, _ := parseSchedule(test.cron, zone)
			if wrong != "" {
				t.Fatal(wrong)
			}
			at, err := time.Parse(time.RFC3339, test.after)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if at = s.Next(at); at.UTC().Format(time.RFC3339) != want {
					t.Fatalf("fires at %s, want %s", at.UTC().Format(time.RFC3339), want)
				}
			}
		})
	}
}

// Through a year with both changes, every local time of a schedule fires exactly once.
func TestEveryLocalTimeFiresOnce(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		s, _, _ := parseSchedule("*/15 * * * *", zone)
		at, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		seen := map[string]bool{}
		for at = s.Next(at); at.Before(end); {
			local := at.In(zone).Format("2006-01-02 15:04")
			if seen[local] {
				t.Fatalf("%s: %s fires twice", name, local)
			}
			seen[local] = true
			next := s.Next(at)
			if !next.After(at) || next.Sub(at) > 75*time.Minute {
				t.Fatalf("%s: after %s comes %s", name, at, next)
			}
			at = next
		}
	}
}

func TestInvalidSchedules(t *testing.T) {
	for _, text := range []string{"", "* * * *", "* * * * * *", "61 * * * *", "0 0 30 2 *", "@every 5m", "@reboot", "TZ=UTC 0 0 * * *", "CRON_TZ=UTC 0 0 * * *", "H * * * *", "x"} {
		if _, wrong, hint := parseSchedule(text, time.UTC); wrong == "" || hint == "" {
			t.Errorf("%q is accepted: %q, %q", text, wrong, hint)
		}
	}
	for _, text := range []string{"@daily", "@hourly", "0 9 * * mon-fri", "*/5 * * * *", "0 0 29 2 *"} {
		if _, wrong, _ := parseSchedule(text, time.UTC); wrong != "" {
			t.Errorf("%q: %s", text, wrong)
		}
	}
}
