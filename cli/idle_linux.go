package cli

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// unmapCode unmaps the code of this program until it is used again. Initializing the libraries touches
// most of it, and the system maps whole blocks around what is touched. The pages stay in the cache of
// the system, so that a server that waits does not hold them, and gets them back without a disk.
//
// Code is never written to, unlike other parts of the file, which a linker may relocate.
func unmapCode() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var may string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &may); n == 3 && may == "r-xp" && strings.HasSuffix(strings.TrimSpace(line), " "+self) {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED) // it is only a hint
		}
	}
}
