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

// keepFromPipes lets writes to a pipe that nobody reads fail instead of ending
// the process: losing the reader of its progress must not end a run. The signal
// is taken and not ignored, because programs that agents start would inherit
// that.
func keepFromPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// onSignal calls stop at the first signal that asks the process to end, and ends
// it at the second, with every program that it has started. restore is called before that, and not waited for long: the
// terminal may take no text.
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
