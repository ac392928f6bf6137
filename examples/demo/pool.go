package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/sdk"
)

// poolDocument declares the game servers that the director starts by itself.
//
//go:embed pool.yaml
var poolDocument []byte

// The players of the pool, and what pool.yaml says.
const (
	poolRegion       = "cloud"
	guestCount       = 20
	serverSeats      = 8               // capacity of pool.yaml
	sessionPlayers   = 4               // max_players of pool.yaml
	firstProvisioner = "provisioner-1" // it is killed while servers start
)

// neededServers is how many servers the guests need when all of them play.
const neededServers = (guestCount + serverSeats - 1) / serverSeats

// provisioning is the part of the play in a region whose servers the director starts. It runs beside everything else.
type provisioning struct {
	cluster *cluster
	screen  *screen
	facts   poolFacts // read by the proofs, after the play
}

// poolFacts is what happened in the region of the pool.
type poolFacts struct {
	welcomedCount  int           // guests that a server has admitted
	allPlayedAfter time.Duration // from the first call of a guest until all of them had been admitted
	shrunkAfter    time.Duration // from the last guest's end until no server was left
	startingCount  int           // servers that were still starting when the worker was killed
	mostAlive      int           // the most servers that were alive at one look
	strangerTag    string        // the tag of a server that no row knew; "": there was none
	aliveAtEnd     int           // servers that were alive at the last look
	lookCount      int           // how often the servers that are alive were compared with the rows
}

// runGuests starts with an empty region and returns when it is empty again.
func (p *provisioning) runGuests(ctx context.Context) error {
	if err := p.cluster.startPool(ctx); err != nil {
		return err
	}
	guests, logFile, err := newGuests(p.cluster)
	if err != nil {
		return err
	}
	defer func() { _ = logFile.Close() }()
	p.screen.eventf("·", "%d guests come to the region %s, which has no game server and a pool", guestCount, poolRegion)
	watching, stopWatching := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(watching)
	// During the play: a server that was started twice might be gone when the play ends.
	group.Go(func() error { return p.watchServers(groupCtx) })
	group.Go(func() error {
		defer stopWatching()
		return p.playGuests(groupCtx, guests)
	})
	return errors.Join(group.Wait(), ctx.Err())
}

// playGuests lets all guests play once and leave, and waits until their servers are gone.
func (p *provisioning) playGuests(ctx context.Context, guests *bots.Swarm) error {
	begun := time.Now()
	playing, leave := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { guests.Run(playing); return nil })
	// While the guests run: without them no server starts.
	p.killProvisioner(ctx)
	served := awaitTrue(ctx, func() bool {
		p.facts.welcomedCount = countWelcomed(guests)
		return p.facts.welcomedCount == guestCount
	})
	p.facts.allPlayedAfter = time.Since(begun)
	leave()
	if err := group.Wait(); err != nil {
		return err
	}
	if !served {
		return nil // no error: the proof says how many guests were served
	}
	p.screen.eventf("✓", "all guests play in %s, %s after they came; now they leave", poolRegion,
		p.facts.allPlayedAfter.Round(100*time.Millisecond))
	begun = time.Now()
	if awaitTrue(ctx, func() bool { return p.isEmpty(ctx) }) {
		p.facts.shrunkAfter = time.Since(begun)
		p.screen.eventf("✓", "the pool of %s is empty again, %s later", poolRegion,
			p.facts.shrunkAfter.Round(time.Second))
	}
	return nil
}

// killProvisioner kills a worker while servers start.
func (p *provisioning) killProvisioner(ctx context.Context) {
	anyStarts := func() bool {
		err := p.cluster.dbPool.QueryRow(ctx, `SELECT count(*) FROM deployments
			WHERE region = $1 AND phase IN ('deploying', 'starting')`, poolRegion).Scan(&p.facts.startingCount)
		return err == nil && p.facts.startingCount > 0
	}
	if !awaitTrue(ctx, anyStarts) {
		return
	}
	p.cluster.processNamed(firstProvisioner).Kill()
	p.screen.eventf("!", "kill -9 %s, while %d game servers start", firstProvisioner, p.facts.startingCount)
}

