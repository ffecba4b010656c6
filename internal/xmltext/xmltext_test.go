package xmltext_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

// outline returns the tree of a document as text.
func outline(e xmltext.Element, depth int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s", strings.Repeat(" ", depth), e.Name())
	for a := range e.Attrs() {
		fmt.Fprintf(&b, " %s=%q", a.Name(), a.Value())
	}
	if e.HasText() {
		fmt.Fprintf(&b, " %q", e.Text())
	}
	b.WriteByte('\n')
	for c := range e.Children() {
		b.WriteString(outline(c, depth+1))
	}
	return b.String()
}

func TestTree(t *testing.T) {
	for text, want := range map[string]string{
		`<a/>`:                                 "a\n",
		"<a>\n  text\n</a>":                    "a \"text\"\n",
		"<a>\n  one\n    two\n\n  three\n</a>": "a \"one\\n  two\\n\\nthree\"\n",
		"<a>one\n   two</a>":                   "a \"one\\ntwo\"\n",
		"<a>&#0000000000000000065;</a>":        "a \"A\"\n",
		"<a>&#32;x&#10;</a>":                   "a \" x\\n\"\n",
		"<a> <![CDATA[ <b> ]]> </a>":           "a \" <b> \"\n",
		`<a xml:space="preserve"> x </a>`:      "a xml:space=\"preserve\" \" x \"\n",
		"<a b='1' c=\"&lt;&#x41;&apos;\"><d/><!-- x --><e/></a>":  "a b=\"1\" c=\"<A'\"\n d\n e\n",
		"<a b='x\n\ty'>c<!-- - -->d</a>":                          "a b=\"x  y\" \"cd\"\n",
		"<a>x\r\ny\rz&#13;</a>":                                   "a \"x\\ny\\nz\\r\"\n",
		"\uFEFF<?xml version='1.0'?><!-- a --><a\n/>\n<!-- b -->": "a\n",
		`<x:a xmlns:x="u"><x:b x:c="1"/></x:a>`:                   "x:a xmlns:x=\"u\"\n x:b x:c=\"1\"\n",
		"<größe 日本='ü'/>":                                         "größe 日本=\"ü\"\n",
	} {
		doc := xmltext.Read("f.xml", []byte(text), xmltext.Rules{})
		if found := doc.Diagnostics(); len(found) > 0 {
			t.Errorf("%q: %s", text, found)
			continue
		}
		if got := outline(doc.Root(), 0); got != want {
			t.Errorf("%q is read as\n%swant\n%s", text, got, want)
		}
	}
}

