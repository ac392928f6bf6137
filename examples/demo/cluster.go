package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db/pglocal"
)

// cluster is all processes of the demo, and a pool for looking at the database as an operator does.
type cluster struct {
	options  options
	dir      workdir
	binaries binaries
	jwks     string // of the login
	fleetKey string // the game servers' secret

	postgres *pglocal.Cluster
	db       *pgxpool.Pool
	replicas []*replica
	worker   *process
	servers  map[string]*process // by instance id
}

// start brings everything up in order; what was started before an error is there for stop.
func (c *cluster) start(ctx context.Context, step func(what string, do func() (string, error)) error) error {
	c.fleetKey = rand.Text()
	for _, s := range []struct {
		what string
		do   func(context.Context) (string, error)
	}{
		{"postgres", c.startPostgres}, {"binaries", c.build}, {"director", c.startDirector}, {"arena", c.startServers},
	} {
		if err := step(s.what, func() (string, error) { return s.do(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) startPostgres(ctx context.Context) (how string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	c.postgres, err = pglocal.Start(ctx, pglocal.Options{Dir: c.dir.postgres(), Durable: true})
	if err != nil {
		return "", err
	}
	c.db, err = pgxpool.New(ctx, c.postgres.URL("postgres"))
	return "a private server, as durable as one in production", err
}

func (c *cluster) build(ctx context.Context) (how string, err error) {
	c.binaries, err = c.dir.build(ctx, c.options)
	return "director and arena, built", err
}

// startDirector migrates, then runs the replicas and the worker.
func (c *cluster) startDirector(ctx context.Context) (how string, err error) {
	kek := make([]byte, 32)
	_, _ = rand.Read(kek) // It never fails.
	env := []string{
		"DATABASE_URL=" + c.postgres.URL("postgres"),
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(kek),
		"DIRECTOR_FLEET_TOKEN=" + c.fleetKey,
		"DIRECTOR_AUTH_JWKS=" + c.jwks,
		"DIRECTOR_LEASE_TTL=" + leaseTTL.String(),
		"DIRECTOR_REAP_INTERVAL=500ms",
		"DIRECTOR_LOG_FORMAT=text",
	}
	director := func(name string, more []string, args ...string) program {
		return program{name: name, path: c.binaries.director, args: args, env: append(slices.Clip(env), more...), logDir: c.dir.logs()}
	}
	if err := director("migrate", nil, "migrate", "up").finish(ctx, 3*time.Minute); err != nil {
		return "", err
	}
	addrs, err := freeAddrs(ctx, 2)
	if err != nil {
		return "", err
	}
	for i, addr := range addrs {
		name := fmt.Sprintf("replica-%d", i+1)
		c.replicas = append(c.replicas, &replica{url: "http://" + addr, program: director(name, []string{"DIRECTOR_ADDR=" + addr}, "serve")})
	}
	var group errgroup.Group
	for _, r := range c.replicas {
		group.Go(func() error { return r.launch(ctx) })
	}
	c.worker, err = director("worker", nil, "work").start()
	return fmt.Sprintf("a worker, and replicas at %s and %s", addrs[0], strings.TrimPrefix(addrs[1], "127.0.0.1")), errors.Join(err, group.Wait())
}

func (c *cluster) urls() (urls []string) {
	for _, r := range c.replicas {
		urls = append(urls, r.url)
	}
	return urls
}

// startServers returns when the director knows all of them.
func (c *cluster) startServers(ctx context.Context) (how string, err error) {
	for i := range c.options.servers {
		p := c.gameServer(fmt.Sprintf("arena-%d", i+1), c.options.capacity(i))
		run, err := p.start()
		if err != nil {
			return "", err
		}
		c.servers[p.name] = run
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for known := 0; known < c.options.servers; <-tick.C {
		if err := c.casualty(); err != nil {
			return "", err
		}
		if err := c.db.QueryRow(ctx, `SELECT count(*) FROM ops.fleet WHERE alive`).Scan(&known); err != nil {
			return "", fmt.Errorf("waiting for the game servers: %w", err)
		}
	}
	return fmt.Sprintf("%d game servers with %d or %d seats have registered", c.options.servers, c.options.capacity(1), c.options.capacity(0)), nil
}

func (c *cluster) gameServer(name string, capacity int) program {
	return program{
		name: name, path: c.binaries.arena, logDir: c.dir.logs(), env: []string{"FLEET_TOKEN=" + c.fleetKey},
		args: []string{
			"server", "--director", strings.Join(c.urls(), ","), "--instance-id", name, "--region", region, "--modes", strings.Join(modes, ","),
			"--capacity", strconv.Itoa(capacity), "--heartbeat-every", heartbeatEvery.String(), "--grace", "3s",
		},
	}
}

// processes are all that were started, but for runs that were replaced.
func (c *cluster) processes() (all []*process) {
	for _, r := range c.replicas {
		all = append(all, r.process())
	}
	all = append(all, c.worker)
	for _, run := range c.servers {
		all = append(all, run)
	}
	return slices.DeleteFunc(all, func(run *process) bool { return run == nil })
}

// casualty tells of a process that has ended though nobody asked it to.
func (c *cluster) casualty() error {
	for _, run := range c.processes() {
		if !run.running() && !run.killed.Load() {
			return fmt.Errorf("%s has ended by itself (%v): %s", run.name, run.err, program{name: run.name, logDir: c.dir.logs()}.lastWords())
		}
	}
	return c.postgres.Err()
}

// stop ends everything in the order in which nobody misses anybody, and reports who did not end well.
func (c *cluster) stop() error {
	var servers, director []*process
	for _, run := range c.processes() {
		switch {
		case run.killed.Load():
		case strings.HasPrefix(run.name, "arena-"):
			servers = append(servers, run)
		default:
			director = append(director, run)
		}
	}
	errs := []error{stopAll(servers), stopAll(director)}
	if c.db != nil {
		c.db.Close()
	}
	if c.postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		errs = append(errs, c.postgres.Stop(ctx))
	}
	return errors.Join(errs...)
}

func stopAll(runs []*process) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	errs := make([]error, len(runs))
	var ending sync.WaitGroup
	for i, run := range runs {
		ending.Go(func() { errs[i] = run.stop(ctx) })
	}
	ending.Wait()
	return errors.Join(errs...)
}
