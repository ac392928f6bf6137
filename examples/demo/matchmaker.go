package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ranked is the profile that the players of one mode queue for.
//
//go:embed ranked.yaml
var ranked []byte

const (
	profileName = "ranked"
	rankedMode  = "teams"
	firstWorker = "worker-1" // it owns the profile until it is killed
)

// startMatchmaker applies the profile and starts the workers, the first one alone, so that it owns the profile.
func (c *cluster) startMatchmaker(ctx context.Context) (how string, err error) {
	file := filepath.Join(c.dir, "ranked.yaml")
	if err := os.WriteFile(file, ranked, 0o600); err != nil {
		return "", err
	}
	if err := c.command("director", "profiles", c.env, "profiles", "apply", "-f", file, "--reason", "the demo").Run(ctx); err != nil {
		return "", err
	}
	if err := c.run(c.command("director", firstWorker, c.env, "work")); err != nil {
		return "", err
	}
	if !await(ctx, func() bool { _, ok := c.ownedSince(ctx); return ok || c.unexpectedExit() != nil }) {
		return "", fmt.Errorf("no worker decides for the profile: %w", ctx.Err())
	}
	if err := c.unexpectedExit(); err != nil {
		return "", err
	}
	return fmt.Sprintf("two workers; %s decides for the profile %s", firstWorker, profileName), c.run(c.command("director", "worker-2", c.env, "work"))
}

// ownedSince returns when the current owner of the profile took it; false if no owner has a valid lease.
func (c *cluster) ownedSince(ctx context.Context) (since time.Time, ok bool) {
	err := c.db.QueryRow(ctx, `
		SELECT o.owned_at FROM profile_owners o JOIN loop_workers w ON w.id = o.worker
		WHERE o.profile = $1 AND w.lease_until > clock_timestamp()`, profileName).Scan(&since)
	return since, err == nil
}
