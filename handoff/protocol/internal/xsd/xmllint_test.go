package xsd

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

var documents = flag.Int("documents", 1500, "how many generated documents to compare with xmllint")

const folder = "../../../../schema"

func load(t testing.TB, file string) *Schema {
	t.Helper()
	include := func(location string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, location)) }
	text, err := include(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(file, text, include)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgainstXmllint compares the validator with libxml2 on documents that are valid,
// almost valid, and far from it.
func TestAgainstXmllint(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed; apt-get install libxml2-utils")
	}
	const space = "http://instructor-workflow.org/agent-handoff/v1"
	for _, c := range []struct {
		file, space string
		document    func(*generator) string
	}{
		{"agent-handoff-v1.0.xsd", "", (*generator).request},
		{"agent-handoff-v1.0-ns.xsd", space, (*generator).request},
		{"agent-handoff-v1.1.xsd", "", (*generator).request},
		{"agent-handoff-v1.1-ns.xsd", space, (*generator).request},
		{"agent-response-v1.0.xsd", "", (*generator).response},
		{"agent-response-v1.0-ns.xsd", space, (*generator).response},
	} {
		t.Run(c.file, func(t *testing.T) {
			schema, dir := load(t, c.file), t.TempDir()
			g := &generator{rand.New(rand.NewPCG(1, uint64(len(c.file)))), c.space}
			args := []string{"--nonet", "--noout", "--huge", "--schema", filepath.Join(folder, c.file)}
			texts := map[string]string{}
			for i := range *documents / 6 {
				file := filepath.Join(dir, fmt.Sprintf("%05d.xml", i))
				texts[file] = c.document(g)
				if err := os.WriteFile(file, []byte(texts[file]), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, file)
			}
			said, _ := exec.Command(xmllint, args...).CombinedOutput() // it exits with an error if one document is invalid
			accepted := map[string]bool{}
			for line := range strings.Lines(string(said)) {
				if file, ok := strings.CutSuffix(strings.TrimSpace(line), " validates"); ok {
					accepted[file] = true
				}
			}
			valid, wrong := 0, 0
			for file, text := range texts {
				theirs := accepted[file]
				doc := xmltext.Read(file, []byte(text), xmltext.Rules{})
				ours := !doc.Broken() && len(schema.Validate(doc.Root(), false)) == 0
				if theirs {
					valid++
				}
				if ours != theirs {
					if wrong++; wrong <= 5 {
						var why []string
						for _, line := range strings.Split(string(said), "\n") {
							if strings.HasPrefix(line, file) {
								why = append(why, line)
							}
						}
						t.Errorf("xmllint: %v, we: %v\n%s\n%v\n%s", theirs, ours, text, doc.Diagnostics(), strings.Join(why, "\n"))
					}
				}
			}
			t.Logf("%d documents, %d valid, %d differ", len(texts), valid, wrong)
			if share := valid * 100 / len(texts); share < 10 || share > 85 {
				t.Errorf("%d%% of the documents are valid, which proves little", share)
			}
		})
	}
}

// generator writes documents that are valid or almost valid.
type generator struct {
	*rand.Rand
	space string
}

func (g *generator) of(texts ...string) string { return texts[g.IntN(len(texts))] }

// rarely is true once in n times.
func (g *generator) rarely(n int) bool { return g.IntN(n) == 0 }

func (g *generator) text() string {
	return g.of("Test", "Check the service", "a &lt; b &amp; c", "<![CDATA[ x < y ]]>", "über straße", "two\n    lines", "a<!-- c -->b", "1", "true", " padded ")
}

func (g *generator) blank() string {
	return g.of("", " ", "\n  ", "<!-- c -->", "<![CDATA[]]>", "<![CDATA[ ]]>", "&#32;", "&#xA0;", "\u00a0")
}

func (g *generator) content() string {
	if g.rarely(25) {
		return g.blank()
	}
	return g.text()
}

