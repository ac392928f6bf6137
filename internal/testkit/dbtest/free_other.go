//go:build !linux && !darwin

package dbtest

// freeBytes returns 0, since it is not known here how much room a file system has.
func freeBytes(string) uint64 { return 0 }
