package trace

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Config says what is exported, and where to.
type Config struct {
	Traces, Metrics Target
	Resource        []Attribute
	Version         string  // of this program
	Texts           bool    // export prompts, outputs and arguments, too
	MaxValue        int     // characters of the value of an attribute; zero: any number
	Share           float64 // of the traces that are exported, from 0 to 1
	Delta           bool    // figures are what was added since the last export, otherwise since the process began
	// Problems are what is wrong in the environment, as sentences. Nothing is exported to a target with a problem.
	Problems []string
}

// Target is where something is sent to.
type Target struct {
	URL     string // "": it is not sent
	JSON    bool   // otherwise protobuf
	Gzip    bool
	Headers map[string]string
	Timeout time.Duration // of a request
	TLS     *tls.Config   // nil: the default
}

// On reports whether anything is exported.
func (c *Config) On() bool { return c.Traces.URL != "" || c.Metrics.URL != "" }

// Sampled reports whether the trace of a run is exported. All processes decide alike.
func (c *Config) Sampled(run string) bool {
	trace := Of(run)
	low := binary.BigEndian.Uint64(trace[8:]) >> 1
	return c.Traces.URL != "" && (c.Share >= 1 || float64(low) < c.Share*math.MaxInt64)
}

const defaultTimeout = 10 * time.Second

// FromEnv reads the variables of OpenTelemetry. Nothing is exported unless one of them says where to.
func FromEnv(getenv func(name string) string) *Config {
	c := &Config{Share: 1}
	e := &environ{getenv, c}
	c.Resource = e.resource()
	c.Texts = e.isTrue("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
	c.MaxValue = e.number("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
	c.Share = e.share()
	switch strings.ToLower(getenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")) {
	case "delta", "lowmemory":
		c.Delta = true
	}
	if e.isTrue("OTEL_SDK_DISABLED") {
		return c
	}
	c.Traces, c.Metrics = e.target("TRACES"), e.target("METRICS")
	return c
}

// To returns the same for the endpoint of a project. The headers and certificates of the environment are
// not for it.
func (c *Config) To(endpoint string, json bool, headers map[string]string) *Config {
	to := *c
	base := strings.TrimSuffix(endpoint, "/")
	to.Traces = Target{URL: base + "/v1/traces", JSON: json, Headers: headers, Timeout: defaultTimeout, Gzip: true}
	to.Metrics = to.Traces
	to.Metrics.URL = base + "/v1/metrics"
	return &to
}

// environ reads variables.
type environ struct {
	getenv func(string) string
	c      *Config
}

func (e *environ) wrong(format string, args ...any) {
	e.c.Problems = append(e.c.Problems, fmt.Sprintf(format, args...))
}

func (e *environ) isTrue(name string) bool {
	return strings.EqualFold(strings.TrimSpace(e.getenv(name)), "true")
}

func (e *environ) number(name string) int {
	text := strings.TrimSpace(e.getenv(name))
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		e.wrong("invalid %s %q: want a whole number", name, text)
		return 0
	}
	return n
}

// share reads how many traces are exported. A run has no parent, so what depends on one is the same as without.
func (e *environ) share() float64 {
	name := strings.TrimPrefix(e.getenv("OTEL_TRACES_SAMPLER"), "parentbased_")
	switch name {
	case "", "always_on":
		return 1
	case "always_off":
		return 0
	case "traceidratio":
		text := cmp.Or(strings.TrimSpace(e.getenv("OTEL_TRACES_SAMPLER_ARG")), "1")
		share, err := strconv.ParseFloat(text, 64)
		if err == nil && share >= 0 && share <= 1 {
			return share
		}
		e.wrong("invalid OTEL_TRACES_SAMPLER_ARG %q: want a number from 0 to 1", text)
		return 1
	}
	e.wrong("unsupported OTEL_TRACES_SAMPLER %q: want always_on, always_off or traceidratio", name)
	return 1
}

// option returns a variable of the exporter: that of the signal, or that of all signals.
func (e *environ) option(signal, name string) (value, variable string) {
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + name, "OTEL_EXPORTER_OTLP_" + name} {
		if value := strings.TrimSpace(e.getenv(variable)); value != "" {
			return value, variable
		}
	}
	return "", ""
}

