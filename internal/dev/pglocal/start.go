package pglocal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// logLimit is the size, in bytes, above which a start truncates the server's log.
const logLimit = 16 << 20

// Start runs a stopped cluster again, at the same URL. It fails if the cluster is running. Otherwise it is like the
// function [Start].
func (c *Cluster) Start(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latestRun != nil && c.latestRun.isRunning() {
		return fmt.Errorf("pglocal: %s is running already", c.files.baseDir)
	}
	if err := c.startServer(ctx); err != nil {
		c.releaseLock()
		return fmt.Errorf("pglocal: %w", err)
	}
	return nil
}

func (c *Cluster) startServer(ctx context.Context) (err error) {
	begun := time.Now()
	if c.lockFile == nil {
		if c.lockFile, err = acquireLock(c.files); err != nil {
			return err
		}
	}
	as, binaries, err := c.prepareFiles(ctx)
	if err != nil {
		return err
	}
	// A server that an earlier process left running holds the port and the data.
	if err := endOrphan(ctx, c.files.dataDir); err != nil {
		return err
	}
	server, err := c.spawnRetrying(ctx, as, binaries)
	if err != nil {
		return err
	}
	c.latestRun, c.isStopping = server, false
	c.log.LogAttrs(ctx, slog.LevelInfo, "postgres started", slog.String("dir", c.files.baseDir),
		slog.Int("pid", server.pid()), slog.Duration("took", time.Since(begun)))
	return nil
}

// spawnRetrying retries for 10 s while backends of a killed postmaster are still running.
func (c *Cluster) spawnRetrying(ctx context.Context, as account, b Binaries) (*process, error) {
	retrying, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		server, err := c.spawnServer(ctx, as, b)
		// Postgres has no code for it, only the text: LC_ALL=C keeps it English.
		if err == nil || !strings.Contains(err.Error(), "pre-existing shared memory block") {
			return server, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-retrying.Done():
			return nil, err
		}
	}
}

// spawnServer starts the server and waits until it is ready.
func (c *Cluster) spawnServer(ctx context.Context, as account, b Binaries) (*process, error) {
	output, err := openLog(c.files.logFile)
	if err != nil {
		return nil, err
	}
	// The server has a descriptor of its own.
	defer func() { _ = output.Close() }()
	cmd := exec.Command(b.programPath("postgres"), c.options.serverArguments(c.files, c.port)...)
	cmd.Stdout, cmd.Stderr = output, output
	server, err := launchProcess(cmd, as, c.deathSignal(), c.lockFile)
	if err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx, server); err != nil {
		return nil, err
	}
	return server, nil
}

// deathSignal is the signal that the server gets when this process ends. A durable cluster stops cleanly, which avoids
// a recovery at the next start; the others stop immediately.
func (c *Cluster) deathSignal() syscall.Signal {
	if c.options.Durable {
		return syscall.SIGINT
	}
	return syscall.SIGQUIT
}

// prepareFiles checks, and makes if necessary, all files that the server needs. It reads the password.
func (c *Cluster) prepareFiles(ctx context.Context) (as account, b Binaries, err error) {
	made, err := majorOf(c.files.dataDir)
	if err != nil {
		return as, b, err
	}
	if b, err = binariesFor(c.options, c.files.dataDir, made); err != nil {
		return as, b, err
	}
	if as, err = accountFor(c.files.dataDir); err != nil {
		return as, b, err
	}
	if err := as.checkReach(b.Dir); err != nil {
		return as, b, err
	}
	if err := as.checkReach(c.files.baseDir); err != nil {
		return as, b, fmt.Errorf("%w: use another directory, such as /var/lib/director", err)
	}
	if err := as.privateDir(c.files.socketDir); err != nil {
		return as, b, err
	}
	if made == 0 {
		if err := initCluster(ctx, b, as, c.files, c.options.Durable); err != nil {
			return as, b, err
		}
	}
	// Over the socket nobody is asked for it: see --auth-local.
	if c.options.TCPPort != 0 {
		if c.password, err = readPassword(c.files.passwordFile); err != nil {
			return as, b, err
		}
	}
	return as, b, nil
}

func openLog(path string) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(path, flags, 0o600)
}

// awaitReady waits until the pid file says that the server is ready. After an error the server has ended.
func (c *Cluster) awaitReady(ctx context.Context, server *process) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if file := readPIDFile(c.files.dataDir); file.pid == server.pid() && file.serverState == "ready" {
			return nil
		}
		select {
		case <-server.done:
			return fmt.Errorf("Postgres did not start (%v): %s", server.cmd.ProcessState, tailOf(c.files.logFile))
		case <-ctx.Done():
			// The caller gets no server that it could stop, so none may be left running.
			_ = server.endWith(context.Background(), syscall.SIGQUIT)
			return fmt.Errorf("Postgres did not start in time: %w: %s", ctx.Err(), tailOf(c.files.logFile))
		case <-tick.C:
		}
	}
}

// tailOf returns the end of the server's log.
func tailOf(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return lastLines(content, 8)
}
