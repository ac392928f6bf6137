//go:build unix && !linux

package subprocess

import "syscall"

// attributes keep the terminal's Ctrl-C from the process. Only Linux also ties its life to that of this program.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
