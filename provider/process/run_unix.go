//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/lattice-director/director/provider"
)

var supported error

// launchScript writes the process id and becomes the game. exec keeps the id of the shell. The game does not get the file: it
// could make the director signal others.
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

// startProcess starts the process and waits for its end in a goroutine. With EndWithParent that keeps its thread: the kernel
// kills the process when the thread that started it ends.
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
		// fails where the directory was deleted
		_ = os.WriteFile(d.pathOf("exit"), []byte(cmd.ProcessState.String()), 0o600)
	}()
	return <-started
}

// environmentOf adds the ports to a server's environment, also in the form in which servers that were built for Edgegap
// read them.
func (p *Provider) environmentOf(env provider.Env, ports map[string]provider.Port) map[string]string {
	all := make(map[string]string, len(env)+len(ports))
	maps.Copy(all, env)
	for name, port := range ports {
		all["LATTICE_PORT_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = fmt.Sprint(port.Internal)
	}
	if _, builtForEdgegap := env["ARBITRIUM_PORTS_MAPPING"]; builtForEdgegap {
		all["ARBITRIUM_PORTS_MAPPING"], all["ARBITRIUM_PUBLIC_IP"] = provider.PortsMapping(ports), p.config.Advertise.String()
	}
	return all
}

// lockFile returns the file with an exclusive lock, which ends with its last descriptor.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := lockNow(file, syscall.LOCK_EX)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			_ = file.Close()
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}

// lockNow takes a lock without waiting.
func lockNow(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isAlive reports whether a process of the deployment holds the lock. Observers share theirs, so that they do not see
// each other. If the file cannot be opened, as with too many open files, the process may be alive.
func (d deployment) isAlive() bool {
	file, err := os.Open(d.pathOf("lock"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = file.Close() }()
	return errors.Is(lockNow(file, syscall.LOCK_SH), syscall.EWOULDBLOCK)
}

// terminateGroup and kill signal a process group. It is no error if the group does not exist any more.
func terminateGroup(pid int) error { return signalGroup(pid, syscall.SIGTERM) }

func killGroup(pid int) error { return signalGroup(pid, syscall.SIGKILL) }

func signalGroup(pid int, s syscall.Signal) error {
	err := syscall.Kill(-pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}
