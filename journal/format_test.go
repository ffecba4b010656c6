package journal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/driver"
)

// What these tests compare with is in files that users have. It must not change.

func TestFormatOfChecksums(t *testing.T) {
	for _, c := range []struct {
		run          int64
		seq          int
		data, places string
		want         uint32
	}{
		{1, 2, `{"type":"Started"}`, "", 206195457},
		{1, 2, `{"type":"Started"}`, `[{"at":3,"hash":"00"}]`, 1772404489},
		{2, 1, `{"type":"Started"}`, "", 4188298083},
		{0, 0, "", "", 1114675946},
	} {
		if got := checksum(c.run, c.seq, c.data, c.places); got != c.want {
			t.Errorf("the checksum of %+v is %d", c, got)
		}
	}
}

func TestFormatOfRecords(t *testing.T) {
	id := driver.AttemptID{Run: "run-1", Address: "scan[3]", Attempt: 0x10203}
	got := hex.EncodeToString(header{kind: inTranscript, at: 0x1020304050607, id: id}.record([]byte("text")))
	if want := "b77407000302010007060504030201000700000004000000e119532ff50346e97363616e5b335d74657874"; got != want {
		t.Errorf("the record is %s, want %s", got, want)
	}
	for n, want := range map[int64]uint16{0: 0, 7: 7, 0xffff: 0xffff, 0x10000: 1, 0x12345: 0x2344} {
		if fold(n) != want {
			t.Errorf("the length %#x is folded to %#x, want %#x", n, fold(n), want)
		}
	}
}

// writeRecords writes a file of records for the log of run-1, and returns a store that reads it.
func writeRecords(t *testing.T, records ...[]byte) *Store {
	t.Helper()
	s := openStore(t, t.TempDir())
	createRun(t, s, "run-1").Close()
	var all []byte
	for _, r := range records {
		all = append(all, r...)
	}
	dir := s.runFiles("run-1")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "streams.1"), all, 0o600)); err != nil {
		t.Fatal(err)
	}
	return s
}

// The first records did not have the folded length of the address.
func TestOldestRecords(t *testing.T) {
	record := header{kind: inOutput, id: attempt("work")}.record([]byte("printed"))
	clear(record[2:4])
	binary.LittleEndian.PutUint32(record[headerSize-4:], headerSum(record[:headerSize-4], "work"))
	if got := streamText(t, writeRecords(t, record), attempt("work"), driver.Output, 0); got != "printed" {
		t.Errorf("%q", got)
	}
}

// A record of a value that has no room for the value is damage.
func TestValueWithoutRoom(t *testing.T) {
	good := header{kind: inTranscript, id: attempt("work")}.record([]byte("text"))
	bad := header{kind: inValue, id: attempt("work")}.record(make([]byte, valueSize-1))
	s := writeRecords(t, good, bad)
	var damaged *driver.DamagedLogError
	if _, err := collect(s.Stream(t.Context(), attempt("work"), driver.Output, 0)); !errors.As(err, &damaged) || damaged.At != int64(len(good)) {
		t.Errorf("the error is %v", err)
	}
}

// A long string that begins or ends a text is taken out and put back, and only long ones are.
func TestTakeOutExactly(t *testing.T) {
	s := openStore(t, t.TempDir())
	long := strings.Repeat("x", MaxInline-1) // with its quotes, one byte too long
	for _, c := range []struct {
		text, left string
		places     []int
	}{
		{`"` + long + `"`, `""`, list(0)},
		{`["` + long[1:] + `"]`, `["` + long[1:] + `"]`, nil},
		{`["","` + long + `"]`, `["",""]`, list(4)},
		{`["` + long + `","` + long + `"]`, `["",""]`, list(1, 4)},
		{`["` + long + `","short",{"short":""}]`, `["","short",{"short":""}]`, list(1)},
		{`["\\","\"","` + long + `\""]`, `["\\","\"",""]`, list(11)},
		{`{"` + long + `":"` + long + `"}`, `{"` + long + `":""}`, list(len(long) + 4)},
		{`["short"]`, `["short"]`, nil},
	} {
		r, err := takeOut(c.text)
		if err != nil || r.data != c.left || len(r.blobs) != len(c.places) {
			t.Fatalf("of %.20s… %.20s… is left, with %d strings taken out, %v", c.text, r.data, len(r.blobs), err)
		}
		for i, b := range r.blobs {
			if b.at != c.places[i] {
				t.Errorf("of %.20s… a string was taken out at %d, want %d", c.text, b.at, c.places[i])
			}
			if _, err := s.write.Exec("INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING", b.hash, b.text); err != nil {
				t.Fatal(err)
			}
		}
		if r.blobs != nil {
			if back, err := s.putBack(t.Context(), r.data, r.places()); err != nil || back != c.text {
				t.Errorf("%.20s… came back as %.20s…, %v", c.text, back, err)
			}
		}
	}
	if _, err := takeOut("\"" + strings.Repeat("\n", MaxInline) + "\""); err == nil {
		t.Error("a string that is not JSON was taken out")
	}
	for text, want := range map[string]int{`""`: 2, `"a"b`: 3, `"\""`: 4, `"\\"`: 4, `"ab`: 3, `"\`: 2} {
		if got := stringEnd(text, 0); got != want {
			t.Errorf("%s ends at %d, want %d", text, got, want)
		}
	}
}

func TestFileNamesOfEveryByte(t *testing.T) {
	const kept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_[]."
	for c := range 256 {
		name := "x" + string([]byte{byte(c)})
		want := name
		if !strings.Contains(kept, name[1:]) {
			want = "x%" + strings.ToUpper(hex.EncodeToString([]byte{byte(c)}))
		}
		if got, _, _ := strings.Cut(fileNameOf(name), "~"); got != want {
			t.Errorf("%q is in the file %q, want %q", name, got, want)
		}
	}
}

func TestSizeOfParts(t *testing.T) {
	for tail, want := range map[int64]int64{0: 1, 5: 1, 9: 1, 18: 2, 90: 10} {
		if got := (logLimits{tail: tail}).part(); got != want {
			t.Errorf("for %d bytes a part has %d, want %d", tail, got, want)
		}
	}
}
