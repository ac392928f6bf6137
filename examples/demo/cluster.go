package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/examples/lobby/backend"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/provider/process"
)

// Sizes and intervals of the fleet. The lease is short, so that the lease of a killed server expires within the run.
const (
	serverCount    = 6
	sessionSize    = 8
	leaseTTL       = 5 * time.Second
	seatTTL        = 15 * time.Second // a guest who leaves during its call may keep a seat for so long, and its server
	heartbeatEvery = 1500 * time.Millisecond
	region         = "local"
	startTimeout   = 10 * time.Minute // the first build takes minutes
)

var modes = []string{"ffa", rankedMode}

// capacityOf is the number of seats of the i-th server. Without the killed and the drained server the fleet has about a
// fifth more seats than there are bots: enough for all, and few enough that matches fill up.
func capacityOf(i int) int { return (3 - i%2) * sessionSize }

// cluster is all processes of the demo, and a connection pool with which the demo reads the database as an operator
// does. Its directory holds bin/, postgres/, and logs/ with the logs of all processes.
type cluster struct {
	workDir      string
	playerLogin  devlogin.Issuer
	fleetKey     string   // the game servers' secret
	rankingToken string   // the secret of the studio's backend, which knows the players' skills
	consoleLink  string   // opens the console
	directorEnv  []string // environment of all processes of the director
	postgres     *pglocal.Cluster
	dbPool       *pgxpool.Pool

	launchedServers *process.Provider // reads the game servers that workers start
	revokeWill      func()            // revokes the last will, which kills them after a kill of the demo

	replicas    []replica
	replicaURLs []string        // base URLs, in the order of the replicas
	lobbyURLs   []string        // URLs of the realtime lobby, in the order of the replicas
	backend     backend.Backend // makes tokens for the realtime lobby

	mu               sync.Mutex
	startedProcesses []*subprocess.Process
}

// replica is a replica of the director. It keeps its address when it is started again.
type replica struct {
	command subprocess.Command
	baseURL string
}

func (c *cluster) logsDir() string { return filepath.Join(c.workDir, "logs") }
func (c *cluster) binDir() string  { return filepath.Join(c.workDir, "bin") }
func (c *cluster) removeDir()      { _ = os.RemoveAll(c.workDir) }

// newCommand returns the command that runs one of the binaries under a name. Besides env it gets only the variables of
// this process that every program needs: others, such as DATABASE_URL, could make it use another database.
func (c *cluster) newCommand(binary, name string, env []string, args ...string) subprocess.Command {
	for _, variable := range []string{"PATH", "HOME", "TMPDIR", "TZ"} {
		if value, ok := os.LookupEnv(variable); ok {
			// Clipped, since callers pass the same slice to several commands: append must not write into it.
			env = append(slices.Clip(env), variable+"="+value)
		}
	}
	return subprocess.Command{Name: name, Path: filepath.Join(c.binDir(), binary), Args: args, Env: env,
		Logs: c.logsDir()}
}

// runCommand starts a process that stopAll stops.
func (c *cluster) runCommand(command subprocess.Command) error {
	p, err := command.Start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startedProcesses = append(c.startedProcesses, p)
	return nil
}

// launchReplica starts a replica and waits until it is ready.
func (c *cluster) launchReplica(ctx context.Context, r replica) error {
	if err := c.runCommand(r.command); err != nil {
		return err
	}
	return c.processNamed(r.command.Name).AwaitReady(ctx, r.baseURL+"/readyz")
}

// processesWithPrefix returns the processes whose name begins with a prefix, in the order of their starts.
func (c *cluster) processesWithPrefix(prefix string) (found []*subprocess.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.startedProcesses {
		if strings.HasPrefix(p.Name(), prefix) {
			found = append(found, p)
		}
	}
	return found
}

// processNamed returns the process of a name that was started; of several, the latest: a replica that was started again
// has the name of the killed one.
func (c *cluster) processNamed(name string) *subprocess.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range slices.Backward(c.startedProcesses) {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// unexpectedExit returns an error when a process has ended that the demo has not stopped or killed.
func (c *cluster) unexpectedExit() error {
	for _, p := range c.processesWithPrefix("") {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return c.postgres.Err()
}

// stopProcesses stops processes side by side. Its error is that of one that failed or did not end.
func stopProcesses(ctx context.Context, processes []*subprocess.Process) error {
	var group errgroup.Group
	for _, p := range processes {
		// Those that chaos has killed have ended, and not with exit code 0.
		if !p.Killed() {
			group.Go(func() error { return p.Stop(ctx) })
		}
	}
	return group.Wait()
}
