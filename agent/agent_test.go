package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRewordedKeepsTheKind(t *testing.T) {
	until := time.Unix(1, 0)
	quota := &Error{Kind: Quota, Message: "no more", Permanent: true, Until: until}
	var got *Error
	if err := Reworded(fmt.Errorf("again: %w", quota), "later"); !errors.As(err, &got) || *got != (Error{Kind: Quota, Message: "later", Permanent: true, Until: until}) {
		t.Errorf("got %+v", got)
	}
	if quota.Message != "no more" || quota.Error() != "no more" {
		t.Errorf("the error itself says %q", quota)
	}
	if err := Reworded(errors.New("x"), "y"); errors.As(err, &got) && got.Message == "y" || err.Error() != "y" {
		t.Errorf("got %v", err)
	}
	if err := Errorf("%d is %s", 1, "one"); *err != (Error{Kind: Failed, Message: "1 is one"}) {
		t.Errorf("got %+v", err)
	}
}

func TestDecodeArguments(t *testing.T) {
	var into struct {
		Path string `json:"path"`
		N    int    `json:"n"`
	}
	if err := DecodeArguments(map[string]any{"path": "<a>", "n": 2}, &into); err != nil || into.Path != "<a>" || into.N != 2 {
		t.Errorf("%+v, %v", into, err)
	}
	for _, args := range []map[string]any{{"pth": "a"}, {"n": "two"}} {
		if err := DecodeArguments(args, &into); err == nil || !strings.HasPrefix(err.Error(), "invalid arguments for the tool: ") || strings.Contains(err.Error(), "json: ") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	for _, c := range []struct {
		d              *Definition
		task, executor int
		want           int
	}{
		{nil, 0, 4, 4 << 10}, {&Definition{}, 0, 4, 4 << 10}, {&Definition{MaxOutputKB: 2}, 0, 4, 2 << 10}, {&Definition{MaxOutputKB: 2}, 8, 4, 8 << 10}, {nil, 1, 4, 1 << 10},
	} {
		if got := c.d.OutputLimit(c.task, c.executor); got != c.want {
			t.Errorf("%+v, %d, %d: %d", c.d, c.task, c.executor, got)
		}
	}
}

func TestHomesIn(t *testing.T) {
	dir := t.TempDir()
	if homes, links := HomesIn(dir); len(homes)+len(links) > 0 {
		t.Errorf("an empty directory has %v, %v", homes, links)
	}
	hocket, glee := filepath.Join(dir, ".hocket"), filepath.Join(dir, ".glee")
	if err := os.Mkdir(hocket, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(glee, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if homes, links := HomesIn(dir); !slices.Equal(homes, []string{hocket}) || len(links) > 0 {
		t.Errorf("a directory and a file are %v, %v", homes, links)
	}
	if err := os.Remove(glee); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(hocket, glee); err != nil {
		t.Skip("no links here")
	}
	if homes, links := HomesIn(dir); !slices.Equal(homes, []string{hocket}) || !slices.Equal(links, []string{glee}) {
		t.Errorf("a directory and a link are %v, %v", homes, links)
	}
}

func TestPathError(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, outside := root.Open("../x")
	_, missing := root.Open("x")
	for _, c := range []struct {
		err       error
		want      string
		permanent bool
	}{
		{outside, `"p" is outside the project`, true},
		{missing, `"p" does not exist`, false},
		{&fs.PathError{Op: "open", Path: "/secret/p", Err: fs.ErrPermission}, `cannot use "p": permission denied`, false},
		{&fs.PathError{Op: "open", Path: "/secret/p", Err: errors.New("is busy")}, `"p": is busy`, false},
		{errors.New("odd"), `"p": odd`, false},
	} {
		if got := PathError("p", c.err); got.Message != c.want || got.Permanent != c.permanent || got.Kind != Failed {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

func TestCostOfTokens(t *testing.T) {
	tokens := Tokens{Input: 1e6, Output: 2e6, CacheRead: 3e6, CacheWrite: 4e6}
	for _, c := range []struct {
		price Price
		known bool
		want  Usage
	}{
		{Price{Input: 2, Output: 10}, true, Usage{CostUSD: 2 + 20 + 6 + 8, TokensIn: 8e6, TokensOut: 2e6}},
		{Price{Input: 2, Output: 10, CacheRead: 0.5, CacheWrite: 3}, true, Usage{CostUSD: 2 + 20 + 1.5 + 12, TokensIn: 8e6, TokensOut: 2e6}},
		{Price{Input: 2, Output: 10}, false, Usage{CostUnknown: true, TokensIn: 8e6, TokensOut: 2e6}},
	} {
		if got := tokens.Usage(c.price, c.known); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.price, got, c.want)
		}
	}
}
