//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize tells columns and lines, and false for what is no terminal.
func terminalSize(f *os.File) (width, height int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Row == 0 {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}
