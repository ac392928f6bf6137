//go:build !unix

package main

import (
	"os"
	"syscall"
)

// Here the demo compiles, and then says that it needs a Postgres which it cannot start.

func attributes() *syscall.SysProcAttr { return nil }

func terminalSize(*os.File) (width, height int, ok bool) { return 0, 0, false }
