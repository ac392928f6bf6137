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
	at      layout
	port    int
	log     *slog.Logger

	mu       sync.Mutex
	lock     *os.File // held from a start until a stop
	server   *process // the latest run, nil before the first
	asked    bool     // the latest run was asked to stop
	password string
}

// Start runs the cluster of o.Dir, making it first when there is none, and returns once it accepts connections; ctx
// bounds the starting, not the life. The server ends with this process, however that ends. Data of an earlier Start is
// kept. A server that an earlier process left behind is ended first.
//
// Errors: [ErrNotInstalled]; an [*InUseError] while another process runs this cluster; a data directory of another major
// version; else what Postgres said.
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
		return nil, errors.New("pglocal: no directory was given")
	}
	at, err := layoutOf(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("pglocal: %w", err)
	}
	c := &Cluster{options: o, at: at, port: o.TCPPort, log: o.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	switch c.port {
	case 0:
		c.port = 5432 // then it is only part of the socket's name
	case AnyPort:
		c.port, err = freePort(ctx)
	}
	return c, err
}

// URL addresses a database of the cluster, such as "postgres", over the Unix socket, as its superuser. It stays the same
// over restarts.
func (c *Cluster) URL(database string) string { return c.at.socketURL(database, c.port) }

// TCPURL addresses a database over 127.0.0.1, as the superuser, and holds the password: keep it out of logs. It stays
// the same over restarts, and leads nowhere without [Options.TCPPort].
func (c *Cluster) TCPURL(database string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at.tcpURL(database, c.port, c.password)
}

// PID is the postmaster's process id, zero while the cluster is stopped.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.running() {
		return 0
	}
	return c.server.pid()
}

// Done is closed when the server that runs now is gone, be it stopped or dead. After the next start ask again.
func (c *Cluster) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server.done
}

// Err says why the server died. It is nil while the server runs and after a stop that was asked for.
func (c *Cluster) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked || c.server.running() {
		return nil
	}
	return fmt.Errorf("pglocal: Postgres ended by itself (%v), see %s", c.server.cmd.ProcessState, c.at.log)
}

// Stop ends the server: open transactions are rolled back, everything is written to disk. When ctx ends first it stops
// the server as [Cluster.StopImmediate] does. Stopping a stopped cluster does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	server := c.ask()
	defer c.letGo()
	err := server.end(ctx, syscall.SIGINT)
	if ctx.Err() != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "postgres takes long to stop, stopping it at once")
		return c.StopImmediate()
	}
	return err
}

// StopImmediate ends the server as a crash would (pg_ctl stop -m immediate): the next start recovers what was
// committed. It takes milliseconds, and up to five seconds when a backend does not listen.
func (c *Cluster) StopImmediate() error {
	server := c.ask()
	defer c.letGo()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := server.end(ctx, syscall.SIGQUIT)
	if ctx.Err() != nil {
		return server.end(context.Background(), syscall.SIGKILL)
	}
	return err
}

// ask notes that the end of the server that runs now is wanted.
func (c *Cluster) ask() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = c.asked || c.server.running()
	return c.server
}

// letGo leaves the directory to others, unless the cluster was started again meanwhile.
func (c *Cluster) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.running() {
		c.unlock()
	}
}

func (c *Cluster) unlock() {
	if c.lock != nil {
		release(c.lock)
		c.lock = nil
	}
}

// Restart stops the server and starts it again.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return c.Start(ctx)
}

// freePort asks the kernel: Postgres itself does not know port 0.
func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("pglocal: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}
