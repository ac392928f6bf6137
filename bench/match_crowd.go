package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// teamOfCrowd is the size of the teams of matchQueue and matchServers.
const teamOfCrowd = 5

// ofGroup returns the skill of the i-th player of a crowd: all players of a group match each other, players of
// different groups never.
func ofGroup(i int) float64 { return float64(2*near*(i%groupsOfCrowd)) + similar() }

// crowd is a queue that is matched as a whole, and the game servers that seat it.
type crowd struct {
	*caller

	profile string
	mode    string // each crowd has its own, so that it does not take the game servers of another, nor of an earlier run
	servers *fleet // without players before the turn
}

// matchQueue queues many players under a version of their profile that allows no match, then applies a version that
// matches all of them. The time until the game servers have the last of them includes deciding.
func (c *caller) matchQueue() error {
	var all *crowd
	err := c.unmeasured(func() (err error) {
		if all, err = c.newCrowd(0); err == nil {
			err = all.openServers()
		}
		return err
	})
	defer all.leave()
	if err != nil {
		return err
	}
	return c.timed("seated", func() error {
		if err := c.matches.change(all.profile, all.mode, teamOfCrowd, near); err != nil {
			return err
		}
		return all.seated()
	})
}

// matchServers queues many players, whose matches are decided and wait for a game server, then registers game servers.
func (c *caller) matchServers() error {
	var all *crowd
	err := c.unmeasured(func() (err error) {
		all, err = c.newCrowd(near)
		return err
	})
	defer all.leave()
	if err != nil {
		return err
	}
	return c.timed("seated", func() error {
		if err := all.openServers(); err != nil {
			return err
		}
		return all.seated()
	})
}

// newCrowd queues players. If they match, it waits until their matches wait for a game server, since the only one has
// no room.
func (c *caller) newCrowd(within int) (all *crowd, err error) {
	ctx := c.client.ctx
	all = &crowd{caller: c, mode: fmt.Sprintf("bench-%s-%d", c.id, c.crowds.Add(1))}
	places := c.places
	places.modes = []string{all.mode}
	full := newFleet(c.client, c.URLs, places, 1)
	full.kind = all.mode + "-full-"
	all.servers = newFleet(c.client, c.URLs, places, c.Capacity)
	all.servers.kind = all.mode + "-open-"
	if err := full.register(ctx, len(c.places.regions)); err != nil {
		return all, err
	}
	defer full.deregister(ctx)
	if all.profile, err = c.matches.apply(ctx, all.mode, teamOfCrowd, within); err != nil {
		return all, err
	}
	last, err := c.matches.fill(ctx, all.profile, c.Tickets, ofGroup)
	for i := 0; i < len(last) && err == nil && within > 0; i++ {
		err = c.matches.await(last[i], "waiting_for_server")
	}
	return all, err
}

// openServers registers the game servers of the crowd.
func (all *crowd) openServers() error {
	return all.servers.register(all.client.ctx, all.Instances)
}

// leave deregisters the game servers, and so ends all sessions.
func (all *crowd) leave() {
	_ = all.unmeasured(func() error {
		all.servers.deregister(all.client.ctx)
		return nil
	})
}

const (
	// seatedTimeout is far longer than the director takes.
	seatedTimeout = time.Minute
	// seatedPause is the time between two readings of the game servers' seats, each of which is a heartbeat of all of
	// them: more would take CPU from what is measured.
	seatedPause = 20 * time.Millisecond
)

// seated waits until all players have seats.
func (all *crowd) seated() error {
	ctx, cancel := context.WithTimeout(all.client.ctx, seatedTimeout)
	defer cancel()
	for {
		n, err := all.servers.taken()
		switch {
		case err != nil:
			return err
		case n >= all.Tickets:
			return nil
		case !pause(ctx, seatedPause):
			return &failure{code: "not all seated", detail: fmt.Sprintf("%d of %d", n, all.Tickets)}
		}
	}
}

// taken returns the number of taken seats, which game servers read from the answer to a heartbeat.
func (f *fleet) taken() (int, error) {
	var total atomic.Int64
	group := errgroup.Group{}
	group.SetLimit(maxConcurrent)
	for _, one := range f.all {
		group.Go(func() error {
			return f.client.asFleet(one.url+"/fleet/heartbeat", one.identity.Load().body, func(a answer) error {
				var has struct {
					Available int `json:"available"`
				}
				err := json.Unmarshal(a, &has)
				total.Add(int64(f.seats - has.Available))
				one.lastHeartbeat.Store(time.Now().UnixNano())
				return err
			})
		})
	}
	err := group.Wait()
	return int(total.Load()), err
}
