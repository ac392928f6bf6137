package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
)

// The scenarios of the director loop, which matches the tickets of profiles.
const (
	// many tickets wait until a version of their profile goes live that matches all of them
	matchQueue   = "match-queue"
	matchServers = "match-servers" // many matches wait until game servers register
	matchLife    = "match-life"    // two new players are queued and wait for the assignment
	matchSteady  = "match-steady"  // a new player is queued while many others wait that no rule matches
	matchIdle    = "match-idle"    // a second passes while many players wait that no rule matches
)

// near is the difference of skill that matches allow.
const near = 100

// similar returns a skill; any two similar players may be matched.
func similar() float64 { return near * rand.Float64() }

// stranger returns a skill that no rule matches with another stranger's.
func stranger(i int) float64 { return float64(2*near*(i+1)) + similar()/2 }

// applyDuels applies the profile of matchLife. It has teams of one, so that a player waits only for the next player.
func (r *run) applyDuels(ctx context.Context) error {
	_, err := r.matches.apply(ctx, r.places.modes[0], 1, near)
	return err
}

// queueStrangers queues players that no rule matches.
func (r *run) queueStrangers(ctx context.Context) error {
	name, err := r.matches.apply(ctx, r.places.modes[0], 5, near)
	if err != nil {
		return err
	}
	_, err = r.matches.fill(ctx, name, r.Tickets, stranger)
	return err
}

// matchLife queues two players, who match each other or those of another caller. The number of players is even, so none
// is left over.
func (c *caller) matchLife() error {
	var two [2]ticket
	err := c.timed("create", func() error {
		return both(func(i int) error {
			p, err := c.players.another()
			if err == nil {
				two[i], err = c.matches.create(c.url, p, c.matches.current(), similar())
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.timed("and assigned", func() error {
		return both(func(i int) error { return c.matches.await(two[i], "assigned") })
	})
}

// both calls do for two players concurrently.
func both(do func(i int) error) error {
	var group errgroup.Group
	group.Go(func() error { return do(0) })
	group.Go(func() error { return do(1) })
	return group.Wait()
}

func (c *caller) matchSteady() error {
	p, err := c.players.another()
	if err != nil {
		return err
	}
	return c.timed("create", func() error {
		_, err := c.matches.create(c.url, p, c.matches.current(), similar())
		return err
	})
}

// matchIdle lasts one second, so that the costs of a call are the costs of a second.
func (c *caller) matchIdle() error {
	return c.timed("second", func() error {
		pause(c.client.ctx, time.Second)
		return nil
	})
}

// groupsOfCrowd is how many groups of similar players queue for matchQueue and matchServers: the tickets must divide
// into full matches in each.
const groupsOfCrowd = 10

// checkTickets validates the number of tickets.
func (o *Options) checkTickets() error {
	usual := o.scenario().usual.Tickets
	switch {
	case o.Tickets < 0 || o.Tickets > MaxTickets || usual > 0 && o.Tickets == 0:
		return fmt.Errorf("%d tickets: there must be 1 to %d", o.Tickets, MaxTickets)
	case (o.Scenario == matchQueue || o.Scenario == matchServers) && o.Tickets%(groupsOfCrowd*2*teamOfCrowd) != 0:
		return fmt.Errorf("%d tickets: they must be a multiple of %d, so that all are matched", o.Tickets,
			groupsOfCrowd*2*teamOfCrowd)
	}
	return nil
}
