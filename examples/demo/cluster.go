package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
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
	workDir     string
	playerLogin devlogin.Issuer
	fleetKey    string // the game servers' secret
	// rankingToken is that of the studio's backend, which knows the players' skills
	rankingToken string
	consoleLink  string   // the link that opens the console
	directorEnv  []string // of all processes of the director
	postgres     *pglocal.Cluster
	dbPool       *pgxpool.Pool

	launchedServers *process.Provider // reads the game servers that workers start
	revokeWill      func()            // of the last will that kills them

	replicas         []replica
	replicaURLs      []string        // of the replicas
	lobbyURLs        []string        // of the realtime lobby, in the order of the replicas
	backend          backend.Backend // makes tokens for the realtime lobby
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

// startAll starts everything in order. After an error, stop stops what was started.
func (c *cluster) startAll(ctx context.Context, s *screen) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if c.workDir, err = os.MkdirTemp("", "director-demo-"); err != nil {
		return err
	}
	// Postgres refuses to run as root: started by root it runs as another user, who needs access to its directory.
	if err := errors.Join(os.Chmod(c.workDir, 0o711), os.Mkdir(c.logsDir(), 0o700), c.adoptServers()); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) (string, error)
	}{
		{"postgres", c.startPostgres}, {"binaries", c.buildBinaries}, {"director", c.startDirector},
		{"matchmaker", c.startMatchmaker},
	} {
		if err := s.showStep(step.what, func() (string, error) { return step.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startPostgres(ctx context.Context) (how string, err error) {
	c.postgres, err = pglocal.Start(ctx, pglocal.Options{Dir: filepath.Join(c.workDir, "postgres"), Durable: true})
	if err != nil {
		return "", err
	}
	c.dbPool, err = pgxpool.New(ctx, c.postgres.URL("postgres"))
	return "a private server, as durable as one in production", err
}

func (c *cluster) buildBinaries(ctx context.Context) (how string, err error) {
	const module = "github.com/lattice-director/director"
	out, err := exec.CommandContext(ctx, "go", "build", "-o", c.binDir()+"/", module+"/cmd/director",
		module+"/examples/arena").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return "director and arena, built", nil
}

// newCommand is a run of one of the binaries. It inherits only the variables that every program needs: others, such as
// DATABASE_URL, could make it use another database.
func (c *cluster) newCommand(binary, name string, env []string, args ...string) subprocess.Command {
	for _, variable := range []string{"PATH", "HOME", "TMPDIR", "TZ"} {
		if value, ok := os.LookupEnv(variable); ok {
			env = append(slices.Clip(env), variable+"="+value)
		}
	}
	return subprocess.Command{Name: name, Path: filepath.Join(c.binDir(), binary), Args: args, Env: env,
		Logs: c.logsDir()}
}

// startDirector migrates the database, then starts the replicas.
func (c *cluster) startDirector(ctx context.Context) (how string, err error) {
	c.fleetKey, c.rankingToken = rand.Text(), rand.Text()
	if c.playerLogin, err = devlogin.New(); err != nil {
		return "", err
	}
	c.directorEnv = c.commonSettings()
	if err := c.newCommand("director", "migrate", c.directorEnv, "migrate", "up").Run(ctx); err != nil {
		return "", err
	}
	// Two for the API of the replicas and two for their lobbies, then the control API of the lobby and the console.
	addrs, err := subprocess.FreeAddrs(ctx, 6)
	if err != nil {
		return "", err
	}
	c.backend.URL = "http://" + addrs[4]
	secret := rand.Text()
	c.consoleLink = "http://" + addrs[5] + "/login#token=" + secret
	control := []string{"DIRECTOR_REALTIME_CONTROL_ADDR=" + addrs[4], "DIRECTOR_CONSOLE_ADDR=" + addrs[5],
		"DIRECTOR_OPS_TOKENS=demo=" + secret}
	var group errgroup.Group
	for i, addr := range addrs[:2] {
		env := slices.Concat(c.directorEnv, control,
			[]string{"DIRECTOR_ADDR=" + addr, "DIRECTOR_REALTIME_ADDR=" + addrs[2+i]})
		r := replica{c.newCommand("director", fmt.Sprintf("replica-%d", i+1), env, "serve"), "http://" + addr}
		c.replicas, c.replicaURLs, c.lobbyURLs = append(c.replicas, r), append(c.replicaURLs,
			r.baseURL), append(c.lobbyURLs,
			"ws://"+addrs[2+i])
		group.Go(func() error { return c.launchReplica(ctx, r) })
		control = nil // one replica is enough
	}
	return "replicas at " + strings.Join(addrs[:2], " and "), group.Wait()
}

// commonSettings are the environment of all processes of the director.
func (c *cluster) commonSettings() []string {
	kek := make([]byte, 32)
	_, _ = rand.Read(kek) // never fails
	return append(c.lobbySettings(),
		"DATABASE_URL="+c.postgres.URL("postgres"),
		"DIRECTOR_KEY_ENCRYPTION_KEY="+base64.StdEncoding.EncodeToString(kek),
		"DIRECTOR_FLEET_TOKEN="+c.fleetKey,
		"DIRECTOR_BACKEND_TOKENS=ranking:players="+c.rankingToken,
		"DIRECTOR_AUTH_JWKS="+c.playerLogin.JWKS(),
		"DIRECTOR_LEASE_TTL="+leaseTTL.String(),
		"DIRECTOR_LOG_FORMAT=text",
	)
}

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

// startServers starts the game servers and waits until all have registered.
func (c *cluster) startServers(ctx context.Context) error {
	for i := range serverCount {
		name := fmt.Sprintf("arena-%d", i+1)
		err := c.runCommand(c.newCommand("arena", name, []string{"FLEET_TOKEN=" + c.fleetKey},
			"server", "--director", strings.Join(c.replicaURLs, ","), "--instance-id", name, "--region", region,
			"--modes",
			strings.Join(modes, ","),
			"--capacity", strconv.Itoa(capacityOf(i)), "--heartbeat-every", heartbeatEvery.String(), "--grace", "3s",
			"--empty-for", "1s"))
		if err != nil {
			return err
		}
	}
	var err error
	awaitTrue(ctx, func() bool {
		known := 0
		err = errors.Join(c.unexpectedExit(), c.dbPool.QueryRow(ctx, `SELECT count(*) FROM ops.fleet WHERE alive AND region = $1`, region).Scan(&known))
		return err != nil || known == serverCount
	})
	return errors.Join(err, ctx.Err())
}

// processesNamed are the processes whose name has the prefix, the latest last.
func (c *cluster) processesNamed(prefix string) (found []*subprocess.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.startedProcesses {
		if strings.HasPrefix(p.Name(), prefix) {
			found = append(found, p)
		}
	}
	return found
}

// processNamed returns the latest process of the name.
func (c *cluster) processNamed(name string) *subprocess.Process {
	all := c.processesNamed(name)
	return all[len(all)-1]
}

// unexpectedExit returns an error when a process has ended that the demo has not stopped or killed.
func (c *cluster) unexpectedExit() error {
	for _, p := range c.processesNamed("") {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return c.postgres.Err()
}

// stopAll stops everything, game servers first, so that they can deregister. Errors: processes that failed or did not end.
func (c *cluster) stopAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	errs := []error{stopAll(ctx, c.processesNamed("arena-")), stopAll(ctx, c.processesNamed("")), c.endServers(ctx)}
	if c.dbPool != nil {
		c.dbPool.Close()
	}
	if c.postgres != nil {
		errs = append(errs, c.postgres.Stop(ctx))
	}
	return errors.Join(errs...)
}

func stopAll(ctx context.Context, processes []*subprocess.Process) error {
	var group errgroup.Group
	for _, p := range processes {
		if !p.Killed() {
			group.Go(func() error { return p.Stop(ctx) })
		}
	}
	return group.Wait()
}
