package growth

import (
	"syscall"
	"time"
)

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_THREAD, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