// Tests what is refused, where, and what to write instead.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "f.xml:1:1: xml-root",
		"text":                      "f.xml:1:1: xml-root",
		"<a/>text":                  "f.xml:1:5: xml-root",
		"<a/><b/>":                  "f.xml:1:5: xml-root",
		"<a>":                       "f.xml:1:1: xml-end-tag",
		"</a>":                      "f.xml:1:1: xml-end-tag",
		"<a>\n<b></a>":              "f.xml:2:4: xml-end-tag",
		"<a></b>":                   "f.xml:1:4: xml-end-tag",
		"<a x=1/>":                  "f.xml:1:6: xml-attribute",
		"<a x/>":                    "f.xml:1:4: xml-attribute",
		"<a x='1' x='2'/>":          "f.xml:1:10: xml-attribute",
		"<a x='1'y='2'/>":           "f.xml:1:9: xml-attribute",
		"<a x='<'/>":                "f.xml:1:7: xml-syntax",
		"<a x='>\n</a>":             "f.xml:1:6: xml-attribute",
		"<a>1 < 2</a>":              "f.xml:1:6: xml-syntax",
		"<a>ü&</a>":                 "f.xml:1:5: xml-entity",
		"<a>&foo;</a>":              "f.xml:1:4: xml-entity",
		"<a>&#0;</a>":               "f.xml:1:4: xml-entity",
		"<a>]]></a>":                "f.xml:1:4: xml-syntax",
		"<a><!-- x -- y --></a>":    "f.xml:1:11: xml-syntax",
		"<a><!-- x</a>":             "f.xml:1:4: xml-syntax",
		"<a><![CDATA[ x</a>":        "f.xml:1:4: xml-syntax",
		"<a><? x</a>":               "f.xml:1:4: xml-syntax",
		"<!DOCTYPE a><a/>":          "f.xml:1:1: xml-doctype",
		"<?xml version='1.1'?><a/>": "f.xml:1:1: xml-syntax",
		"<?xml version='1.0' encoding='latin1'?><a/>": "f.xml:1:1: xml-encoding",
		"<?xml version='1.0' b='1'?><a/>":             "f.xml:1:1: xml-syntax",
		"<?xml encoding='UTF-8' version='1.0'?><a/>":  "f.xml:1:1: xml-syntax",
		"<?xml version='1.0?><a/>":                    "f.xml:1:1: xml-syntax",
		"<?b+c?><a/>":                                 "f.xml:1:1: xml-syntax",
		"<a xmlns:x='u'><x:1/></a>":                   "f.xml:1:17: xml-prefix",
		"<a><b xmlns:x='u'/><x:c/></a>":               "f.xml:1:21: xml-prefix",
		" <?xml version='1.0'?><a/>":                  "f.xml:1:2: xml-syntax",
		"<a>\x01</a>":                                 "f.xml:1:4: xml-encoding",
		"<a>\xff</a>":                                 "f.xml:1:4: xml-encoding",
		"<x:a/>":                                      "f.xml:1:2: xml-prefix",
		"<a y:b=''/>":                                 "f.xml:1:4: xml-prefix",
		"<a:b:c xmlns:a=''/>":                         "f.xml:1:2: xml-prefix",
		strings.Repeat("<a>", 300):                    "f.xml:1:601: xml-size",
	} {
		found := xmltext.Read("f.xml", []byte(text), xmltext.Rules{}).Diagnostics()
		if len(found) == 0 || fmt.Sprintf("%s: %s", found[0].Pos, found[0].Code) != want || found[0].Detail == "" {
			t.Errorf("%q: want %s, got\n%s", short(text), want, found)
		}
	}
}

func short(text string) string { return text[:min(len(text), 60)] }

// A fix makes the text valid, or leaves a different error.
func TestFixes(t *testing.T) {
	for text, want := range map[string]string{
		"<a>1 < 2 & 3</a>":    "<a>1 &lt; 2 &amp; 3</a>",
		"<a x=1 y='2'z='3'/>": `<a x="1" y='2' z='3'/>`,
		"<a><b></a>":          "<a><b></b></a>",
		"<a></b>":             "<a></a>",
		"<a><b>":              "<a><b></b></a>",
		"<a x='1' x='1'/>":    "<a x='1'/>",
		"\uFEFF<a>&</a>":      "\uFEFF<a>&amp;</a>",
		"<a>&nbsp;</a>":       "<a>\u00a0</a>",
		"<a x=\"1 y=\"2\"/>":  "<a x=\"1\" y=\"2\"/>",
	} {
		fixed, _ := xmltext.Read("f.xml", []byte(text), xmltext.Rules{}).Diagnostics().Fixed([]byte(text))
		if string(fixed) != want {
			t.Errorf("%q became %q, want %q", text, fixed, want)
		}
		if doc := xmltext.Read("f.xml", fixed, xmltext.Rules{}); doc.Broken() {
			t.Errorf("%q: %s", fixed, doc.Diagnostics())
		}
	}
}

var rules = xmltext.Rules{
	Root: func(name string) bool { return name == "list" },
	Inside: func(parent xmltext.Element, name string) bool {
		return parent.Name() == "list" && name == "item" || parent.Name() == "item" && name == "note"
	},
}

func TestRecover(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"no document":                            "",
		"<list":                                  "",
		"<list ":                                 "list\n",
		"x ```xml\n<list>":                       "list\n",
		"<list><item>a":                          "list\n item \"a\"\n",
		"<list><item>a<no":                       "list\n item \"a\"\n",
		"<list><item>a<note":                     "list\n item \"a\"\n",
		"<list><item>a<note>b":                   "list\n item \"a\"\n  note \"b\"\n",
		"<list><item>a<item>b</list>c<item>":     "list\n item \"a\"\n item \"b\"\n",
		"<list><item n='1":                       "list\n item n=\"1\"\n",
		"<list><item>1 < 2 & <b>3</b> <":         "list\n item \"1 < 2 & <b>3</b>\"\n",
		"<list></item><item/></note></list>":     "list \"</note>\"\n item\n",
		"Use <list>: <list n='1'><item/></list>": "list n=\"1\"\n item\n",
		"<list></list> means <list><item/>":      "list\n item\n",
		"<list><item><![CDATA[<a> &":             "list\n item \"<a> &\"\n",
		"<list><item>ü\xc3":                      "list\n item \"ü\"\n",
		"<?xml version='1.0'?><!DOCTYPE x><list><item/>": "list\n item\n",
	} {
		doc := xmltext.Recover("f.xml", []byte(text), rules)
		got := ""
		if doc.Root().Exists() {
			got = outline(doc.Root(), 0)
		}
		if got != want || doc.Diagnostics().Errors() {
			t.Errorf("%q is read as\n%swant\n%s%s", text, got, want, doc.Diagnostics())
		}
	}
}

