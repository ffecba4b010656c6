package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hocket-dev/hocket"
)

var errInterrupted = errors.New("interrupted")

// catchSIGPIPE makes writes to a closed pipe fail instead of killing the process: a run
// must survive losing the reader of its progress. The signal is caught and not ignored,
// because programs that agents start would inherit that.
func catchSIGPIPE() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// onSignal calls stop at the first signal that asks the process to end. At the second it
// kills every program that the process has started, calls restore, and exits. It waits for
// restore only briefly, as the terminal may accept no output.
func onSignal(stop, restore func()) (forget func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			stop()
		case <-done:
			return
		}
		select {
		case <-signals:
			hocket.KillPrograms()
			restored := make(chan struct{})
			go func() { restore(); close(restored) }()
			select {
			case <-restored:
			case <-time.After(time.Second):
			}
			os.Exit(exitInterrupted)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
