//go:build linux || darwin

package process

import (
	"errors"
	"syscall"
)

// terminateGroup and killGroup signal a process group. It is no error if the group does not exist any more.
func terminateGroup(pid int) error { return signalGroup(pid, syscall.SIGTERM) }

func killGroup(pid int) error { return signalGroup(pid, syscall.SIGKILL) }

func signalGroup(pid int, s syscall.Signal) error {
	err := syscall.Kill(-pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
