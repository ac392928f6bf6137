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
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/internal/dev/subprocess"
)

// startAll starts everything in order. After an error, stopAll stops what was started.
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
		name string
		do   func(context.Context) (string, error)
	}{
		{"postgres", c.startPostgres}, {"binaries", c.buildBinaries}, {"director", c.startDirector},
		{"matchmaker", c.startMatchmaker},
	} {
		if err := s.showStep(step.name, func() (string, error) { return step.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// startPostgres starts a server that loses nothing acknowledged when it is killed.
func (c *cluster) startPostgres(ctx context.Context) (how string, err error) {
	c.postgres, err = pglocal.Start(ctx, pglocal.Options{Dir: filepath.Join(c.workDir, "postgres"), Durable: true})
	if err != nil {
		return "", err
	}
	c.dbPool, err = pgxpool.New(ctx, c.postgres.URL("postgres"))
	return "a private server, as durable as one in production", err
}

// buildBinaries builds the two programs that the demo runs, from the tree in which it runs.
func (c *cluster) buildBinaries(ctx context.Context) (how string, err error) {
	const module = "github.com/lattice-director/director"
	out, err := exec.CommandContext(ctx, "go", "build", "-o", c.binDir()+"/", module+"/cmd/director",
		module+"/examples/arena").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return "director and arena, built", nil
}

// startDirector migrates the database, then starts the replicas.
func (c *cluster) startDirector(ctx context.Context) (how string, err error) {
	c.fleetKey, c.rankingToken, c.backend.InternalToken = rand.Text(), rand.Text(), rand.Text()
	if c.playerLogin, err = devlogin.New(); err != nil {
		return "", err
	}
	c.directorEnv = c.commonSettings()
	if err := c.newCommand("director", "migrate", c.directorEnv, "migrate", "up").Run(ctx); err != nil {
		return "", err
	}
	addrs, err := subprocess.FreeAddrs(ctx, 6)
	if err != nil {
		return "", err
	}
	// Of each replica its API and its lobby; of the first one also the control API of the lobby and the console.
	apiAddrs, lobbyAddrs, controlAddr, consoleAddr := addrs[:2], addrs[2:4], addrs[4], addrs[5]
	c.backend.URL = "http://" + controlAddr
	secret := rand.Text()
	// Browsers send no server what follows #, so that no log has the secret.
	c.consoleLink = "http://" + consoleAddr + "/login#token=" + secret
	control := []string{"DIRECTOR_REALTIME_CONTROL_ADDR=" + controlAddr, "DIRECTOR_CONSOLE_ADDR=" + consoleAddr,
		"DIRECTOR_OPS_TOKENS=demo=" + secret}
	var group errgroup.Group
	for i, addr := range apiAddrs {
		env := slices.Concat(c.directorEnv,
			[]string{"DIRECTOR_ADDR=" + addr, "DIRECTOR_REALTIME_ADDR=" + lobbyAddrs[i]})
		if i == 0 {
			env = append(env, control...)
		}
		r := replica{c.newCommand("director", fmt.Sprintf("replica-%d", i+1), env, "serve"), "http://" + addr}
		c.replicas = append(c.replicas, r)
		c.replicaURLs = append(c.replicaURLs, r.baseURL)
		c.lobbyURLs = append(c.lobbyURLs, "ws://"+lobbyAddrs[i])
		group.Go(func() error { return c.launchReplica(ctx, r) })
	}
	return "replicas at " + strings.Join(apiAddrs, " and "), group.Wait()
}

// commonSettings returns the settings that all processes of the director share, with new secrets.
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
		"DIRECTOR_SEAT_TTL="+seatTTL.String(),
		"DIRECTOR_LOG_FORMAT=text",
	)
}

// startServers starts the game servers and waits until all have registered.
func (c *cluster) startServers(ctx context.Context) error {
	for i := range serverCount {
		name := fmt.Sprintf("arena-%d", i+1)
		err := c.runCommand(c.newCommand("arena", name, []string{"FLEET_TOKEN=" + c.fleetKey},
			"server", "--director", strings.Join(c.replicaURLs, ","), "--instance-id", name, "--region", region,
			"--modes", strings.Join(modes, ","), "--capacity", strconv.Itoa(capacityOf(i)), "--heartbeat-every",
			heartbeatEvery.String(), "--grace", "3s",
			"--empty-for", "1s"))
		if err != nil {
			return err
		}
	}
	var err error
	awaitTrue(ctx, func() bool {
		known := 0
		err = errors.Join(c.unexpectedExit(), c.dbPool.QueryRow(ctx,
			`SELECT count(*) FROM ops.fleet WHERE alive AND region = $1`, region).Scan(&known))
		return err != nil || known == serverCount
	})
	// The end of ctx is the only other reason why awaitTrue has returned without all servers.
	return errors.Join(err, ctx.Err())
}

// stopAll stops everything, game servers first, so that they can deregister. Errors: processes that failed or did not
// end.
func (c *cluster) stopAll() error {
	// A context of its own: that of the demo has ended, if Ctrl-C ended the demo.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	errs := []error{stopProcesses(ctx, c.processesWithPrefix("arena-")), stopProcesses(ctx, c.processesWithPrefix("")),
		c.endServers(ctx)}
	// Before Postgres stops, which waits for busy connections.
	if c.dbPool != nil {
		c.dbPool.Close()
	}
	if c.postgres != nil {
		errs = append(errs, c.postgres.Stop(ctx))
	}
	return errors.Join(errs...)
}
