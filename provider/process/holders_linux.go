package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// killHolders kills the processes of a deployment wherever they are: one that has made a session of its own is in no
// group that kill reaches, but has inherited the lock.
func (d deployment) killHolders() error {
	holders, err := d.lockHolders()
	var errs []error
	for _, pid := range holders {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	return errors.Join(err, errors.Join(errs...))
}

// lockHolders returns the processes that hold the exclusive lock, as far as the kernel lets us see their files. It
// excludes this process, which holds the lock while it starts a server.
func (d deployment) lockHolders() (pids []int, err error) {
	lock, err := os.Stat(d.pathOf("lock"))
	if err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		// By name first, which saves a stat of most files; an error means that the process has ended, or is another
		// user's.
		if target, err := os.Readlink(link); err != nil || filepath.Base(target) != "lock" {
			continue
		}
		file, err := os.Stat(link)
		if err != nil || !os.SameFile(file, lock) || !holdsExclusively(link) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(link))))
		if err == nil && pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// holdsExclusively reports whether the descriptor is one of the server's: observers open the same file and share the
// lock for a moment.
func holdsExclusively(fdLink string) bool {
	pid := filepath.Dir(filepath.Dir(fdLink))
	info, err := os.ReadFile(filepath.Join(pid, "fdinfo", filepath.Base(fdLink)))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[0] == "lock:" && fields[2] == "FLOCK" &&
			fields[4] == "WRITE" {
			return true
		}
	}
	return false
}
