package trace

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// message is a message of OTLP, for both of its encodings. A field that is not set is left out.
type message []field

// field is a field of a message. The type of the value decides how it is encoded: string, bool, int64, float64, enum,
// fixed32, fixed64, sfixed64, id, message or []message.
type field struct {
	number int
	name   string // in JSON
	value  any
}

type (
	enum     int32
	fixed32  uint32
	fixed64  uint64
	sfixed64 int64
	id       []byte // in hexadecimal in JSON
)

// The wire types of protobuf.
const (
	varint   = 0
	eight    = 1 // bytes
	counted  = 2 // a length, and that many bytes
	fourByte = 5
)

// appendProto appends a message in protobuf.
func appendProto(to []byte, m message) []byte {
	for _, f := range m {
		if list, ok := f.value.([]message); ok {
			for _, one := range list {
				to = appendField(to, f.number, one)
			}
			continue
		}
		to = appendField(to, f.number, f.value)
	}
	return to
}

func appendField(to []byte, number int, value any) []byte {
	tag := func(kind int) { to = binary.AppendUvarint(to, uint64(number)<<3|uint64(kind)) }
	switch v := value.(type) {
	case string:
		tag(counted)
		return append(binary.AppendUvarint(to, uint64(len(v))), v...)
	case id:
		tag(counted)
		return append(binary.AppendUvarint(to, uint64(len(v))), v...)
	case message:
		inner := appendProto(nil, v)
		tag(counted)
		return append(binary.AppendUvarint(to, uint64(len(inner))), inner...)
	case bool:
		tag(varint)
		if v {
			return append(to, 1)
		}
		return append(to, 0)
	case int64:
		tag(varint)
		return binary.AppendUvarint(to, uint64(v))
	case enum:
		tag(varint)
		return binary.AppendUvarint(to, uint64(v))
	case fixed32:
		tag(fourByte)
		return binary.LittleEndian.AppendUint32(to, uint32(v))
	case fixed64:
		tag(eight)
		return binary.LittleEndian.AppendUint64(to, uint64(v))
	case sfixed64:
		tag(eight)
		return binary.LittleEndian.AppendUint64(to, uint64(v))
	case float64:
		tag(eight)
		return binary.LittleEndian.AppendUint64(to, math.Float64bits(v))
	}
	panic("trace: a field cannot be encoded")
}

// appendJSON appends a message in the JSON of OTLP: numbers of 64 bits are strings, and ids are hexadecimal.
func appendJSON(to []byte, m message) []byte {
	to = append(to, '{')
	for i, f := range m {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(strconv.AppendQuote(to, f.name), ':')
		to = appendValue(to, f.value)
	}
	return append(to, '}')
}

func appendValue(to []byte, value any) []byte {
	switch v := value.(type) {
	case []message:
		to = append(to, '[')
		for i, one := range v {
			if i > 0 {
				to = append(to, ',')
			}
			to = appendJSON(to, one)
		}
		return append(to, ']')
	case message:
		return appendJSON(to, v)
	case string:
		text, _ := json.Marshal(v) // a string can always be encoded
		return append(to, text...)
	case id:
		return strconv.AppendQuote(to, hex.EncodeToString(v))
	case bool:
		return strconv.AppendBool(to, v)
	case int64:
		return strconv.AppendQuote(to, strconv.FormatInt(v, 10))
	case sfixed64:
		return strconv.AppendQuote(to, strconv.FormatInt(int64(v), 10))
	case fixed64:
		return strconv.AppendQuote(to, strconv.FormatUint(uint64(v), 10))
	case fixed32:
		return strconv.AppendUint(to, uint64(v), 10)
	case enum:
		return strconv.AppendInt(to, int64(v), 10)
	case float64:
		switch {
		case math.IsNaN(v):
			return append(to, `"NaN"`...)
		case math.IsInf(v, 1):
			return append(to, `"Infinity"`...)
		case math.IsInf(v, -1):
			return append(to, `"-Infinity"`...)
		}
		return strconv.AppendFloat(to, v, 'g', -1, 64)
	}
	panic("trace: a value cannot be encoded")
}

var errProto = errors.New("invalid protobuf")

// rejection is what a collector says about a request that it has accepted only in part.
type rejection struct {
	count   int64
	message string
}

// readRejection reads an ExportTraceServiceResponse or an ExportMetricsServiceResponse in protobuf.
func readRejection(data []byte) (r rejection, err error) {
	err = readFields(data, func(number int, _ uint64, inner []byte) error {
		if number != 1 {
			return nil
		}
		return readFields(inner, func(number int, n uint64, text []byte) error {
			switch number {
			case 1:
				r.count = int64(n)
			case 2:
				r.message = string(text)
			}
			return nil
		})
	})
	return r, err
}

// readFields calls see for each field of a message, with its number or its bytes.
func readFields(data []byte, see func(number int, n uint64, text []byte) error) error {
	next := func() (n uint64, ok bool) {
		n, size := binary.Uvarint(data)
		if size <= 0 {
			return 0, false
		}
		data = data[size:]
		return n, true
	}
	for len(data) > 0 {
		tag, ok := next()
		if !ok || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
			return errProto
		}
		var n uint64
		var text []byte
		switch tag & 7 {
		case varint:
			n, ok = next()
		case eight, fourByte:
			size := 8
			if tag&7 == fourByte {
				size = 4
			}
			if ok = len(data) >= size; ok {
				data = data[size:]
			}
		case counted:
			size, read := next()
			if ok = read && size <= uint64(len(data)); ok {
				text, data = data[:size], data[size:]
			}
		default:
			ok = false
		}
		if !ok {
			return errProto
		}
		if err := see(int(tag>>3), n, text); err != nil {
			return err
		}
	}
	return nil
}

// readRejectionJSON reads the same in JSON.
func readRejectionJSON(data []byte) (r rejection, err error) {
	var response struct {
		PartialSuccess struct {
			RejectedSpans      json.RawMessage `json:"rejectedSpans"`
			RejectedDataPoints json.RawMessage `json:"rejectedDataPoints"`
			ErrorMessage       string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if len(data) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(data, &response); err != nil {
		return r, err
	}
	p := response.PartialSuccess
	r.message = p.ErrorMessage
	for _, text := range []string{string(p.RejectedSpans), string(p.RejectedDataPoints)} {
		if plain, err := strconv.Unquote(text); err == nil { // a number of 64 bits may be a string
			text = plain
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			r.count += n
		}
	}
	return r, nil
}
