package trace

import (
	"strings"
	"time"
)

// traces returns the request that exports spans.
func (c *Config) traces(spans []Span) message {
	list := make([]message, len(spans))
	for i := range spans {
		list[i] = c.spanMessage(&spans[i])
	}
	return message{{1, "resourceSpans", []message{{
		{1, "resource", c.resource()},
		{2, "scopeSpans", []message{{
			{1, "scope", c.scope()},
			{2, "spans", list},
			{3, "schemaUrl", SchemaURL},
		}}},
		{3, "schemaUrl", SchemaURL},
	}}}}
}

// scope names the program that made the spans.
func (c *Config) scope() message {
	m := message{{1, "name", "github.com/hocket-dev/hocket"}}
	if c.Version != "" {
		m = append(m, field{2, "version", c.Version})
	}
	return m
}

// resource describes what the spans are of: this program in this process.
func (c *Config) resource() message { return message{{1, "attributes", c.attributes(c.Resource)}} }

// The numbers of OTLP.
const (
	kindInternal = enum(1)
	kindClient   = enum(3)
	statusError  = enum(2)
	flagsSampled = fixed32(1)
	isDelta      = enum(1)
	isCumulative = enum(2)
	flagsLocal   = fixed32(0x100) // it is known whether the parent is in another process
)

func (c *Config) spanMessage(s *Span) message {
	m := message{{1, "traceId", id(s.Trace[:])}, {2, "spanId", id(s.ID[:])}}
	if s.Parent != (SpanID{}) {
		m = append(m, field{4, "parentSpanId", id(s.Parent[:])})
	}
	kind := kindInternal
	if s.Operation == Chat {
		kind = kindClient
	}
	m = append(m, field{5, "name", clean(s.Name)}, field{6, "kind", kind}, field{7, "startTimeUnixNano", nanos(s.Start)}, field{8, "endTimeUnixNano", nanos(s.End)},
		field{9, "attributes", c.attributes(s.Attributes)})
	if len(s.Events) > 0 {
		list := make([]message, len(s.Events))
		for i, e := range s.Events {
			list[i] = message{{1, "timeUnixNano", nanos(e.Time)}, {2, "name", e.Name}, {3, "attributes", c.attributes(e.Attributes)}}
		}
		m = append(m, field{11, "events", list})
	}
	if len(s.Links) > 0 {
		list := make([]message, len(s.Links))
		for i, l := range s.Links {
			list[i] = message{{1, "traceId", id(l.Trace[:])}, {2, "spanId", id(l.Span[:])}, {4, "attributes", c.attributes([]Attribute{{"hocket.link", l.Why}})}}
		}
		m = append(m, field{13, "links", list})
	}
	if s.Error != "" {
		status := message{{3, "code", statusError}}
		if s.Message != "" {
			status = append(message{{2, "message", c.limit(s.Message)}}, status...)
		}
		m = append(m, field{15, "status", status})
	}
	return append(m, field{16, "flags", flagsSampled | flagsLocal})
}

func nanos(t time.Time) fixed64 {
	if t.IsZero() || t.UnixNano() < 0 {
		return 0
	}
	return fixed64(t.UnixNano())
}

// clean makes a text valid: protobuf has no other ones.
func clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// limit cuts the value of an attribute to the length that the user wants.
func (c *Config) limit(text string) string {
	text = clean(text)
	if c.MaxValue <= 0 || len(text) <= c.MaxValue { // a text has at most as many characters as bytes
		return text
	}
	if r := []rune(text); len(r) > c.MaxValue {
		return string(r[:c.MaxValue])
	}
	return text
}

func (c *Config) attributes(list []Attribute) []message {
	all := make([]message, len(list))
	for i, a := range list {
		all[i] = message{{1, "key", clean(a.Key)}, {2, "value", c.value(a.Value)}}
	}
	return all
}

func (c *Config) value(value any) message {
	switch v := value.(type) {
	case bool:
		return message{{2, "boolValue", v}}
	case int64:
		return message{{3, "intValue", v}}
	case float64:
		return message{{4, "doubleValue", v}}
	case []string:
		list := make([]message, len(v))
		for i, text := range v {
			list[i] = c.value(text)
		}
		return message{{5, "arrayValue", message{{1, "values", list}}}}
	case string:
		return message{{1, "stringValue", c.limit(v)}}
	}
	panic("trace: an attribute cannot be encoded")
}
