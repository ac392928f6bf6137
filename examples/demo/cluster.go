package main

import (
	"cmp"
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

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/internal/devlogin"
	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/internal/subprocess"
)

// cluster is all processes of the demo, and a connection pool with which the demo reads the database as an operator does. Its
// directory holds bin/ (unless --bin is given), postgres/, and logs/ with the logs of all processes.
type cluster struct {
	options  options
	dir      string
	login    *bots.Issuer
	fleetKey string // the game servers' secret
	postgres *pglocal.Cluster
	db       *pgxpool.Pool

	replicas []*replica
	mu       sync.Mutex
	running  map[string]*subprocess.Process // by name
}

// replica is a replica of the director. It keeps its address when it is started again.
type replica struct {
	subprocess.Command

	addr string
}

func (c *cluster) logs() string { return filepath.Join(c.dir, "logs") }
func (c *cluster) bin() string  { return cmp.Or(c.options.bin, filepath.Join(c.dir, "bin")) }
func (c *cluster) remove()      { _ = os.RemoveAll(c.dir) }

// start starts everything in order. It prints each step before it makes it, because some take long on a new machine. After an
// error, stop stops what was started.
func (c *cluster) start(ctx context.Context, s *screen) (err error) {
	c.fleetKey, c.running = rand.Text(), map[string]*subprocess.Process{}
	if c.dir, err = os.MkdirTemp("", "director-demo-"); err != nil {
		return err
	}
	// Postgres refuses to run as root: started by root it runs as another user, who needs access to its directory.
	if err := errors.Join(os.Chmod(c.dir, 0o711), os.Mkdir(c.logs(), 0o700)); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) (string, error)
	}{
		{"postgres", c.startPostgres}, {"binaries", c.build}, {"director", c.startDirector}, {"arena", c.startServers},
	} {
		if err := s.step(step.what, func() (string, error) { return step.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startPostgres(ctx context.Context) (how string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	c.postgres, err = pglocal.Start(ctx, pglocal.Options{Dir: filepath.Join(c.dir, "postgres"), Durable: true})
	if err != nil {
		return "", err
	}
	c.db, err = pgxpool.New(ctx, c.postgres.URL("postgres"))
	return "a private server, as durable as one in production", err
}

func (c *cluster) build(ctx context.Context) (how string, err error) {
	if c.options.bin != "" {
		return "director and arena of " + c.options.bin, nil
	}
	const module = "github.com/lattice-director/director"
	out, err := exec.CommandContext(ctx, "go", "build", "-o", c.bin()+"/", module+"/cmd/director", module+"/examples/arena").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return "director and arena, built", nil
}

// command is a run of one of the binaries. It inherits only the variables that every program needs: others, such as
// DATABASE_URL, could make it use another database.
func (c *cluster) command(binary, name string, env []string, args ...string) subprocess.Command {
	for _, variable := range []string{"PATH", "HOME", "TMPDIR", "TZ"} {
		if value, ok := os.LookupEnv(variable); ok {
			env = append(slices.Clip(env), variable+"="+value)
		}
	}
	return subprocess.Command{Name: name, Path: filepath.Join(c.bin(), binary), Args: args, Env: env, Logs: c.logs()}
}

// startDirector migrates the database, then starts the replicas and the worker.
func (c *cluster) startDirector(ctx context.Context) (how string, err error) {
	env, err := c.settings()
	if err != nil {
		return "", err
	}
	migrating, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if err := c.command("director", "migrate", env, "migrate", "up").Run(migrating); err != nil {
		return "", err
	}
	addrs, err := subprocess.FreeAddrs(ctx, 2)
	if err != nil {
		return "", err
	}
	var group errgroup.Group
	for i, addr := range addrs {
		r := &replica{c.command("director", fmt.Sprintf("replica-%d", i+1), append(slices.Clip(env), "DIRECTOR_ADDR="+addr), "serve"), addr}
		c.replicas = append(c.replicas, r)
		group.Go(func() error { return c.launch(ctx, r) })
	}
	group.Go(func() error { return c.run(c.command("director", "worker", env, "work")) })
	return fmt.Sprintf("a worker, and replicas at %s and %s", addrs[0], strings.TrimPrefix(addrs[1], "127.0.0.1")), group.Wait()
}

// settings are the environment of all processes of the director. They verify access tokens of c.login.
func (c *cluster) settings() ([]string, error) {
	login, err := devlogin.New()
	if err != nil {
		return nil, err
	}
	c.login, err = bots.LoadIssuer(string(login.JWK()))
	kek := make([]byte, 32)
	_, _ = rand.Read(kek) // never fails
	return []string{
		"DATABASE_URL=" + c.postgres.URL("postgres"),
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(kek),
		"DIRECTOR_FLEET_TOKEN=" + c.fleetKey,
		"DIRECTOR_AUTH_JWKS=" + login.JWKS(),
		"DIRECTOR_LEASE_TTL=" + leaseTTL.String(),
		"DIRECTOR_REAP_INTERVAL=500ms",
		"DIRECTOR_LOG_FORMAT=text",
	}, err
}

func (c *cluster) run(command subprocess.Command) error {
	p, err := command.Start()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[command.Name] = p
	return nil
}

// launch starts a replica and waits until it is ready.
func (c *cluster) launch(ctx context.Context, r *replica) error {
	if err := c.run(r.Command); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return c.process(r.Name).AwaitReady(ctx, "http://"+r.addr+"/readyz")
}

func (c *cluster) process(name string) *subprocess.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[name]
}

func (c *cluster) urls() (urls []string) {
	for _, r := range c.replicas {
		urls = append(urls, "http://"+r.addr)
	}
	return urls
}

// startServers starts the game servers and waits until all have registered.
func (c *cluster) startServers(ctx context.Context) (how string, err error) {
	for i := range c.options.servers {
		name := fmt.Sprintf("arena-%d", i+1)
		err := c.run(c.command("arena", name, []string{"FLEET_TOKEN=" + c.fleetKey},
			"server", "--director", strings.Join(c.urls(), ","), "--instance-id", name, "--region", region, "--modes", strings.Join(modes, ","),
			"--capacity", strconv.Itoa(c.options.capacity(i)), "--heartbeat-every", heartbeatEvery.String(), "--grace", "3s"))
		if err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	known := 0
	registered := func() bool {
		err = errors.Join(c.unexpectedExit(), c.db.QueryRow(ctx, `SELECT count(*) FROM ops.fleet WHERE alive`).Scan(&known))
		return err != nil || known == c.options.servers
	}
	if !await(ctx, registered) {
		err = fmt.Errorf("only %d of %d game servers have registered", known, c.options.servers)
	}
	return fmt.Sprintf("%d game servers with %d or %d seats have registered", known, c.options.capacity(1), c.options.capacity(0)), err
}

// processes are the latest runs of all programs whose name has the prefix.
func (c *cluster) processes(prefix string) (found []*subprocess.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.running {
		if strings.HasPrefix(name, prefix) {
			found = append(found, p)
		}
	}
	return found
}

// unexpectedExit returns an error when a process has ended that the demo has not stopped or killed.
func (c *cluster) unexpectedExit() error {
	for _, p := range c.processes("") {
		if err := p.Err(); err != nil {
			return err
		}
	}
	return c.postgres.Err()
}

// stop stops everything, game servers first, so that they can deregister. Errors: processes that failed or did not end.
func (c *cluster) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	errs := []error{stopAll(ctx, c.processes("arena-")), stopAll(ctx, c.processes(""))}
	if c.db != nil {
		c.db.Close()
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
