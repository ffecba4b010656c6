package engine

import (
	"strings"
	"testing"
)

func TestBrief(t *testing.T) {
	full := strings.Repeat("a", 80)
	for text, want := range map[string]string{"": "“”", full: "“" + full + "”", full + "b": "“" + full + "…”", full[1:] + "é": "“" + full[1:] + "…”"} {
		if got := brief(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestCancelText(t *testing.T) {
	for ev, want := range map[CancelAsked]string{
		{}: "cancelled", {By: "ann"}: "cancelled by ann", {Reason: "too slow"}: "cancelled: too slow", {By: "ann", Reason: "too slow"}: "cancelled by ann: too slow",
	} {
		if got := cancelText(&ev); got != want {
			t.Errorf("%+v gives %q, want %q", ev, got, want)
		}
	}
}
