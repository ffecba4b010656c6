package cassette

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/internal/projectfile"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/workflow"
)

// Code is the code of mistakes in a file of recordings other than YAML errors.
const Code = "cassette"

// version is the format of the file.
const version = "1"

// head is the comment at the beginning of the file.
func (c *Cassette) head() string {
	by := "Recorded by `hocket test --record`"
	if c.Copied {
		by = "Made of a run by `hocket cassette`"
	}
	return "# " + by + ". What differs from run to run has a placeholder, such as ⟨dir⟩.\n"
}

// order is the order of keys in the file.
var order = []string{
	"cassette", "workflow", "interactions", "address", "attempt", "request", "reply",
	"digest", "agent", "executor", "model", "settings", "schema", "tools", "labels", "base", "system", "prompt",
	"took", "decision", "cost_usd", "cost_unknown", "tokens_in", "tokens_out", "error", "kind", "message", "permanent", "retry_after", "output", "files",
	"path", "was", "deleted", "executable", "text", "base64", "bases",
}

// requestKeys are the parts of a request, in the order in which differences are shown.
var requestKeys = []string{"prompt", "system", "agent", "executor", "model", "settings", "schema", "tools", "labels", "base"}

// Text returns a cassette as a file. The same recordings always give the same text.
func (c *Cassette) Text() []byte {
	c.Sort()
	list := make([]any, 0, len(c.Interactions))
	for _, i := range c.Interactions {
		request := i.Request.fields()
		request["digest"] = i.Request.Digest()
		list = append(list, map[string]any{"address": i.Address, "attempt": plain(i.Attempt), "request": request, "reply": i.Reply.fields()})
	}
	object := map[string]any{"cassette": version, "workflow": c.Workflow, "interactions": list}
	if bases := c.baseFields(); bases != nil {
		object["bases"] = bases
	}
	return append([]byte(c.head()), strictyaml.Write(object, order)...)
}

// A SizeError reports that a file would be so large that no test could read it.
type SizeError struct {
	What     string // such as "the recording"
	Size     int    // of the file
	Part     string // what is largest in it
	PartSize int    // zero: unknown
	Remedy   string
}

func (e *SizeError) Error() string {
	part := ""
	if e.PartSize > 0 {
		part = fmt.Sprintf("; the largest part is %s, with %s", e.Part, megabytes(e.PartSize))
	}
	return fmt.Sprintf("%s was not written, because it would have %s, and only %d MB can be read%s", e.What, megabytes(e.Size), projectfile.MaxSize>>20, part)
}

// Hint returns what to do about it.
func (e *SizeError) Hint() string { return e.Remedy }

func megabytes(size int) string { return fmt.Sprintf("%.1f MB", float64(size)/(1<<20)) }

// CheckSize returns a *[SizeError] if the text of a cassette is so large that no test could read it. It names the step whose
// recordings are the largest, and what is the largest in them.
func (c *Cassette) CheckSize(text []byte) error {
	if len(text) <= projectfile.MaxSize {
		return nil
	}
	steps := map[string]int{}
	most := Interaction{}
	for _, i := range c.Interactions {
		for _, part := range i.parts() {
			steps[i.Address] += len(part)
		}
		if steps[i.Address] > steps[most.Address] {
			most = i
		}
	}
	e := &SizeError{What: "the recording", Size: len(text), Remedy: fmt.Sprintf("let %s write fewer or smaller files and texts, or test it with a reply instead of a recording", most.Address)}
	for _, i := range c.Interactions {
		if i.Address != most.Address {
			continue
		}
		for part, content := range i.parts() {
			where := fmt.Sprintf("the %s of %s", part, i)
			if len(content) > e.PartSize || len(content) == e.PartSize && where < e.Part {
				e.Part, e.PartSize = where, len(content)
			}
		}
	}
	return e
}

// fields returns a reply as it is stored.
func (r Reply) fields() map[string]any {
	all := map[string]any{}
	if r.Error == nil {
		all["output"] = r.Output
	} else {
		all["error"] = r.Error.fields()
	}
	if r.Decision != "" {
		all["decision"] = r.Decision
	}
	if r.Usage.CostUSD > 0 {
		all["cost_usd"] = plain(r.Usage.CostUSD)
	}
	if r.Usage.CostUnknown {
		all["cost_unknown"] = true
	}
	if r.Usage.TokensIn > 0 {
		all["tokens_in"] = plain(r.Usage.TokensIn)
	}
	if r.Usage.TokensOut > 0 {
		all["tokens_out"] = plain(r.Usage.TokensOut)
	}
	if r.Took > 0 {
		all["took"] = r.Took.String()
	}
	var files []any
	for _, f := range r.Files {
		files = append(files, f.fields())
	}
	if files != nil {
		all["files"] = files
	}
	return all
}

func (f *Failure) fields() map[string]any {
	all := map[string]any{"kind": string(f.Kind), "message": f.Message}
	if f.Permanent {
		all["permanent"] = true
	}
	if f.RetryAfter > 0 {
		all["retry_after"] = f.RetryAfter.String()
	}
	return all
}

func (c Change) fields() map[string]any {
	all := map[string]any{"path": c.Path}
	if c.Was != "" {
		all["was"] = c.Was
	}
	switch {
	case c.Deleted:
		all["deleted"] = true
	case utf8.Valid(c.Content) && strictyaml.IsPrintable(string(c.Content)):
		all["text"] = string(c.Content)
	default:
		all["base64"] = base64.StdEncoding.EncodeToString(c.Content)
	}
	if c.Executable {
		all["executable"] = true
	}
	return all
}

