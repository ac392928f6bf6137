//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	"github.com/lattice-director/director/provider"
)

// launchScript writes the process id and becomes the game. exec keeps the id of the shell. The game does not get the
// descriptor: with it, it could make the director signal other processes.
const launchScript = `printf '%s\n' "$$" >&4 && exec "$@" 4>&-`

// runServer starts the server with the lock held.
func (p *Provider) runServer(d deployment, env provider.Env, argv []string) error {
	lock, err := lockFile(context.Background(), d.pathOf("lock")) // observers hold it for microseconds at most
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // the server has its own descriptor of the same lock
	log, err := os.OpenFile(d.pathOf("log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	pid, err := os.OpenFile(d.pathOf("pid"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = pid.Close() }()
	environ, args := p.environmentOf(env, d.state.Ports), []string{"-c", launchScript, "sh", argv[0]}
	for _, a := range argv[1:] {
		args = append(args, os.Expand(a, func(name string) string { return environ[name] }))
	}
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // the server outlives this call
	// ExtraFiles begin at descriptor 3: the lock, and the file of the process id, to which the script writes as 4.
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{lock, pid}
	if cmd.Dir, err = d.makeWorkingDir(p.config.User); err != nil {
		return err
	}
	cmd.SysProcAttr = groupAttributes(p.config.EndWithParent)
	if u := p.config.User; u != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: u.UID, Gid: u.GID}
	}
	cmd.Env = []string{} // nil would be our own
	for name, value := range environ {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	// The deferred calls close our descriptors; the server holds the lock by its own.
	return startProcess(cmd, d, p.config.EndWithParent)
}

// isShortage reports whether the machine lacks something for now: descriptors, processes, memory or space on a disk.
func isShortage(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOBUFS, syscall.ENOSPC, syscall.EDQUOT,
	}, func(shortage error) bool { return errors.Is(err, shortage) })
}

// startProcess starts the process and waits for its end in a goroutine. With keepThread the goroutine keeps its thread,
// because the kernel then kills the process when the thread that started it ends.
func startProcess(cmd *exec.Cmd, d deployment, keepThread bool) error {
	started := make(chan error, 1)
	go func() {
		if keepThread {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
		}
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait()
		// This fails if the directory was deleted.
		_ = os.WriteFile(d.pathOf("exit"), []byte(cmd.ProcessState.String()), 0o600)
	}()
	return <-started
}
