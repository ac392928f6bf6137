//go:build unix && !linux

package subprocess

import "syscall"

// attributes keeps the terminal's Ctrl-C from the process. Only Linux can also kill it when this program dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
