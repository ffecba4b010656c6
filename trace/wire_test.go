package trace

import (
	"testing"

	collectortrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// What a collector answers may be anything. What the official types can read is read alike.
func FuzzRejection(f *testing.F) {
	valid, err := proto.Marshal(&collectortrace.ExportTraceServiceResponse{PartialSuccess: &collectortrace.ExportTracePartialSuccess{RejectedSpans: 5, ErrorMessage: "why"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(valid)
	f.Add([]byte(`{"partialSuccess":{"rejectedSpans":"2","errorMessage":"x"}}`))
	f.Add([]byte("\x0a\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = readRejectionJSON(data) // it must not panic
		got, err := readRejection(data)
		var want collectortrace.ExportTraceServiceResponse
		if proto.Unmarshal(data, &want) != nil {
			return
		}
		if hasGroups(data) { // which nobody sends
			return
		}
		p := want.GetPartialSuccess()
		if err != nil || got.count != p.GetRejectedSpans() && len(p.ProtoReflect().GetUnknown()) == 0 && len(want.ProtoReflect().GetUnknown()) == 0 {
			t.Errorf("%x: %+v, %v, want %d %q", data, got, err, p.GetRejectedSpans(), p.GetErrorMessage())
		}
	})
}

func hasGroups(data []byte) bool {
	for len(data) > 0 {
		_, _, n := protowire.ConsumeField(data)
		if n < 0 {
			return true
		}
		_, kind, tag := protowire.ConsumeTag(data)
		if kind == protowire.StartGroupType || kind == protowire.EndGroupType {
			return true
		}
		if kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(data[tag:])
			if len(inner) > 0 && hasGroups(inner) {
				return true
			}
		}
		data = data[n:]
	}
	return false
}
