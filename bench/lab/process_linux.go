package lab

import "syscall"

// attributes make a process the kernel's to kill when we die, even by kill -9, and deaf to the terminal: Ctrl-C is for us
// alone, who end the others in order.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
