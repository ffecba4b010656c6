//go:build !linux

package growth

import "time"

func threadTime() time.Duration { return 0 }
