package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hocket-dev/hocket/engine"
)

// For every event, the fast decoder either agrees with the engine's or falls back to it.
func TestDecodeAgreesWithTheEngine(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-z0-9#/\[\]-]{0,12}`), rapid.String())
	quick := 0
	rapid.Check(t, func(t *rapid.T) {
		ev := &engine.TaskEnded{
			Address: strings.ToValidUTF8(text.Draw(t, "address"), ""),
			Attempt: rapid.IntRange(0, 1<<40).Draw(t, "attempt"),
			Output:  strings.ToValidUTF8(text.Draw(t, "output"), ""),
		}
		if rapid.IntRange(0, 4).Draw(t, "more") == 0 {
			ev.Fault = &engine.Fault{Kind: engine.FaultError, Message: text.Draw(t, "message")}
			ev.Usage.TokensIn = 3
		}
		e := engine.Envelope{
			Time:       time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
			Clock:      time.Duration(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64()).Draw(t, "clock")),
			Unattended: rapid.IntRange(0, 9).Draw(t, "unattended") == 0,
			Event:      ev,
		}
		data, err := engine.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		want, err := engine.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		var d decoder
		got, err := d.decode(string(data))
		if err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%s: %v\n%s", data, err, cmp.Diff(want, got))
		}
		if d.taskEnded(string(data), &engine.Envelope{}) {
			quick++
		}
	})
	if quick == 0 {
		t.Error("the short way was never taken")
	}
}

func TestDecodeTimes(t *testing.T) {
	var d decoder
	read := 0
	for _, stamp := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:59.123456789Z", "2026-01-02T03:05:00.000000001Z",
		"2026-01-02T03:04:05Z", "2024-02-29T23:59:59.999Z", "2025-02-29T23:59:59Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05.1234567891Z", "2026-01-02T03:04:5Z", "2026-01-02T03:04:0x.1Z", "2026-01-02T03:04:05,1Z", "2026-01-02T03:04:05.1.2Z",
		"2026-01-02T03:04:05.1+00:00Z", "2026-01-02T03:04Z", "2026-01-02T03:04:Z", "2026-01-02 03:04:05Z", "2026-01-02T3:04:05.1Z", "2026-01-02T03:04:05.19", "Z", "",
	} {
		got, ok := d.time(stamp)
		if !ok {
			continue
		}
		read++
		if want, err := time.Parse(time.RFC3339Nano, stamp); err != nil || got != want {
			t.Errorf("%s was read as %s, want %s, %v", stamp, got, want, err)
		}
	}
	if read != 6 {
		t.Errorf("%d times were read, want 6", read)
	}
}

func TestDecodeLeavesTheRestToTheEngine(t *testing.T) {
	const whole = `{"type":"TaskEnded","time":"2026-01-02T03:04:05Z","clock":77,"address":"a","attempt":1,"output":"ok"}`
	var d decoder
	if !d.taskEnded(whole, &engine.Envelope{}) {
		t.Fatal("the commonest event is not read the short way")
	}
	if short := strings.Replace(whole, `,"output":"ok"`, "", 1); !d.taskEnded(short, &engine.Envelope{}) {
		t.Error("an event without output is not read the short way")
	}
	for i := range whole {
		if d.taskEnded(whole[:i], &engine.Envelope{}) {
			t.Errorf("%q was read", whole[:i])
		}
	}
	for _, line := range []string{
		strings.Replace(whole, "Z", "+01:00", 1), strings.Replace(whole, "1", "x", 1), whole + " ", whole + "}",
		strings.Replace(whole, `"ok"`, `"a\nb"`, 1), strings.Replace(whole, `"ok"`, `"\n"`, 1), strings.Replace(whole, `"a"`, `"\n"`, 1),
		strings.Replace(whole, `"a"`, `5`, 1), strings.Replace(whole, `"a"`, ``, 1), strings.Replace(whole, `"a"`, `a"`, 1),
		strings.Replace(whole, `,"attempt":1`, ``, 1), strings.Replace(whole, `:1,"output":"ok"`, `:`, 1), strings.Replace(whole, `:77,`, `:,`, 1),
		strings.Replace(whole, `:1,"output":"ok"`, `:99999999999999999999`, 1), strings.Replace(whole, `,"clock":77`, `7`, 1),
		strings.Replace(whole, `,"address":`, `,"adress":`, 1), strings.Replace(whole, `,"attempt":1`, `,"attempt":1,"attempt":1`, 1),
		strings.Replace(whole, `"ok"`, `"ok","usage":{"tokens_in":1}`, 1),
		strings.Replace(whole, "TaskEnded", "TimerFired", 1), strings.Replace(whole, `:1,`, `:1.5,`, 1),
		strings.Replace(whole, `:77,`, `:7.7,`, 1), strings.Replace(whole, `"clock"`, `"unattended":true,"clock"`, 1),
	} {
		if d.taskEnded(line, &engine.Envelope{}) {
			t.Errorf("%q was read", line)
		}
	}
}
