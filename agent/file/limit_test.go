package file_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/agent"
	"github.com/hocket-dev/hocket/agent/file"
)

// The executor and the tools of a model write only where the task may, and follow no link
// there.
func TestWriteLimit(t *testing.T) {
	for _, c := range []struct {
		name, path string
		limit      agent.WriteLimit
		may        bool
	}{
		{"inside", "sub/c.go", agent.WriteLimit{Only: []string{"sub"}}, true},
		{"deeper", "sub/deep/d.go", agent.WriteLimit{Only: []string{"sub"}}, true},
		{"new", "sub/new/x", agent.WriteLimit{Only: []string{"sub"}}, true},
		{"a new place", "new/x", agent.WriteLimit{Only: []string{"new/"}}, true},
		{"absolute", "sub/c.go", agent.WriteLimit{Only: []string{"DIR/sub"}}, true},
		{"through dots", "sub/../b.txt", agent.WriteLimit{Only: []string{"sub"}}, false},
		{"outside", "b.txt", agent.WriteLimit{Only: []string{"sub"}}, false},
		{"similar", "subject", agent.WriteLimit{Only: []string{"sub"}}, false},
		{"through a link", "indir/c.go", agent.WriteLimit{Only: []string{"sub", "indir"}}, false},
		{"a link as a place", "sub/c.go", agent.WriteLimit{Only: []string{"indir"}}, false},
		{"a link", "in", agent.WriteLimit{}, false},
		{"excepted", "sub/c.go", agent.WriteLimit{Except: []string{"sub"}}, false},
		{"excepted deeper", "sub/deep/d.go", agent.WriteLimit{Only: []string{"sub"}, Except: []string{"sub/deep"}}, false},
		{"excepted elsewhere", "sub/c.go", agent.WriteLimit{Only: []string{"sub"}, Except: []string{"sub/deep"}}, true},
		{"excepted by a link", "sub/c.go", agent.WriteLimit{Except: []string{"indir"}}, false},
		{"excepted through a link", "indir/c.go", agent.WriteLimit{Except: []string{"sub"}}, false},
		{"excepted file", "b.txt", agent.WriteLimit{Except: []string{"b.txt"}}, false},
		{"excepted and new", "none/x", agent.WriteLimit{Except: []string{"none"}}, false},
		{"excepted project", "sub/c.go", agent.WriteLimit{Only: []string{"sub"}, Except: []string{"."}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := project(t)
			for i, only := range c.limit.Only {
				if only == "DIR/sub" {
					c.limit.Only[i] = filepath.Join(dir, "sub")
				}
			}
			for _, action := range []string{"write", "append", "write_file", "edit_file"} {
				before, _ := os.ReadFile(filepath.Join(dir, c.path))
				task := &agent.Task{Key: "run/write@1", Dir: dir, Writes: &c.limit, Agent: &agent.Definition{Name: "file"}}
				var err error
				switch action {
				case "write", "append":
					task.Settings = map[string]any{"action": action, "path": c.path, "content": "C new"}
					_, err = file.New().Run(t.Context(), task, func([]byte) {})
				case "write_file":
					_, err = tools(t, task, `{"write": "allow"}`)("write_file", `{"path": "`+c.path+`", "content": "once"}`)
				case "edit_file":
					if c.may {
						_, err = tools(t, task, `{"write": "allow"}`)("edit_file", `{"path": "`+c.path+`", "old": "once", "new": "twice"}`)
					} else if string(before) != "" {
						_, err = tools(t, task, `{"write": "allow"}`)("edit_file", `{"path": "`+c.path+`", "old": "`+string(before)+`", "new": "twice"}`)
					} else {
						continue
					}
				}
				after, _ := os.ReadFile(filepath.Join(dir, c.path))
				if changed := string(after) != string(before); changed != c.may || (err == nil) != c.may {
					t.Errorf("%s: %q became %q, %v", action, before, after, err)
				}
			}
		})
	}
}
