package process

import "syscall"

// groupAttributes gives the server a process group of its own. Darwin cannot end it with its parent.
func groupAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
