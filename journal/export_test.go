package journal

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is empty after a power failure does not stop the export of its run. What nobody knows to be exported is not exported twice.
func TestClaimAfterPowerFailure(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	claim := func(after, through, want int, wantMine bool) {
		t.Helper()
		if claimed, mine, err := s.ClaimExport("demo-1", after, through); claimed != want || mine != wantMine || err != nil {
			t.Errorf("%d, %t, %v", claimed, mine, err)
		}
	}
	claim(0, 5, 5, true)
	claim(0, 9, 5, false)
	if err := os.WriteFile(filepath.Join(s.runFiles("demo-1"), "exported"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	claim(0, 0, 0, false)
	claim(0, 7, 7, false)
	claim(7, 9, 9, true)
}
