package process

import "syscall"

// groupAttributes gives the server a process group of its own, which Stop signals and the terminal's Ctrl-C does not
// reach.
func groupAttributes(endWithParent bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if endWithParent {
		a.Pdeathsig = syscall.SIGKILL
	}
	return a
}
