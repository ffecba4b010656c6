package handoff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/handoff"
)

// BenchmarkBatch sends a batch of 1,000 sessions with scripted agents and carries them out,
// directories included.
func BenchmarkBatch(b *testing.B) {
	const sessions = 1000
	for range b.N {
		b.StopTimer()
		p, err := hocket.Open(b.TempDir(), hocket.Options{State: b.TempDir(), Agents: map[string]agent.Executor{"worker": agent.Func(nil)}})
		if err != nil {
			b.Fatal(err)
		}
		replies, found := hocket.ReadReplies("replies.yml", []byte("handoff: all is fine\n"))
		if found.Errors() {
			b.Fatal(found)
		}
		s := handoff.Open(p, func(err error) { b.Error(err) })
		b.StartTimer()
		if _, err := s.Send(b.Context(), handoff.Order{File: "batch.md", Text: []byte(batch(0, sessions)), Replies: replies}); err != nil {
			b.Fatal(err)
		}
		if err := s.Drive(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		for id := range sessions {
			if one, err := s.Find(b.Context(), fmt.Sprintf("s%04d", id)); err != nil || one.Status != handoff.Completed {
				b.Fatalf("%+v, %v", one, err)
			}
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(sessions*b.N)/b.Elapsed().Seconds(), "sessions/s")
}

// BenchmarkList lists the sessions of a project that has 10,000: the most recent ones, and all of
// them.
func BenchmarkList(b *testing.B) {
	const sessions = 10_000
	p, err := hocket.Open(b.TempDir(), hocket.Options{State: b.TempDir(), Agents: map[string]agent.Executor{"worker": agent.Func(nil)}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	replies, _ := hocket.ReadReplies("replies.yml", []byte("handoff: all is fine\n"))
	s := handoff.Open(p, func(err error) { b.Error(err) })
	for first := 0; first < sessions; first += 1000 {
		if _, err := s.Send(b.Context(), handoff.Order{File: "batch.md", Text: []byte(batch(first, 1000)), Replies: replies}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Drive(b.Context()); err != nil {
		b.Fatal(err)
	}
	for name, limit := range map[string]int{"latest": 20, "all": 0} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if all, err := s.List(b.Context(), limit); err != nil || limit == 0 && len(all) != sessions {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}

// batch returns a text with n numbered requests.
func batch(first, n int) string {
	var t strings.Builder
	for i := first; i < first+n; i++ {
		fmt.Fprintf(&t, "```xml\n%s\n```\n\n", request(fmt.Sprintf(`session_id="s%04d" target_agent="worker"`, i), ""))
	}
	return t.String()
}

// request returns a request with the given attributes and constraints.
func request(attributes, constraints string) string {
	if constraints == "" {
		constraints = "<constraint>Be kind</constraint>"
	}
	return `<agent_request version="1.0" ` + attributes + `>
  <mode>spawn</mode>
  <original_intent>Know that everything works</original_intent>
  <current_task_summary>Look at the service</current_task_summary>
  <workflow>standard</workflow>
  <task_details>Look at it.</task_details>
  <constraints>` + constraints + `</constraints>
  <deliverables><report>what you found</report></deliverables>
</agent_request>`
}
