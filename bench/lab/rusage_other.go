//go:build !unix

package lab

import "time"

// OwnCPU cannot be measured on this system.
func OwnCPU() time.Duration { return 0 }
