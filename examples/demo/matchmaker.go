package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// rankedProfile is the document of the profile that the players of rankedMode queue for.
//
//go:embed ranked.yaml
var rankedProfile []byte

const (
	profileName = "ranked"
	rankedMode  = "teams"
	firstWorker = "worker-1" // it owns the profile first; workers that have less to decide about take profiles over
)

// startMatchmaker applies the profile and starts the workers, the first one alone, so that it owns the profile.
func (c *cluster) startMatchmaker(ctx context.Context) (how string, err error) {
	file := filepath.Join(c.workDir, "ranked.yaml")
	if err := os.WriteFile(file, rankedProfile, 0o600); err != nil {
		return "", err
	}
	if err := c.newCommand("director", "profiles", c.directorEnv, "profiles", "apply", "-f", file, "--reason",
		"the demo").Run(ctx); err != nil {
		return "", err
	}
	if err := c.runCommand(c.newCommand("director", firstWorker, c.directorEnv, "work")); err != nil {
		return "", err
	}
	isOwned := func() bool {
		_, owned := c.ownedSince(ctx, 0)
		return owned || c.unexpectedExit() != nil
	}
	if !awaitTrue(ctx, isOwned) {
		return "", fmt.Errorf("no worker decides for the profile: %w", ctx.Err())
	}
	// The wait also ends when a process has died: its error says more than that nobody decides.
	if err := c.unexpectedExit(); err != nil {
		return "", err
	}
	how = fmt.Sprintf("two workers; %s decides for the profile %s", firstWorker, profileName)
	return how, c.runCommand(c.newCommand("director", "worker-2", c.directorEnv, "work"))
}

// profileOwner returns the worker that decides for the profile, and the epoch of its ownership. The name is from the
// logs of the workers: the database has only an id that is new at each start of a worker.
func (c *cluster) profileOwner(ctx context.Context) (name string, epoch int64, err error) {
	if err := c.dbPool.QueryRow(ctx, `SELECT epoch FROM ops.profiles WHERE profile = $1 AND state = 'decided'`,
		profileName).Scan(&epoch); err != nil {
		return "", 0, err
	}
	line := fmt.Sprintf("profile=%s epoch=%d\n", profileName, epoch)
	for _, p := range c.processesWithPrefix("worker-") {
		log, err := os.ReadFile(filepath.Join(c.logsDir(), p.Name()+".log"))
		if err != nil {
			return "", 0, err
		}
		// With the epoch: a log also has the line of an earlier ownership.
		if strings.Contains(string(log), line) {
			return p.Name(), epoch, nil
		}
	}
	return "", 0, fmt.Errorf("no log of a worker says that it decides for %s", profileName)
}

// ownedSince returns when the present owner of the profile took it. It returns false if there is no owner of a later
// epoch than this (0: of any) whose lease is valid, and after an error.
func (c *cluster) ownedSince(ctx context.Context, epoch int64) (since time.Time, ok bool) {
	err := c.dbPool.QueryRow(ctx, `
		SELECT o.owned_at FROM profile_owners o JOIN loop_workers w ON w.id = o.worker
		WHERE o.profile = $1 AND o.epoch > $2 AND w.lease_until > clock_timestamp()`, profileName, epoch).Scan(&since)
	return since, err == nil
}