func (g *generator) element(name, content string) string {
	attributes := ""
	if g.rarely(120) {
		attributes = " " + g.of(`extra="1"`, `xml:space="preserve"`, `xmlns:q="urn:q" q:a="1"`, `xmlns="urn:other"`, `xml:lang="en"`, `xmlns=""`)
	}
	if g.rarely(150) {
		content += g.of("<b/>", "<x:b xmlns:x='urn:x'/>", "stray", "<?pi x?>")
	}
	if content == "" && g.rarely(2) {
		return "<" + name + attributes + "/>"
	}
	return "<" + name + attributes + ">" + content + "</" + name + ">"
}

func (g *generator) value(values ...string) string {
	if g.rarely(20) {
		return g.of("other", "", " "+values[0], values[0]+"\n", strings.ToUpper(values[0]), "<![CDATA["+values[0]+"]]>", "<!-- c -->"+values[0], "&#115;pawn")
	}
	return g.of(values...)
}

func (g *generator) deliverables() string {
	var b strings.Builder
	for range g.of("", "x", "xx", "xxx", "xxxx", "xxx") {
		switch g.of("file", "file", "decision", "report", "odd")[:1] {
		case "f":
			attributes := ""
			if !g.rarely(30) {
				attributes += ` path="` + g.of("src/a.go", "docs/{session-id}/r.json", "x", g.of("x", "", " ", "&#10;")) + `"`
			}
			if g.rarely(3) {
				attributes += ` required="` + g.of("true", "false", "1", "0", " true ", g.of("true", "yes", "TRUE", "")) + `"`
			}
			if g.rarely(60) {
				attributes += ` size="1"`
			}
			fmt.Fprintf(&b, "<file%s>%s</file>", attributes, g.of("", g.text()))
		case "d":
			b.WriteString(g.element("decision", g.of(g.text(), g.blank())))
		case "r":
			b.WriteString(g.element("report", g.text()))
		default:
			if g.rarely(20) {
				b.WriteString(g.of("<table/>", "text", "<x:file xmlns:x='urn:x'/>"))
			}
		}
		b.WriteString(g.of("", "\n  ", "<!-- c -->"))
	}
	return b.String()
}

func (g *generator) constraints() string {
	var b strings.Builder
	for range g.of("x", "xx", "xxx", "xxxxxxxx", g.of("", "x")) {
		b.WriteString(g.element("constraint", g.content()))
	}
	return b.String()
}

func (g *generator) attributes() string {
	var b strings.Builder
	add := func(name string, values ...string) {
		if g.rarely(3) {
			fmt.Fprintf(&b, " %s=%q", name, g.of(values...))
		}
	}
	add("version", "1.0", "1.0", "1.0", "1.1", g.of("1.0", "2.0", "", " 1.0"))
	add("session_id", "20251119-1", "")
	add("target_agent", "devops")
	add("priority", "high", "medium", "low", g.of("low", "High", "urgent"))
	add("timeout", "10m", "1h30m", "90s", g.of("5m", "soon", "", "10 m", "1.5h"))
	add("max_retries", "0", "3", " 2 ", g.of("1", "-1", "x", "-0", "+2", "1.0", "99999999999999999999"))
	add("estimated_duration", "5m", g.of("5m", "long"))
	if g.rarely(10) {
		b.WriteString(g.of(` colour="red"`, ` xml:lang="en"`, ` xmlns:q="urn:q" q:a="1"`,
			` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="a b"`,
			` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="a"`))
	}
	return b.String()
}

func (g *generator) request() string {
	parts := []string{
		g.element("mode", g.value("spawn", "blocking", "conversation_only")),
		g.element("original_intent", g.content()),
		g.element("current_task_summary", g.content()),
		g.element("workflow", g.value("standard", "SPIKE", "TDD", "none")),
		g.element("task_details", g.content()),
	}
	if g.rarely(2) {
		parts = append(parts, g.element("constraints", g.constraints()))
	}
	parts = append(parts, g.element("deliverables", g.deliverables()))
	if g.rarely(2) {
		parts = append(parts, g.element("backlog_notes", g.of(g.text(), g.blank())))
	}
	return g.document("agent_request", g.attributes(), parts)
}

