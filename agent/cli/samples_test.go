package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-dev/hocket/agent"
)

// noon is the current time in the tests.
var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newReading(m *Manifest, log agent.Log) *reading {
	return &reading{m: m, task: &agent.Task{}, log: agent.NewLines(log), limit: 1 << 20, now: func() time.Time { return noon }, prices: func(string) (agent.Price, bool) {
		return agent.Price{Input: 1, Output: 10}, true
	}}
}

// readAll reads a CLI's output in pieces of a given size.
func readAll(m *Manifest, text []byte, size int, log agent.Log) (*reading, error) {
	r := newReading(m, log)
	for len(text) > 0 {
		n := min(size, len(text))
		if err := r.take(text[:n]); err != nil {
			return r, err
		}
		text = text[n:]
	}
	return r, r.end()
}

// summary returns a reading in one line.
func (r *reading) summary() string {
	used := r.spent.usage(r.prices, r.before)
	return fmt.Sprintf("success=%v failure=%q status=%d session=%t usage=%d+%d $%.6f unknown=%v reason=%q output=%q",
		r.success, r.failure, r.status, r.session != "", used.TokensIn, used.TokensOut, used.CostUSD, used.CostUnknown, agent.OneLine(r.reason, 60), agent.OneLine(r.output(true), 60))
}

// Checks the recorded output of the real CLIs, where those files exist.
func TestRealSamples(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "cli-samples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("a collection of files is missing that is not part of the project")
	}
	for name, want := range map[string]string{
		"claude-err400.json":              `success=false failure="failure" status=400 session=true usage=0+0 $0.000000 unknown=false reason="API Error: 400 bad thing"`,
		"claude-json.json":                `success=true failure="" status=0 session=true usage=1000+50 $0.005000 unknown=false reason="" output="first"`,
		"claude-maxturns.json":            `success=false failure="limit" status=0 session=true usage=1000+50 $0.005000 unknown=false reason="Reached maximum number of turns (1)"`,
		"claude-stream-401.jsonl":         `success=false failure="failure" status=401 session=true usage=0+0 $0.000000 unknown=false reason="Invalid API key · Fix external API key"`,
		"claude-stream-denied.jsonl":      `success=true failure="" status=0 session=true usage=2000+100 $0.010000 unknown=false reason="" output="after: touch in`,
		"claude-stream-mcp.jsonl":         `success=true failure="" status=0 session=true usage=3000+150 $0.015000 unknown=false reason="" output="got {\"sum\":42}"`,
		"claude-stream-two-results.jsonl": `success=true failure="" status=0 session=true usage=4000+200 $0.015125 unknown=false reason="" output="got Async agent launched`,
		"codex-500.jsonl":                 `success=false failure="failure" status=0 session=true usage=0+0 $0.000000 unknown=true reason="We’re currently experiencing high demand`,
		"codex-mcp-denied.jsonl":          `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="got Wall time`,
		"codex-mcp.jsonl":                 `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="got Wall time`,
		"codex-resume.jsonl":              `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="FAKE-OK turn=2`,
		"codex-subagents.jsonl":           `success=true failure="" status=0 session=true usage=5000+250`,
		"codex-tool.jsonl":                `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="after: Chunk ID`,
		"copilot-400.jsonl":               `success=false failure="failure" status=400 session=true usage=0+0 $0.000000 unknown=true reason="400 bad thing"`,
		"copilot-mcp.jsonl":               `success=true failure="" status=0 session=true usage=0+0 $0.000000 unknown=true reason="" output="got {\"sum\":42}"`,
		"copilot-tool.jsonl":              `success=true failure="" status=0 session=true usage=0+0 $0.000000 unknown=true reason="" output="after`,
		"gemini-stream-400.jsonl":         `success=false failure="failure" status=0 session=true usage=0+0 $0.000000 unknown=false reason="[API Error`,
		"gemini-stream-mcp.jsonl":         `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="got {\"output\"`,
		"gemini-stream-tool.jsonl":        `success=true failure="" status=0 session=true usage=3000+150 $0.004500 unknown=false reason="" output="after {\"output\"`,
		"goose-stream-400-rc0.jsonl":      `success=true failure="failure" status=0 session=false usage=0+0 $0.000000 unknown=false reason="Ran into this error: Request failed`,
		"goose-stream-tool.jsonl":         `success=true failure="" status=0 session=false usage=2000+100 $0.006000 unknown=false reason="" output="after /tmp/research/clis/w/goose1"`,
		"opencode-400.jsonl":              `success=false failure="failure" status=400 session=true usage=0+0 $0.000000 unknown=true reason="bad thing"`,
		"opencode-mcp.jsonl":              `success=true failure="" status=0 session=true usage=2000+100 $0.007500 unknown=false reason="" output="got {\"sum\":42}"`,
		"opencode-perm-ask-no-text.jsonl": `success=false failure="" status=0 session=true usage=1000+50 $0.003750`,
		"opencode-tool.jsonl":             `success=true failure="" status=0 session=true usage=2000+100 $0.007500 unknown=false reason="" output="after`,
		"qwen-json-resume.json":           `success=true failure="" status=0 session=true usage=`,
		"qwen-stream-400.jsonl":           `success=false failure="failure" status=0 session=true usage=0+0 $0.000000 unknown=false reason="[API Error: 400 bad thing]"`,
		"qwen-stream-tool.jsonl":          `success=true failure="" status=0 session=true usage=2000+100 $0.003000 unknown=false reason="" output="after Command`,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			cli, _, _ := strings.Cut(name, "-")
			var log strings.Builder
			for _, size := range []int{1 << 20, 4096, 7} {
				log.Reset()
				r, err := readAll(BuiltinManifest(cli), text, size, func(piece []byte) { log.Write(piece) })
				if err != nil || !strings.HasPrefix(r.summary(), want) {
					t.Errorf("got %s, %v\nwant %s", r.summary(), err, want)
				}
			}
			t.Logf("log:\n%s", log.String())
		})
	}
}
