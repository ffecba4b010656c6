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
		Short: "print what the steps of a run have printed",
		Long: `Print what the attempts of a run have printed while they worked, in the order in
which the steps started. NODE is a node's id, for all its instances, or the
address of one; of a step that calls a workflow it means everything below.`,
		Example: `  hocket logs review-3k7q
  hocket logs review-3k7q security-scanner
  hocket logs review-3k7q 'scan[3]'

  # the whole prompt that an agent was given, with its context
  hocket logs review-3k7q security-scanner --prompt

  # what an agent said and did: texts, tool calls, results, changed files
  hocket logs review-3k7q security-scanner --transcript

  # watch a run that another process drives
  hocket logs review-3k7q -f`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if prompt && transcript {
				return usagef("run the command once for each", "--prompt and --transcript cannot be used together")
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
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run ends or waits")
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the whole prompts that agents were given instead")
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
	last   logKey // whose text was printed last
	open   bool   // its last line has not ended
	damage error  // of a log; the others are printed nevertheless
}

func (l *logPrinter) print(ctx context.Context, follow bool) error {
	err := l.printPast(ctx, follow)
	if err == nil && follow {
		err = l.follow(ctx)
	}
	if err == nil && l.last == (logKey{}) && !l.app.json {
		l.app.note("nothing was printed\n")
	}
	return errors.Join(err, l.app.print(l.close()), l.damage)
}

// close ends the line that is open: more may have come for it until now.
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

// means says whether a name that was typed means an instance: the id of its node, its
// address, or that of what it is a round, an item or a step of.
func means(typed, node, address string) bool {
	rest, in := strings.CutPrefix(address, typed)
	return node == typed || in && (rest == "" || strings.ContainsRune("/#[", rune(rest[0])))
}

// driverPatience is how long a run may take to be driven by a process that was
// started for it.
const driverPatience = 3 * time.Second

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
			if !info.Driven && (info.Status != engine.Running || time.Since(begin) > driverPatience) {
				return l.printPast(ctx, true)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// attempts reports the attempts of the run, those to come included, until it is
// over or ctx is done.
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

// watched is how many logs are looked at all the time: the newest.
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

// maxPrinted is how much of a log is read before it is printed.
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

// printMissing says that the middle of a log was not kept.
func (l *logPrinter) printMissing(k logKey, bytes int64) error {
	l.done[k] += bytes
	if l.app.json {
		return nil // the offsets say so
	}
	head := l.close()
	if k != l.last {
		head += l.head(k)
	}
	l.last = k
	return l.app.print(fmt.Sprintf("%s[%d bytes were not kept here]\n", head, bytes))
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

// head says whose text follows. Where only one attempt can be meant there is
// none, so that a script gets the text alone.
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
