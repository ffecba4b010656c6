package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/cli/view"
	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/journal"
	"github.com/hocket-dev/hocket/workflow"
)

func (a *app) logsVerb() *cobra.Command {
	var follow, prompt bool
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

  # watch a run that another process drives
  hocket logs review-3k7q -f`,
		Args:              argsBetween(1, 2),
		ValidArgsFunction: a.completeRunThenAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRun(cmd.Context(), args[0], func(store *journal.Store, info journal.Run) error {
				l := &logPrinter{app: a, store: store, info: info, done: map[logKey]int64{}, path: store.LogPath}
				if prompt {
					l.path = store.PromptPath
				}
				if len(args) == 2 {
					l.node = args[1]
				}
				return l.run(cmd.Context(), follow)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run ends or waits")
	cmd.Flags().BoolVar(&prompt, "prompt", false, "print the whole prompts that agents were given instead")
	return cmd
}

type logKey struct {
	address string
	attempt int
}

// logPrinter prints the logs of a run's attempts, each from where it was left.
type logPrinter struct {
	app   *app
	store *journal.Store
	info  journal.Run
	node  string                                        // "" all
	path  func(run, address string, attempt int) string // of what is printed
	done  map[logKey]int64
	last  logKey // whose text was printed last
	open  bool   // its last line has not ended
}

func (l *logPrinter) run(ctx context.Context, follow bool) error {
	err := l.printAll(ctx, follow)
	return errors.Join(err, l.app.print(l.close()))
}

// close ends the line that is open: more may have come for it until now.
func (l *logPrinter) close() string {
	if !l.open {
		return ""
	}
	l.open = false
	return "\n"
}

func (l *logPrinter) printAll(ctx context.Context, follow bool) error {
	for start := time.Now(); ; {
		began := time.Now()
		p, err := replay(ctx, l.store, l.info, nil)
		if err != nil {
			return err
		}
		keys := l.keys(p)
		// A run that was just detached is not driven yet.
		more := follow && (p.driven || p.run.Status() == engine.Running && time.Since(start) < driverPatience)
		if l.node != "" && len(keys) == 0 && !more {
			return l.unknownNode(p)
		}
		for _, k := range keys {
			if err := l.print(k); err != nil {
				return err
			}
		}
		if !more || l.app.gone {
			return nil
		}
		// A long journal is not read all the time; logs that are known are.
		if err := l.watch(ctx, keys, max(200*time.Millisecond, 4*time.Since(began))); err != nil {
			return err
		}
	}
}

// driverPatience is how long a run may take to be driven by a process that was
// started for it.
const driverPatience = 3 * time.Second

// watch prints what is added to logs, for a while.
func (l *logPrinter) watch(ctx context.Context, keys []logKey, patience time.Duration) error {
	if len(keys) > watched {
		keys = keys[len(keys)-watched:]
	}
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for over := time.After(patience); ; {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
		for _, k := range keys {
			if err := l.print(k); err != nil {
				return err
			}
		}
	}
}

// watched is how many logs are looked at all the time: the newest.
const watched = 20

// keys are the attempts to print, in the order in which their steps started.
func (l *logPrinter) keys(p *past) []logKey {
	var keys []logKey
	for _, s := range p.run.Result().Steps {
		if l.node == "" || s.Node == l.node || s.Address == l.node || strings.HasPrefix(s.Address, l.node+"/") {
			for attempt := 1; attempt <= s.Attempts; attempt++ {
				keys = append(keys, logKey{s.Address, attempt})
			}
		}
	}
	return keys
}

func (l *logPrinter) unknownNode(p *past) error {
	var names []string
	for _, s := range p.run.Result().Steps {
		names = append(names, s.Address, s.Node)
		if s.Node == l.node || s.Address == l.node {
			return nil // it has not begun, so it printed nothing
		}
	}
	hint := workflow.DidYouMean(l.node, names)
	if hint == "" {
		hint = "`hocket show " + l.info.ID + "` lists the steps"
	}
	return usagef(hint, "run %s has no step %q", l.info.ID, l.node)
}

// print prints what is new in the log of one attempt.
func (l *logPrinter) print(k logKey) error {
	text, err := readFrom(l.path(l.info.ID, k.address, k.attempt), l.done[k])
	if err != nil || len(text) == 0 {
		return err
	}
	l.done[k] += int64(len(text))
	if l.app.json {
		return l.app.printJSON(map[string]any{"address": k.address, "attempt": k.attempt, "text": string(text)})
	}
	head := ""
	if k != l.last {
		head = l.close() + l.head(k)
	}
	l.last, l.open = k, text[len(text)-1] != '\n'
	return l.app.print(head + l.app.outText(string(text)))
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

func readFrom(path string, offset int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the attempt printed nothing
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
