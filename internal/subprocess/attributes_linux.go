package subprocess

import "syscall"

// attributes make the kernel kill the process when this program dies, even by kill -9, and keep the terminal's Ctrl-C from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
