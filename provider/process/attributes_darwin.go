package process

import "syscall"

// attributes gives the server a process group of its own. Darwin cannot end it with its parent.
func attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