// libraryAccepts reports whether encoding/xml considers a text well-formed.
func libraryAccepts(text []byte) error {
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(text), "\uFEFF")))
	for {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// FuzzRead reads any text. Reading must end with a tree or with diagnostics that have positions,
// and encoding/xml must also accept what it accepts. That library follows the fourth edition of XML
// for names; any other difference is a mistake.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"<a b='c'>d&amp;<![CDATA[e]]><!-- f --></a>", "<?xml version='1.0'?>\n<x:a xmlns:x='y'/>", "<a>&#x41;</a>", "<a><b></a>", "<a b=c d>&x;<"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := xmltext.Read("f.xml", text, xmltext.Rules{})
		for _, d := range doc.Diagnostics() {
			if d.Code == "" || d.Summary == "" || d.Line == 0 && d.Code != "xml-size" {
				t.Errorf("incomplete: %+v", d)
			}
		}
		if doc.Broken() {
			if !doc.Failed() {
				t.Error("broken, and no error")
			}
			return
		}
		outline(doc.Root(), 0)
		if err := libraryAccepts(text); err != nil && !strings.Contains(err.Error(), "invalid XML name") {
			t.Errorf("%q is accepted, but %v", text, err)
		}
		if !doc.Root().First().Exists() {
			return // for Recover it is only a mention
		}
		if again := xmltext.Recover("f.xml", text, all(doc.Root().Name())); outline(again.Root(), 0) != outline(doc.Root(), 0) {
			t.Errorf("%q is repaired into %s", text, outline(again.Root(), 0))
		}
	})
}

// all is a set of rules in which everything is an element.
func all(root string) xmltext.Rules {
	return xmltext.Rules{
		Root:   func(name string) bool { return name == root },
		Inside: func(xmltext.Element, string) bool { return true },
	}
}

// FuzzRecover repairs any text without an error, and always terminates.
func FuzzRecover(f *testing.F) {
	for _, text := range []string{"a <list><item n='1'>x & <note>y</item></list>", "<list><item", "<list></list><list>"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc := xmltext.Recover("f.xml", text, rules)
		if doc.Diagnostics().Errors() {
			t.Error(doc.Diagnostics())
		}
		if doc.Root().Exists() {
			outline(doc.Root(), 0)
		}
	})
}

// Megabytes of any text are read quickly. With quadratic running time, the test would not finish.
func TestLargeTextsEnd(t *testing.T) {
	for _, piece := range []string{"<", "&", "<a>", "</a>", "<a b='", "<a b=\"", "]]>", "<!--", "<a/>", "<a b='1'/>", "<a b='1' ", "x ", "<a b c ", "<a>\n</b>", "<list><item>", "<item>"} {
		text := []byte("<list>" + strings.Repeat(piece, 4_000_000/len(piece)))
		xmltext.Read("f.xml", text, xmltext.Rules{}).Diagnostics()
		doc := xmltext.Recover("f.xml", text, rules)
		for c := range doc.Root().Children() {
			c.Pos()
		}
	}
}

func TestFirstName(t *testing.T) {
	for text, want := range map[string]string{
		"<a>": "a", " \n<a b='c'/>": "a", "\uFEFF<x:a>": "x:a", "<?xml version='1.0'?>\n<!-- <b> -->\n<a>": "a",
		"<!DOCTYPE a [<!ENTITY b 'c'>]>\n<a>": "a", "text <a>": "", "": "", "<!-- open": "", "< a>": "",
	} {
		if got := xmltext.FirstName(text); got != want {
			t.Errorf("%q begins with %q, want %q", text, got, want)
		}
	}
}
