package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// crowdTeam is the size of the teams of match-queue and match-servers.
	crowdTeam = 5
	// crowdGroups is how many groups of similar players queue for them: the tickets must divide into full matches in each.
	crowdGroups = 10
	// seatedTimeout is far longer than the director takes.
	seatedTimeout = time.Minute
	// seatedPause is the time between two readings of the game servers' seats, each of which is a heartbeat of all of
	// them: more would take CPU from what is measured.
	seatedPause = 20 * time.Millisecond
)

// checkCrowd validates the number of tickets.
func checkCrowd(o *Options) error {
	if full := crowdGroups * 2 * crowdTeam; o.Load.Tickets%full != 0 {
		return fmt.Errorf("%d tickets: they must be a multiple of %d, so that all are matched", o.Load.Tickets, full)
	}
	return nil
}

// skillInGroup returns the skill of the i-th player of a crowd: all players of a group match each other, players of
// different groups never.
func skillInGroup(i int) float64 { return float64(2*matchDistance*(i%crowdGroups)) + similarSkill() }

// crowd is a queue that is matched as a whole, and the game servers that seat it.
type crowd struct {
	world   *world
	profile string
	mode    string      // each crowd has its own, so that it does not take the game servers of another, nor of an earlier run
	servers []*instance // without players before the turn
}

// seatCrowd is a turn that queues many players, and measures until the game servers have the last of them. Either their
// matches are decided and wait for game servers, which then register, or game servers wait for a version of the profile
// that matches the players: that time includes deciding.
func seatCrowd(isDecided bool) func(*world, *Caller) error {
	return func(w *world, c *Caller) error {
		all := &crowd{world: w, mode: fmt.Sprintf("bench-%s-%d", w.job.ID, w.crowds.Add(1))}
		defer func() { w.deregister(w.ctx, all.servers) }() // which ends all sessions
		prepare := func() error { return errors.Join(all.gather(0), all.openServers()) }
		seat := func() error { return w.changeProfile(all.profile, all.mode, crowdTeam, matchDistance) }
		if isDecided {
			prepare, seat = func() error { return all.gather(matchDistance) }, all.openServers
		}
		if err := c.Unmeasured(prepare); err != nil {
			return err
		}
		return c.Timed("seated", func() error {
			if err := seat(); err != nil {
				return err
			}
			return all.awaitSeats()
		})
	}
}

// gather queues players. If they match, it waits until their matches wait for a game server, since the only one has no
// room.
func (all *crowd) gather(within int) error {
	w := all.world
	full, err := w.registerAll(w.ctx, len(w.places.regions), all.mode+"-full-", []string{all.mode}, 1)
	defer w.deregister(w.ctx, full)
	if err != nil {
		return err
	}
	if all.profile, err = w.applyProfile(w.ctx, all.mode, crowdTeam, within); err != nil {
		return err
	}
	last, err := w.queuePlayers(w.ctx, all.profile, w.job.Options.Load.Tickets, skillInGroup)
	if err != nil || within == 0 { // no two players match
		return err
	}
	for _, t := range last {
		if err := w.awaitTicket(t, "waiting_for_server"); err != nil {
			return err
		}
	}
	return nil
}

// openServers registers the game servers of the crowd.
func (all *crowd) openServers() (err error) {
	load := all.world.job.Options.Load
	all.servers, err = all.world.registerAll(all.world.ctx, load.Instances, all.mode+"-open-", []string{all.mode},
		load.Capacity)
	return err
}

// awaitSeats waits until all players have seats.
func (all *crowd) awaitSeats() error {
	ctx, cancel := context.WithTimeout(all.world.ctx, seatedTimeout)
	defer cancel()
	for {
		n, err := all.world.countTaken(ctx, all.servers)
		switch {
		case err != nil:
			return err
		case n >= all.world.job.Options.Load.Tickets:
			return nil
		case Pause(ctx, seatedPause) != nil:
			return &Failure{"not all seated", fmt.Errorf("%d of %d", n, all.world.job.Options.Load.Tickets)}
		}
	}
}
