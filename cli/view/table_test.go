package view_test

import (
	"testing"

	"github.com/hocket-dev/hocket/cli/view"
)

func TestSpareColumns(t *testing.T) {
	for width, want := range map[int]string{
		0:  "ID   SORT   AGE\na-1  apple    7\n",
		15: "ID   SORT   AGE\na-1  apple    7\n",
		14: "ID   AGE\na-1    7\n",
		7:  "ID\na-1\n",
	} {
		table := &view.Table{Head: []string{"ID", "SORT", "AGE"}, Right: []bool{2: true}, Spare: []int{1, 2}}
		table.Row(view.Cell{Text: "a-1"}, view.Cell{Text: "apple"}, view.Cell{Text: "7"})
		if got := table.Draw(view.Style{Width: width}); got != want {
			t.Errorf("at %d columns:\n%swant:\n%s", width, got, want)
		}
	}
}
