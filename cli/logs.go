package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
)

func (a *app) logsVerb() *cobra.Command {
	var follow, prompt, transcript bool
	cmd := &cobra.Command{
		Use:   "logs RUN [NODE] [FLAGS]",
		Short: "Print the logs of a run",
		Long: `Print the logs of a run, step by step in the order in which the steps started. NODE
selects steps: the id of a node means all its instances, an address means one. For a
step that calls a workflow, it includes all steps of that workflow.`,
		Example: `  hocket logs review-3k7q
  hocket logs review-3k7q security-scanner
  hocket logs review-3k7q 'scan[3]'

  # Print the complete prompt of an agent, with its context
  hocket logs review-3k7q security-scanner --prompt

  # Print what an agent did: text, tool calls, results, changed files
  hocket logs review-3k7q security-scanner --transcript

  # Follow a run in the background
  hocket logs review-3k7q -f`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if prompt && transcript {
				return usagef("run the command once for each", "--prompt and --transcript are mutually exclusive")
			}
			return a.withRun(cmd.Context(), args[0], func(r *hocket.Run) error {
				l := &logPrinter{app: a, run: r, stream: hocket.Output, done: map[logKey]int64{}}
				switch {
				case prompt:
					l.stream = hocket.Prompt
				case transcript:
					l.stream = hocket.Transcript
				}
				if len(args) == 2 {
					l.node = args[1]
				}
				return l.print(cmd.Context(), follow)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the logs until the run ends or waits")
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the complete prompts of agents instead")
	cmd.Flags().BoolVar(&transcript, "transcript", false, "print what agents said and did instead")
	return cmd
}

type logKey struct {
	address string
	attempt int
}

// logPrinter prints the logs of a run's attempts, each from where it was left.
type logPrinter struct {
	app    *app
	run    *hocket.Run
	node   string // "" all
	stream hocket.Stream
	keys   []logKey // in the order in which the attempts started
	done   map[logKey]int64
	last   logKey // the log that was printed last
	open   bool   // its last line has no newline yet
	damage error  // of one log; the others are still printed
}

func (l *logPrinter) print(ctx context.Context, follow bool) error {
	err := l.printPast(ctx, follow)
	if err == nil && follow {
		err = l.follow(ctx)
	}
	if err == nil && l.last == (logKey{}) && !l.app.json {
		what := "logs"
		if l.stream != hocket.Output {
			what = string(l.stream) + "s"
		}
		l.app.note("no " + what + "\n")
	}
	return errors.Join(err, l.app.print(l.close()), l.damage)
}

// close ends the last line, if it has no newline.
func (l *logPrinter) close() string {
	if !l.open {
		return ""
	}
	l.open = false
	return "\n"
}

// printPast prints what the attempts have printed so far, in the order in which
// their steps started.
func (l *logPrinter) printPast(ctx context.Context, follow bool) error {
	s, err := l.run.State(ctx)
	if err != nil {
		return err
	}
	for _, step := range s.Result.Steps {
		for attempt := 1; l.wants(step.Node, step.Address) && attempt <= step.Attempts; attempt++ {
			l.add(logKey{step.Address, attempt})
		}
	}
	if l.node != "" && len(l.keys) == 0 && !follow {
		if err := s.CheckStep(l.node); err != nil {
			what, hint := explain(err)
			return usagef(hint, "%s", what)
		}
	}
	return l.printNew(ctx, len(l.keys))
}

func (l *logPrinter) add(k logKey) {
	if _, known := l.done[k]; !known {
		l.done[k] = 0
		l.keys = append(l.keys, k)
	}
}

func (l *logPrinter) wants(node, address string) bool {
	return l.node == "" || means(l.node, node, address)
}

// means reports whether a name that the user typed selects an instance: it is the id of
// its node, its address, or the address of something that contains it.
func means(typed, node, address string) bool {
	rest, in := strings.CutPrefix(address, typed)
	return node == typed || in && (rest == "" || strings.ContainsRune("/#[", rune(rest[0])))
}

// driverTimeout is how long a detached process may take to start driving its run.
const driverTimeout = 3 * time.Second

// follow prints what is added to logs, and the logs of new attempts, until the
// run ends or waits.
func (l *logPrinter) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan logKey)
	ended := make(chan error, 1)
	go func() {
		ended <- l.attempts(ctx, started)
		close(started)
	}()
	look, check := time.NewTicker(20*time.Millisecond), time.NewTicker(200*time.Millisecond)
	defer look.Stop()
	defer check.Stop()
	for begin := time.Now(); !l.app.gone; {
		select {
		case k, ok := <-started:
			if !ok {
				return errors.Join(<-ended, l.printPast(ctx, true))
			}
			l.add(k)
		case <-look.C:
			if err := l.printNew(ctx, watched); err != nil {
				return err
			}
		case <-check.C:
			info, err := l.run.Info(ctx)
			if err != nil {
				return err
			}
			// A run that was just detached is not driven yet.
			if !info.Driven && (info.Status != engine.Running || time.Since(begin) > driverTimeout) {
				return l.printPast(ctx, true)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// attempts sends the attempts of the run, past and future, until the run ends or ctx is
// done.
func (l *logPrinter) attempts(ctx context.Context, started chan<- logKey) error {
	for e, err := range l.run.Events(ctx, hocket.EventID{}) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if f := e.Fact; f != nil && f.Kind == engine.AttemptStarted && l.wants(f.Node, f.Address) {
			select {
			case started <- logKey{f.Address, f.Attempt}:
			case <-ctx.Done():
				return nil
			}
		}
	}
	return nil
}

// watched is how many of the newest logs are polled.
const watched = 20

// printNew prints what is new in the logs of the newest attempts.
func (l *logPrinter) printNew(ctx context.Context, newest int) error {
	for _, k := range l.keys[max(0, len(l.keys)-newest):] {
		err := l.printOne(ctx, k)
		if errors.As(err, new(*hocket.DamagedLogError)) {
			l.damage, err = err, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxPrinted is how many bytes of a log are read before they are printed.
const maxPrinted = 1 << 20

// printOne prints what is new in the log of one attempt.
func (l *logPrinter) printOne(ctx context.Context, k logKey) error {
	var text []byte
	for piece, err := range l.run.Read(ctx, k.address, k.attempt, l.stream, l.done[k], false) {
		if err != nil {
			return errors.Join(l.printText(k, text), err)
		}
		missing := piece.At - l.done[k] - int64(len(text))
		whole := 0
		switch {
		case missing > 0:
			whole = len(text)
		case len(text) > maxPrinted:
			whole = bytes.LastIndexByte(text, '\n') + 1
		}
		if err := l.printText(k, text[:whole]); err != nil {
			return err
		}
		text = text[whole:]
		if missing > 0 {
			if err := l.printMissing(k, missing); err != nil {
				return err
			}
		}
		text = append(text, piece.Text...)
	}
	if l.stream == hocket.Transcript {
		text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest is being written
	}
	return l.printText(k, text)
}

// printMissing prints that the middle of a log was not stored.
func (l *logPrinter) printMissing(k logKey, bytes int64) error {
	l.done[k] += bytes
	if l.app.json {
		return nil // the offsets show it
	}
	head := l.close()
	if k != l.last {
		head += l.head(k)
	}
	l.last = k
	return l.app.print(fmt.Sprintf("%s[%d bytes omitted]\n", head, bytes))
}

// printText prints what comes next in the log of one attempt.
func (l *logPrinter) printText(k logKey, text []byte) error {
	at := l.done[k]
	l.done[k] += int64(len(text))
	switch {
	case len(text) == 0:
		return nil
	case l.stream == hocket.Transcript && l.app.json:
		return l.app.printEntries(k, text)
	case l.stream == hocket.Transcript:
		text = []byte(l.app.transcriptText(text))
	case l.app.json:
		return l.app.printJSON(map[string]any{"address": k.address, "attempt": k.attempt, "offset": at, "text": string(text)})
	}
	head := ""
	if k != l.last {
		head = l.close() + l.head(k)
	}
	l.last, l.open = k, text[len(text)-1] != '\n'
	if l.stream != hocket.Transcript { // which has colors of its own
		text = []byte(l.app.outText(string(text)))
	}
	return l.app.print(head + string(text))
}

// head returns a heading for the log of an attempt. If the user asked for exactly one
// attempt, there is none, so that a script gets only the text.
func (l *logPrinter) head(k logKey) string {
	if l.node == k.address && k.attempt == 1 {
		return ""
	}
	name := k.address
	if k.attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", k.attempt)
	}
	return l.app.outStyle.Paint(view.Bold, "==> "+view.Line(name)) + "\n"
}
