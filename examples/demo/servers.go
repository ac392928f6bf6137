package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
)

// owner is what the process provider marks servers with, for workers without DIRECTOR_PROVISION_OWNER.
const owner provider.Owner = "ld-local"

// serversDir is the directory of the game servers that the workers start.
func (c *cluster) serversDir() string { return filepath.Join(c.workDir, "servers") }

// killOrphans is a shell script that kills the game servers that the workers have started, which survive their workers
// on purpose. It runs after the demo itself was killed.
const killOrphans = `sleep 1; for f in "$1"/*/pid; do read -r p <"$f" && kill -9 "-$p"; done 2>/dev/null`

// adoptServers opens the servers' directory beside the workers, and makes sure that no server outlives the demo.
func (c *cluster) adoptServers() (err error) {
	// The last will is there before the first server starts.
	if c.revokeWill, err = lastwill.Leave(killOrphans, c.serversDir()); err != nil {
		return err
	}
	c.launchedServers, err = process.New(process.Config{Dir: c.serversDir()})
	return err
}

// aliveServers returns the tags of the servers that are alive.
func (c *cluster) aliveServers(ctx context.Context) (tags []string, err error) {
	all, err := provider.ListAll(ctx, c.launchedServers, owner)
	if err != nil {
		return nil, err
	}
	tags = []string{} // not nil, which the database would read as NULL
	for _, o := range all {
		tags = append(tags, string(o.Tag))
	}
	return tags, nil
}

// endServers kills the servers that are left, after the workers have ended. Errors: one does not end.
func (c *cluster) endServers(ctx context.Context) error {
	if c.launchedServers == nil {
		return nil
	}
	// Only after the servers have ended: without the last will, a kill of the demo would leave them.
	defer c.revokeWill()
	defer c.launchedServers.Close()
	var left []string
	var err error
	isDone := awaitTrue(ctx, func() bool {
		left, err = c.aliveServers(ctx)
		for _, tag := range left {
			_ = c.launchedServers.Stop(ctx, provider.Ref(tag), 0) // the next look shows whether it has ended
		}
		return err != nil || len(left) == 0
	})
	if !isDone {
		return fmt.Errorf("%d game servers of the pool do not end", len(left))
	}
	return err
}
