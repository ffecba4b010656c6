package draw_test

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/draw"
)

func TestChart(t *testing.T) {
	picture := draw.Chart("Sessions <of> \a all", []draw.Bars{
		{Title: "How long", Bars: []draw.Bar{{Label: `<script>"a" & b`, Value: 2, Mark: 4, Text: "half"}, {Label: strings.Repeat("long ", 50), Text: "none"}}},
		{Title: "Nothing", Full: 0, Bars: []draw.Bar{{Label: "x"}}},
	})
	decoder := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "script" {
			t.Error("a label became an element")
		}
	}
	for _, want := range []string{`width="130"`, `x1="434"`, "&lt;script&gt;", "half"} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Error(picture)
	}
}