// isEmpty reports whether neither a row nor a process of a server is left.
func (p *provisioning) isEmpty(ctx context.Context) bool {
	var rows int
	err := p.cluster.dbPool.QueryRow(ctx, `SELECT count(*) FROM deployments WHERE region = $1`, poolRegion).Scan(&rows)
	if err != nil || rows > 0 {
		return false
	}
	alive, err := p.cluster.aliveServers(ctx)
	return err == nil && len(alive) == 0
}

// watchServers compares the processes that are alive with the rows, until ctx ends. A row is written before its server
// starts, and moves to the history after the server's end: each process that was alive before the rows were read has
// one.
func (p *provisioning) watchServers(ctx context.Context) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		// After the end of ctx an error only says that the look was cut off.
		if err := p.lookOnce(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// lookOnce compares the processes with the rows once. The processes are listed first.
func (p *provisioning) lookOnce(ctx context.Context) error {
	alive, err := p.cluster.aliveServers(ctx)
	if err != nil {
		return err
	}
	return p.recordServers(ctx, alive)
}

// recordServers records how many servers are alive, and the first one that no row knows.
func (p *provisioning) recordServers(ctx context.Context, alive []string) error {
	var unknown string
	// Both tables in one statement, since a row moves from one to the other when its server has ended.
	err := p.cluster.dbPool.QueryRow(ctx, `
		SELECT coalesce(min(tag), '') FROM unnest($1::text[]) AS a(tag)
		WHERE NOT EXISTS (SELECT FROM deployments d WHERE d.tag = a.tag)
			AND NOT EXISTS (SELECT FROM deployment_history h WHERE h.tag = a.tag)`, alive).Scan(&unknown)
	if err != nil {
		return err
	}
	p.facts.lookCount++
	p.facts.mostAlive, p.facts.aliveAtEnd = max(p.facts.mostAlive, len(alive)), len(alive)
	if p.facts.strangerTag == "" {
		p.facts.strangerTag = unknown
	}
	return nil
}

// newGuests makes the players of the pool, and the file of their log. Their names differ from those of the other bots,
// since a player's seats are counted over all regions.
func newGuests(c *cluster) (*bots.Swarm, *os.File, error) {
	file, err := os.Create(filepath.Join(c.logsDir(), "guests.log"))
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(file, nil))
	answers := newAnswers(c.playerLogin)
	client, err := sdk.New(sdk.Options{URLs: c.replicaURLs, HTTPClient: &http.Client{Transport: answers}, Logger: log,
		UserAgent: "arena-bots"})
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	guests, err := bots.New(bots.Config{
		Director: client, AccessToken: answers.accessToken, Count: guestCount, Names: "guest", Region: poolRegion,
		Modes: []string{"ffa"}, MaxPlayers: sessionPlayers,
		Logger: log, PlayFor: bots.Span{Min: 4 * time.Second, Max: 6 * time.Second},
		Rest: bots.Span{Min: 500 * time.Millisecond, Max: time.Second},
	})
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return guests, file, nil
}

// countWelcomed counts the bots that a game server has welcomed at least once.
func countWelcomed(s *bots.Swarm) (n int) {
	for _, b := range s.Stats().Bots {
		if len(b.Visits) > 0 {
			n++
		}
	}
	return n
}

// startPool declares the pool, and starts two workers that run its servers as processes of this machine.
func (c *cluster) startPool(ctx context.Context) error {
	file := filepath.Join(c.workDir, "pool.yaml")
	if err := os.WriteFile(file, poolDocument, 0o600); err != nil {
		return err
	}
	if err := c.newCommand("director", "pools", c.directorEnv, "pools", "apply", "-f", file).Run(ctx); err != nil {
		return err
	}
	env := slices.Concat(c.directorEnv, []string{
		"DIRECTOR_LOOP=false", // they only start servers, so that the death of one affects no match
		"DIRECTOR_PROVIDERS=process", "DIRECTOR_PUBLIC_URL=" + c.replicaURLs[0], "DIRECTOR_PROVISION_TIMEOUT=1s",
		"DIRECTOR_PROCESS_DIR=" + c.serversDir(),
		"DIRECTOR_PROCESS_COMMANDS=" + fmt.Sprintf("arena=%s server --heartbeat-every %s --grace 2s --empty-for 1s",
			filepath.Join(c.binDir(), "arena"), heartbeatEvery),
	})
	for _, name := range []string{firstProvisioner, "provisioner-2"} {
		if err := c.runCommand(c.newCommand("director", name, env, "work")); err != nil {
			return err
		}
	}
	return nil
}
