package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
)

// owner is that of the servers of workers without DIRECTOR_PROVISION_OWNER.
const owner provider.Owner = "ld-local"

// servers is the directory of the game servers that the workers start.
func (c *cluster) servers() string { return filepath.Join(c.dir, "servers") }

// orphans kills the game servers that the workers have started, after the demo itself was killed. These survive their
// workers on purpose.
const orphans = `sleep 1; for f in "$1"/*/pid; do read -r p <"$f" && kill -9 "-$p"; done 2>/dev/null`

// adopt opens the servers' directory beside the workers, and makes sure that no server outlives the demo.
func (c *cluster) adopt() (err error) {
	if c.revoke, err = lastwill.Leave(orphans, c.servers()); err != nil {
		return err
	}
	c.launched, err = process.New(process.Config{Dir: c.servers()})
	return err
}

// aliveServers returns the tags of the servers that are alive.
func (c *cluster) aliveServers(ctx context.Context) (tags []string, err error) {
	all, err := provider.ListAll(ctx, c.launched, owner)
	tags = []string{}
	for _, o := range all {
		tags = append(tags, string(o.Tag))
	}
	return tags, err
}

// endServers kills the servers that are left, after the workers have ended. Errors: one does not end.
func (c *cluster) endServers(ctx context.Context) error {
	if c.launched == nil {
		return nil
	}
	defer c.revoke()
	defer c.launched.Close()
	var left []string
	var err error
	if await(ctx, func() bool {
		left, err = c.aliveServers(ctx)
		for _, tag := range left {
			_ = c.launched.Stop(ctx, provider.Ref(tag), 0) // the next look shows whether it has ended
		}
		return err != nil || len(left) == 0
	}) {
		return err
	}
	return fmt.Errorf("%d game servers of the pool do not end", len(left))
}