// Read reads a file of recordings and reports every mistake. If there is an error, the cassette must not be used.
func Read(file string, text []byte) (*Cassette, workflow.Diagnostics) {
	doc := strictyaml.Read(file, text)
	c := &Cassette{}
	m := doc.Root().Map()
	if format := m.Get("cassette"); doc.Root().Exists() && format.Name() != version {
		at := format
		if !at.Exists() {
			at = doc.Root()
		}
		at.Errorf(Code, "record it again with `hocket test --record`", "the format of the cassette is not %s", version)
	}
	c.Workflow = m.Name("workflow")
	for _, n := range m.List("interactions") {
		c.Interactions = append(c.Interactions, readInteraction(n))
	}
	c.Bases = readBases(m.List("bases"))
	m.Done()
	return c, doc.Diagnostics()
}

func readInteraction(n strictyaml.Node) Interaction {
	m := n.Map()
	i := Interaction{Address: m.Name("address"), Attempt: int(m.Get("attempt").Int(1)), Pos: n.Pos()}
	if i.Address == "" {
		n.Errorf(Code, "write the address of the step", "the interaction has no address")
	}
	i.Attempt = max(i.Attempt, 1)
	request := m.Get("request")
	i.Request = readRequest(request)
	i.Reply = readReply(m.Get("reply"))
	m.Done()
	return i
}

func readRequest(n strictyaml.Node) Request {
	m := n.Map()
	r := Request{
		Agent: m.Name("agent"), Executor: m.Name("executor"), Model: m.Name("model"), System: m.Name("system"), Prompt: m.Name("prompt"),
		Schema: m.Value("schema"), Tools: m.Strings("tools"), Labels: m.Strings("labels"), Base: m.Name("base"),
	}
	if settings := m.Get("settings"); settings.Exists() {
		settings.Map().Entries()
		r.Settings, _ = settings.Value().(map[string]any)
	}
	digest := m.Get("digest")
	m.Done()
	if got := r.Digest(); digest.Exists() && digest.Name() != got {
		digest.Errorf(Code, "a request is never edited: change the workflow and record it again, or edit the reply", "the request does not have this digest")
	}
	return r
}

func readReply(n strictyaml.Node) Reply {
	m := n.Map()
	r := Reply{Output: m.Name("output"), Decision: m.Name("decision"), Took: m.Duration("took")}
	r.Usage = agent.Usage{CostUSD: m.Float("cost_usd"), CostUnknown: m.Bool("cost_unknown"), TokensIn: m.Get("tokens_in").Int(0), TokensOut: m.Get("tokens_out").Int(0)}
	if e := m.Get("error"); e.Exists() {
		f := e.Map()
		kinds := []string{string(agent.Failed), string(agent.TimedOut), string(agent.BadOutput), string(agent.Quota), string(Cancelled)}
		r.Error = &Failure{Kind: agent.Kind(f.Word("kind", kinds...)), Message: f.Name("message"), Permanent: f.Bool("permanent"), RetryAfter: f.Duration("retry_after")}
		if r.Error.Kind == "" {
			r.Error.Kind = agent.Failed
		}
		f.Done()
	}
	for _, f := range m.List("files") {
		r.Files = append(r.Files, readChange(f))
	}
	m.Done()
	return r
}

func readChange(n strictyaml.Node) Change {
	m := n.Map()
	path := m.Get("path")
	c := Change{Path: path.Name(), Was: m.Name("was"), Deleted: m.Bool("deleted"), Executable: m.Bool("executable")}
	if err := projectfile.CheckPath(c.Path); err != nil {
		at := path
		if !at.Exists() {
			at = n
		}
		at.Errorf(Code, "name a file in the directory of the test, with slashes", "%v", err)
	}
	text, binary := m.Get("text"), m.Get("base64")
	c.Content = []byte(text.Name())
	if binary.Exists() {
		content, err := base64.StdEncoding.DecodeString(binary.Name())
		if err != nil {
			binary.Errorf(Code, "record it again with `hocket test --record`", "invalid base64")
		}
		c.Content = content
	}
	if written := 0; text.Exists() || binary.Exists() || c.Deleted {
		for _, has := range []bool{text.Exists(), binary.Exists(), c.Deleted} {
			if has {
				written++
			}
		}
		if written > 1 {
			n.Errorf(Code, "keep one of them", "a change is text, base64 or deleted")
		}
	} else {
		n.Errorf(Code, "write text, base64 or deleted: true", "the change says nothing about the file")
	}
	m.Done()
	return c
}

// errors of recordings.
var errLarge = errors.New("too large to record")

// Rounded returns a duration in steps that make no difference to people, so that recording again changes little.
func Rounded(d time.Duration) time.Duration {
	if d < time.Second {
		return 0
	}
	return d.Round(time.Second)
}

// FailureOf returns why an attempt failed, nil if it did not.
func FailureOf(err error, now time.Time, p *Places) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Kind: agent.Failed, Message: p.Hide(err.Error())}
	var known *agent.Error
	if errors.As(err, &known) {
		f.Kind, f.Permanent = known.Kind, known.Permanent
		if known.Until.After(now) { // otherwise the next attempt begins at once
			f.RetryAfter = max(known.Until.Sub(now).Round(time.Second), time.Second)
		}
	}
	return f
}

// String returns an interaction as messages name it.
func (i Interaction) String() string {
	if i.Attempt > 1 {
		return fmt.Sprintf("%s, attempt %d", i.Address, i.Attempt)
	}
	return i.Address
}