// target reads where the spans or figures are sent to.
func (e *environ) target(signal string) Target {
	exporter := "OTEL_" + signal + "_EXPORTER"
	if with := cmp.Or(e.getenv(exporter), "otlp"); with == "none" {
		return Target{}
	} else if !slices.Contains(strings.Split(with, ","), "otlp") {
		if _, variable := e.option(signal, "ENDPOINT"); variable != "" {
			e.wrong("unsupported %s %q: want otlp or none", exporter, with)
		}
		return Target{}
	}
	endpoint, variable := e.option(signal, "ENDPOINT")
	if endpoint == "" {
		return Target{}
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		shown := variable
		if !strings.ContainsAny(endpoint, "@?") { // otherwise it may contain a password
			shown += fmt.Sprintf(" %q", endpoint)
		}
		e.wrong("invalid %s: want a URL such as http://localhost:4318", shown)
		return Target{}
	}
	if variable == "OTEL_EXPORTER_OTLP_ENDPOINT" { // the base of all signals
		u = u.JoinPath("v1", strings.ToLower(signal))
	}
	t := Target{URL: u.String(), Timeout: defaultTimeout}
	switch protocol, variable := e.option(signal, "PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "http/json":
		t.JSON = true
	default:
		e.wrong("unsupported %s %q: want http/protobuf or http/json, which collectors accept at port 4318", variable, protocol)
		return Target{}
	}
	switch compression, variable := e.option(signal, "COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		t.Gzip = true
	default:
		e.wrong("unsupported %s %q: want gzip or none", variable, compression)
	}
	if text, variable := e.option(signal, "TIMEOUT"); text != "" {
		if ms, err := strconv.Atoi(text); err == nil && ms > 0 && ms < math.MaxInt32 {
			t.Timeout = time.Duration(ms) * time.Millisecond
		} else {
			e.wrong("invalid %s %q: want milliseconds", variable, text)
		}
	}
	if text, variable := e.option(signal, "HEADERS"); text != "" {
		if t.Headers, err = ParseHeaders(text); err != nil {
			e.wrong("invalid %s: %v", variable, err)
			return Target{}
		}
	}
	if t.TLS, err = e.tls(signal); err != nil {
		e.wrong("%v", err)
		return Target{}
	}
	return t
}

// tls reads the certificates.
func (e *environ) tls(signal string) (*tls.Config, error) {
	ca, variable := e.option(signal, "CERTIFICATE")
	cert, _ := e.option(signal, "CLIENT_CERTIFICATE")
	key, _ := e.option(signal, "CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s has no certificate", variable, ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// resource describes this process.
func (e *environ) resource() []Attribute {
	list, err := ParseAttributes(e.getenv("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		e.wrong("invalid OTEL_RESOURCE_ATTRIBUTES: %v", err)
	}
	set := func(key, value string, wins bool) {
		i := slices.IndexFunc(list, func(a Attribute) bool { return a.Key == key })
		switch {
		case i < 0:
			list = append(list, Attribute{key, value})
		case wins:
			list[i].Value = value
		}
	}
	name := e.getenv("OTEL_SERVICE_NAME")
	set("service.name", cmp.Or(name, "hocket"), name != "")
	var instance [16]byte
	_, _ = rand.Read(instance[:]) // never fails
	set("service.instance.id", hex.EncodeToString(instance[:]), false)
	set("telemetry.sdk.name", "hocket", true)
	set("telemetry.sdk.language", "go", true)
	return list
}

// ParseHeaders reads headers in the form NAME=VALUE,NAME=VALUE. Values are escaped as in a URL. The error does not show them:
// they may be secret.
func ParseHeaders(text string) (map[string]string, error) {
	all := map[string]string{}
	err := pairs(text, func(name, value string) error {
		if !isToken(name) {
			return errors.New("a name has a character that is not allowed in a header")
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of %s has a control character", name)
		}
		all[http.CanonicalHeaderKey(name)] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// ParseAttributes reads attributes in the same form. If one is invalid, there are none.
func ParseAttributes(text string) ([]Attribute, error) {
	var all []Attribute
	err := pairs(text, func(key, value string) error {
		all = append(all, Attribute{key, clean(value)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// pairs splits NAME=VALUE,NAME=VALUE.
func pairs(text string, see func(name, value string) error) error {
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, err := url.PathUnescape(strings.TrimSpace(name))
		if !ok || err != nil || name == "" {
			return errors.New("want NAME=VALUE,NAME=VALUE")
		}
		value, err = url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("the value of %s has an invalid escape: write %%25 for a percent sign", clean(name))
		}
		if err := see(name, value); err != nil {
			return err
		}
	}
	return nil
}

// isToken reports whether a text can be the name of a header.
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// Environ returns the variables with which a program that an attempt starts exports its own spans to the same place.
func (c *Config) Environ() []string {
	if c.Traces.URL == "" {
		return nil
	}
	protocol := "http/protobuf"
	if c.Traces.JSON {
		protocol = "http/json"
	}
	env := []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + c.Traces.URL, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=" + protocol}
	if len(c.Traces.Headers) > 0 {
		var list []string
		for name, value := range c.Traces.Headers {
			list = append(list, name+"="+url.PathEscape(value))
		}
		slices.Sort(list)
		env = append(env, "OTEL_EXPORTER_OTLP_TRACES_HEADERS="+strings.Join(list, ","))
	}
	return env
}
