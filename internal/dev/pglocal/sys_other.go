//go:build !linux && !darwin

package pglocal

import (
	"errors"
	"os"
	"syscall"
)

var errUnsupported = errors.New("a private cluster runs on Linux and macOS only: set DATABASE_URL to the address of a server")

func tryLock(*os.File) (bool, error) { return false, errUnsupported }

func release(file *os.File) { _ = file.Close() }

func attributes(account, syscall.Signal) *syscall.SysProcAttr { return nil }

func guard(int, syscall.Signal) (func(), error) { return nil, errUnsupported }

func runsIn(int, string) bool { return false }

func ownerOf(os.FileInfo) (uid, gid uint32) { return 0, 0 }
