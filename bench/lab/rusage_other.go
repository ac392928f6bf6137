//go:build !unix

package lab

import "time"

// ownCPU cannot be measured on this system.
func ownCPU() time.Duration { return 0 }
