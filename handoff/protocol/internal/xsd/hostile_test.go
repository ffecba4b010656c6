package xsd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/internal/xmltext"
)

func schemaOf(attributes, body string) string {
	return `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified"` + attributes + `>` + body + `</xs:schema>`
}

func compile(text string) (*Schema, error) {
	return Compile("a.xsd", []byte(text), func(string) ([]byte, error) { return nil, os.ErrNotExist })
}

func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i+1)
	}
	return b.String()
}

// TestHostileSchemas compiles schemas that would take very long or use a lot of memory.
func TestHostileSchemas(t *testing.T) {
	const root = `<xs:element name="a"><xs:complexType>%s</xs:complexType></xs:element>`
	wide := repeat(1900, `<xs:element name="a%d" id="x%d" type="xs:string"/>`)
	restriction := `<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string">%s</xs:restriction></xs:simpleType></xs:element>`
	for name, text := range map[string]string{
		"a million":         schemaOf("", fmt.Sprintf(root, `<xs:sequence minOccurs="1000000"/>`)),
		"nested copies":     schemaOf("", fmt.Sprintf(root, strings.Repeat(`<xs:sequence maxOccurs="100">`, 6)+strings.Repeat(`</xs:sequence>`, 6))),
		"links":             schemaOf("", fmt.Sprintf(root, strings.Repeat(`<xs:choice maxOccurs="unbounded">`, 90)+wide+strings.Repeat(`</xs:choice>`, 90))),
		"unordered groups":  schemaOf("", repeat(60, `<xs:element name="e%d"><xs:complexType><xs:all><xs:element ref="e%[2]d"/><xs:element name="x"><xs:complexType><xs:all><xs:element ref="e%[2]d"/></xs:all></xs:complexType></xs:element></xs:all></xs:complexType></xs:element>`)+`<xs:element name="e60" type="xs:string"/>`),
		"long pattern":      schemaOf("", fmt.Sprintf(restriction, `<xs:pattern value="`+strings.Repeat("a", 1001)+`"/>`)),
		"large pattern":     schemaOf("", fmt.Sprintf(restriction, `<xs:pattern value="`+strings.Repeat("a{1000}", 100)+`"/>`)),
		"prefixes":          schemaOf(repeat(50_000, ` xmlns:p%d="u%d"`), fmt.Sprintf(root, "")+strings.Repeat("<xs:annotation/>", 50_000)),
		"no name":           schemaOf("", fmt.Sprintf(root, `<xs:sequence><xs:element type="xs:string"/></xs:sequence>`)),
		"qualified":         schemaOf(` attributeFormDefault="qualified"`, fmt.Sprintf(root, "")),
		"unknown wildcard":  schemaOf("", fmt.Sprintf(root, `<xs:sequence><xs:any processContents="other"/></xs:sequence>`)),
		"two half patterns": schemaOf("", fmt.Sprintf(restriction, `<xs:pattern value="a)"/><xs:pattern value="(b"/>`)),
	} {
		if _, err := compile(text); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestProjectSchemas compares the supported schema features with xmllint.
func TestProjectSchemas(t *testing.T) {
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("xmllint is not installed; apt-get install libxml2-utils")
	}
	const group = `<xs:element name="a"><xs:complexType>%s<xs:anyAttribute processContents="lax"/></xs:complexType></xs:element>`
	const xsi = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`
	for name, c := range map[string]struct {
		content string
		valid   bool
		text    string
	}{
		"empty choice":         {`<xs:choice/>`, false, `<a/>`},
		"in an empty choice":   {`<xs:choice/>`, false, `<a><b/></a>`},
		"missing wildcard":     {`<xs:sequence><xs:any namespace="##other" processContents="lax"/></xs:sequence>`, false, `<a/>`},
		"skipped":              {`<xs:sequence><xs:any namespace="##other" processContents="skip"/></xs:sequence>`, true, `<a><x:b xmlns:x="u"><a><no/></a></x:b></a>`},
		"lax":                  {`<xs:sequence><xs:any namespace="##other" processContents="lax"/></xs:sequence>`, false, `<a><x:b xmlns:x="u"><a><no/></a></x:b></a>`},
		"type in an extension": {`<xs:sequence><xs:any namespace="##other" processContents="lax"/></xs:sequence>`, false, `<a` + xsi + `><x:b xmlns:x="u" xsi:type="no"/></a>`},
		"another xsi":          {``, true, `<a` + xsi + ` xsi:other="1"/>`},
	} {
		compareWith(t, xmllint, name, schemaOf("", fmt.Sprintf(group, c.content)), c.text, c.valid)
	}
	for _, c := range []struct {
		pattern, text string
		valid         bool
	}{
		{`\d+`, "12", true}, {`\d+`, "١", true}, {`\D`, "١", false}, {`\w+`, "über", true}, {`[\w-]+`, "ü-1", true}, {`\w`, ".", false}, {`\W`, ".", true},
		{`.`, "&#13;", false}, {`.`, "é", true}, {`\p{Lu}+`, "ÄB", true}, {`a{2,3}b?`, "aab", true}, {`[^a.]`, ".", false}, {`\.\-`, ".-", true},
	} {
		text := schemaOf("", `<xs:element name="a"><xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="`+c.pattern+`"/></xs:restriction></xs:simpleType></xs:element>`)
		compareWith(t, xmllint, c.pattern, text, "<a>"+c.text+"</a>", c.valid)
	}
	for _, pattern := range []string{`\i`, `[a-z-[aeiou]]`, `(?i)a`, `a*?`, `\bfoo`, `\x41`, `\Qa\E`, `[[:alpha:]]`, `^a$`, `a{,3}`, `\p{IsGreek}`, `\pL`, `a\`, `*`} {
		if _, _, err := compilePattern([]string{pattern}); err == nil {
			t.Errorf("%s is accepted", pattern)
		}
	}
}

func compareWith(t *testing.T, xmllint, name, schema, text string, valid bool) {
	t.Helper()
	s, err := compile(schema)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	doc := xmltext.Read("a.xml", []byte(text), xmltext.Rules{})
	ours := !doc.Broken() && len(s.Validate(doc.Root(), false)) == 0
	dir := t.TempDir()
	for file, text := range map[string]string{"a.xsd": schema, "a.xml": text} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := exec.Command(xmllint, "--nonet", "--noout", "--schema", filepath.Join(dir, "a.xsd"), filepath.Join(dir, "a.xml")).CombinedOutput()
	if theirs := err == nil; ours != valid || theirs != valid {
		t.Errorf("%s: want %v, xmllint: %v, we: %v\n%s", name, valid, theirs, ours, said)
	}
}
