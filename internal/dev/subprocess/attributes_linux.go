package subprocess

import "syscall"

// attributes makes the kernel kill the process when this program dies, even by kill -9. The process group of its own
// keeps the terminal's Ctrl-C from the process.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
