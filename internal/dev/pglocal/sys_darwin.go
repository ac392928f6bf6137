package pglocal

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/lattice-director/director/internal/dev/lastwill"
)

// bind does nothing, because this kernel has no such feature; guard replaces it.
func bind(*syscall.SysProcAttr, syscall.Signal) {}

// guard sends signal to the child when this process ends.
func guard(pid int, signal syscall.Signal) (release func(), err error) {
	return lastwill.Leave(`kill -"$1" "$2"`, strconv.Itoa(int(signal)), strconv.Itoa(pid))
}

// runsIn reports whether the process is a postmaster on this data directory, by its command line.
func runsIn(pid int, data string) bool {
	line, err := exec.Command("/bin/ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(line), " -D "+data+" ")
}
