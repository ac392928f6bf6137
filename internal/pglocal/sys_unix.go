//go:build linux || darwin

package pglocal

import (
	"errors"
	"os"
	"syscall"
)

// tryLock reports whether it got the lock.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// release unlocks by name and does not leave it to closing: a child between fork and exec holds a copy of the file.
func release(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	_ = file.Close()
}

// attributes make a child that runs as that account, leaves Ctrl-C to us, and gets signal when this process ends.
func attributes(as account, signal syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if as.other {
		attr.Credential = &syscall.Credential{Uid: as.uid, Gid: as.gid}
	}
	bind(attr, signal)
	return attr
}

func ownerOf(info os.FileInfo) (uid, gid uint32) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return stat.Uid, stat.Gid
}