// list returns a section of a response.
func (g *generator) list(section, item, attribute string) string {
	var b strings.Builder
	for range g.of("", "x", "xx", "xxx") {
		attributes := ""
		if g.rarely(3) {
			attributes = fmt.Sprintf(" %s=%q", attribute, g.of("1", "src/a.go", "x", g.of("x", "", " ")))
		}
		fmt.Fprintf(&b, "<%s%s>%s</%s>", item, attributes, g.content(), item)
	}
	return g.element(section, b.String())
}

func (g *generator) response() string {
	parts := []string{g.element("summary", g.content())}
	for _, part := range []func() string{
		func() string { return g.list("files", "file", "path") },
		func() string { return g.list("decisions", "decision", "for") },
		func() string { return g.list("reports", "report", "for") },
		func() string { return g.element("errors", strings.Repeat(g.element("error", g.content()), g.IntN(3))) },
		func() string {
			return g.element("recommendations", strings.Repeat(g.element("recommendation", g.content()), g.IntN(3)))
		},
		func() string {
			inner := &generator{g.Rand, ""}
			return g.element("next", g.of("", inner.request()))
		},
	} {
		if g.rarely(3) {
			parts = append(parts, part())
		}
	}
	attributes := ` status="` + g.value("COMPLETED", "FAILED") + `"`
	if g.rarely(20) {
		attributes = ""
	}
	return g.document("agent_response", attributes+g.of("", ` session_id="a"`, ` version="1.0"`, ` colour="red"`), parts)
}

// document combines parts, sometimes with mistakes.
func (g *generator) document(root, attributes string, parts []string) string {
	for g.rarely(4) {
		parts = append(parts, g.of(
			`<x:config xmlns:x="urn:x"><x:a>1</x:a>text</x:config>`, `<config xmlns="urn:y" deep="1"><a/></config>`,
			`<x:w xmlns:x="urn:x"><agent_request/></x:w>`, `<x:w xmlns:x="urn:x"><agent_request xmlns=""/></x:w>`, `<config/>`))
	}
	switch g.IntN(12) {
	case 0:
		i := g.IntN(len(parts))
		parts = append(parts[:i:i], parts[i+1:]...)
	case 1:
		i, j := g.IntN(len(parts)), g.IntN(len(parts))
		parts[i], parts[j] = parts[j], parts[i]
	case 2:
		parts = append(parts, parts[g.IntN(len(parts))])
	case 3:
		i := g.IntN(len(parts))
		parts[i] = strings.Replace(parts[i], "_", "-", 1)
	case 4:
		i := g.IntN(len(parts) + 1)
		parts = append(parts[:i:i], append([]string{g.of("stray text", "<extra/>", "<![CDATA[ ]]>", "<![CDATA[]]>", "<![CDATA[x]]>", "&#32;", "&#9;", "&#x41;", "<?pi?>", "\u00a0")}, parts[i:]...)...)
	}
	head := g.of("", "<?xml version=\"1.0\"?>\n", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", "<!-- c -->\n")
	space := g.space
	if g.rarely(40) {
		space = g.of("", "urn:other", "http://instructor-workflow.org/agent-handoff/v1")
	}
	if g.rarely(60) {
		root = g.of("agent_response", "Agent_Request", "mode")
	}
	if space != "" {
		attributes = fmt.Sprintf(" xmlns=%q", space) + attributes
	}
	text := head + "<" + root + attributes + ">" + g.of("", "\n  ") + strings.Join(parts, g.of("", "\n  ")) + "</" + root + ">" + g.of("", "\n", "\n<!-- end -->\n")
	if g.rarely(40) { // not well-formed
		at := g.IntN(len(text))
		text = text[:at] + g.of("<", "&", ">", "\"", "/", "</mode>", "]]>", "") + text[min(at+g.IntN(3), len(text)):]
	}
	return text
}
