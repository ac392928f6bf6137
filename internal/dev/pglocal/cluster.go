package pglocal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Cluster is a private Postgres server and its data. It is safe for concurrent use.
type Cluster struct {
	options Options
	files   layout
	port    int
	log     *slog.Logger

	mu         sync.Mutex
	lockFile   *os.File // held from a start until a stop
	latestRun  *process // the latest run, nil before the first
	isStopping bool     // Stop or StopImmediate was called for the latest run
	password   string
}

// Start runs the cluster in o.Dir and returns when it accepts connections. It makes the cluster if there is none, and
// keeps the data of an existing one. ctx bounds the start only. The server ends with this process, for whatever reason
// that ends. Start first stops a server that an earlier process left running.
//
// Errors: [ErrNotInstalled]; an [*InUseError] while another process runs this cluster; a data directory of another
// major version; else an error with the output of Postgres.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c, err := prepareCluster(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

func prepareCluster(ctx context.Context, o Options) (*Cluster, error) {
	if o.Dir == "" {
		return nil, errors.New("pglocal: Options.Dir is required")
	}
	at, err := layoutOf(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("pglocal: %w", err)
	}
	c := &Cluster{options: o, files: at, port: o.TCPPort, log: o.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	switch c.port {
	case 0:
		c.port = 5432 // without TCP it is only part of the socket's name
	case AnyPort:
		if c.port, err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// URL returns the URL of a database of the cluster, such as "postgres", over the Unix socket, as the superuser. It does
// not change with a restart.
func (c *Cluster) URL(database string) string { return c.files.socketURL(database, c.port) }

// TCPURL returns the URL of a database over 127.0.0.1, as the superuser. It contains the password: keep it out of logs.
// It does not change with a restart. It is only valid with [Options.TCPPort].
func (c *Cluster) TCPURL(database string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files.tcpURL(database, c.port, c.password)
}

// PID returns the postmaster's process id, 0 while the cluster is stopped.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.latestRun.isRunning() {
		return 0
	}
	return c.latestRun.pid()
}

// Done returns a channel that is closed when the current server has ended, stopped or crashed. Each start makes a new
// one.
func (c *Cluster) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latestRun.done
}

// Err returns why the server crashed. It returns nil while the server runs, and after Stop or StopImmediate.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isStopping || c.latestRun.isRunning() {
		return nil
	}
	return fmt.Errorf("pglocal: Postgres ended by itself (%v), see %s", c.latestRun.cmd.ProcessState, c.files.logFile)
}

// Stop stops the server: it rolls back open transactions and writes everything to disk. If ctx ends first, it stops the
// server as [Cluster.StopImmediate] does. It does nothing to a stopped cluster.
func (c *Cluster) Stop(ctx context.Context) error {
	server := c.beginStop()
	defer c.unlockIfStopped()
	// Postgres's fast shutdown: it ends connections, where SIGTERM would wait for clients to leave.
	err := server.endWith(ctx, syscall.SIGINT)
	if ctx.Err() != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "postgres did not stop in time, stopping it immediately")
		return c.StopImmediate()
	}
	return err
}

// StopImmediate stops the server as a crash would (pg_ctl stop -m immediate): the next start recovers what was
// committed. It takes milliseconds, or up to five seconds if a backend does not react.
func (c *Cluster) StopImmediate() error {
	server := c.beginStop()
	defer c.unlockIfStopped()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := server.endWith(ctx, syscall.SIGQUIT)
	// SIGQUIT has the postmaster wait five seconds for its backends: one that hangs in the kernel outlasts that.
	if ctx.Err() != nil {
		return server.endWith(context.Background(), syscall.SIGKILL)
	}
	return err
}

// beginStop returns the current server, and records that its end is not a crash.
func (c *Cluster) beginStop() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isStopping = c.isStopping || c.latestRun.isRunning()
	return c.latestRun
}

// unlockIfStopped releases the directory, unless the cluster was started again meanwhile.
func (c *Cluster) unlockIfStopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.latestRun.isRunning() {
		c.releaseLock()
	}
}

func (c *Cluster) releaseLock() {
	if c.lockFile != nil {
		release(c.lockFile)
		c.lockFile = nil
	}
}

// Restart stops the server and starts it again.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return c.Start(ctx)
}

// freePort returns a free port from the kernel, because Postgres does not support port 0.
func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("pglocal: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
