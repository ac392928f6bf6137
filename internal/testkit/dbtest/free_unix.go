//go:build linux || darwin

package dbtest

import "syscall"

// freeBytes returns how many bytes a user may still write to the file system of a directory; 0 when there is no such
// directory.
func freeBytes(dir string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
