//go:build linux || darwin

package pglocal

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks the file without waiting, and returns false if another process holds the lock.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// release unlocks the file explicitly. Closing it is not enough, because a child between fork and exec has a copy of
// it.
func release(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
	_ = file.Close()
}

// attributes are those of a child that runs as the account, does not get the terminal's Ctrl-C, and gets signal when
// this process ends.
func attributes(as account, signal syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if as.isOtherUser {
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
