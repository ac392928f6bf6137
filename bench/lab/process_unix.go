//go:build unix && !linux

package lab

import "syscall"

// attributes make a process deaf to the terminal: Ctrl-C is for us alone, who end the others in order. Only Linux also
// ties the life of a process to that of its parent: elsewhere a benchmark that is killed with kill -9 leaves them running.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
