//go:build linux || darwin

package dbtest

import "syscall"

// freeBytes is zero when there is no such directory.
func freeBytes(dir string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
