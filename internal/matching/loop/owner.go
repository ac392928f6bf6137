package loop

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/tenure"
)

// look reads who owns which profile, and acts on it. Without a profile in the universe, this worker keeps no ticket in
// memory.
func (l *Loop) look(ctx context.Context) error {
	var all []db.ProfileOwner
	err := reading(ctx, "reading the owners of profiles", func(ctx context.Context) (err error) {
		all, err = l.options.Store.ProfileOwners(ctx, l.options.Universe)
		return err
	})
	if err != nil {
		return err
	}
	l.hasProfiles = len(all) > 0
	if !l.hasProfiles && l.queue.followsChanges {
		l.emptyQueue()
	}
	return l.own(ctx, all)
}

func (l *Loop) emptyQueue() { l.queue = newQueue(l.options, l) }

// own finds profiles to take, follows new versions and gives up what is beyond this worker's share. The database
// decides who owns a profile; a former owner's commits fail.
func (l *Loop) own(ctx context.Context, all []db.ProfileOwner) error {
	l.dropOthers(ctx, all)
	// Found anew at each look, since other workers take profiles meanwhile.
	l.profilesToTake = nil
	if err := l.resume(ctx, all); err != nil {
		return err
	}
	if err := l.takeShare(ctx, all); err != nil {
		return err
	}
	if err := l.follow(ctx, all); err != nil {
		return err
	}
	if err := l.freeAbandoned(ctx); err != nil {
		return err
	}
	l.lease.weight.Store(int64(l.weight()))
	return l.share(ctx)
}

// shadowsPerLook bounds the shadows that begin at one look, since each costs a reading and a whole queue.
const shadowsPerLook = 16

// follow follows the versions, pauses and shadows of this worker's profiles.
func (l *Loop) follow(ctx context.Context, all []db.ProfileOwner) error {
	shadows := 0
	for _, o := range all {
		p := l.profiles[o.Profile]
		if p == nil {
			continue
		}
		if p.version != o.LiveVersion && l.unreadableVersions[o.Profile] != o.LiveVersion {
			l.profilesToTake = append(l.profilesToTake, o)
		}
		l.followPause(ctx, p, o.Paused)
		began, err := l.followShadow(ctx, p, o.Shadow, shadows < shadowsPerLook)
		if err != nil {
			return err
		}
		if began {
			shadows++
		}
	}
	return nil
}

// followPause pauses a profile or lets it decide again. Matches that were decided are committed all the same.
func (l *Loop) followPause(ctx context.Context, p *owned, paused bool) {
	if p.paused == paused {
		return
	}
	p.paused = paused
	l.learn(p, change{moment: l.moment(), kind: decisionsDue}) // not of the moment when it was paused
	l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the pause of a profile changed", slog.String("profile", p.name),
		slog.Bool("paused", paused))
}

// dropOthers forgets the profiles that another worker owns now, or that were retired.
func (l *Loop) dropOthers(ctx context.Context, all []db.ProfileOwner) {
	mine := map[string]int64{}
	for _, o := range all {
		if o.Worker == l.lease.id {
			mine[o.Profile] = o.Epoch
		}
	}
	for name, p := range l.profiles {
		if mine[name] != p.epoch {
			l.drop(name)
			l.options.Log.LogAttrs(ctx, slog.LevelInfo, "profile is decided elsewhere", slog.String("profile", name))
		}
	}
}

// resume decides for profiles that this worker owns and does not decide for: it began anew, or a reading failed after
// it took them.
func (l *Loop) resume(ctx context.Context, all []db.ProfileOwner) error {
	for _, o := range all {
		switch {
		case o.Worker != l.lease.id || l.profiles[o.Profile] != nil:
		case l.unreadableVersions[o.Profile] != o.LiveVersion:
			l.profilesToTake = append(l.profilesToTake, o)
		default:
			if err := l.giveUp(ctx, o.Profile); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loop) giveUp(ctx context.Context, profile string) error {
	return reading(ctx, "giving a profile up", func(ctx context.Context) error {
		return l.options.Store.GiveUpProfile(ctx, l.options.Universe, l.lease.id, profile)
	})
}

func (l *Loop) workers(ctx context.Context) (all []db.LoopWorker, err error) {
	err = reading(ctx, "reading the workers of the loop", func(ctx context.Context) (err error) {
		all, err = l.options.Store.LoopWorkers(ctx)
		return err
	})
	return all, err
}

// shareEvery is the shortest time between two looks at which this worker gives profiles up.
const shareEvery = time.Second

// sharesMost bounds the profiles that a worker gives up at a time, since nobody decides for them until another worker
// has taken them.
const sharesMost = 8

// share gives up profiles to the worker with least to decide about, as long as both have less to decide about than this
// one afterwards.
func (l *Loop) share(ctx context.Context) error {
	if len(l.profiles) < 2 || len(l.profilesToTake) > 0 || time.Since(l.sharedAt) < shareEvery {
		return nil
	}
	l.sharedAt = time.Now()
	workers, err := l.workers(ctx)
	if err != nil {
		return err
	}
	least := l.weight()
	for _, w := range workers {
		if w.ID != l.lease.id {
			least = min(least, w.Weight)
		}
	}
	for range sharesMost {
		surplus := l.surplus(least)
		if surplus == nil {
			return nil
		}
		if err := l.giveUp(ctx, surplus.name); err != nil {
			return err
		}
		// The other worker counts as if it had the profile already, though it first has to take it.
		least += surplus.weight()
		l.drop(surplus.name)
	}
	return nil
}

// surplus returns the smallest profile that a worker with that weight could take and still have less than this worker
// has now.
func (l *Loop) surplus(least int) *owned {
	var smallest *owned
	for _, p := range l.profiles {
		if smallest == nil || p.weight() < smallest.weight() ||
			p.weight() == smallest.weight() && p.name < smallest.name {
			smallest = p
		}
	}
	if smallest == nil || least+smallest.weight() >= l.weight() {
		return nil
	}
	return smallest
}

// weight is what this worker decides about, and is about to.
func (l *Loop) weight() int {
	n := 0
	for _, p := range l.profiles {
		n += p.weight()
	}
	for _, o := range l.profilesToTake {
		if l.profiles[o.Profile] == nil {
			n += l.freeWeight(o.Profile)
		}
	}
	return n
}

// freeWeight is what a profile that nobody owns would add to the weight of a worker.
func (l *Loop) freeWeight(profile string) int { return 1 + l.queue.index.count(profile) }

// lease is the sign of life of this worker. It is renewed beside the loop, so that a long decision does not cost it. It
// takes a connection of the pool that commits use: a worker whose pool is stuck for the length of the lease could
// commit nothing, and loses its profiles to one that can.
type lease struct {
	store  Store
	id     uuid.UUID
	lasts  time.Duration
	weight atomic.Int64 // what this worker decides about: candidates and profiles
}

func newLease(store Store, id uuid.UUID, lasts time.Duration) *lease {
	return &lease{store: store, id: id, lasts: lasts}
}

// begin renews the lease once, and then four times within each of its durations until ctx ends. lost is called when it
// could not be renewed in time: others may own the profiles by then.
func (l *lease) begin(ctx context.Context, lost func()) error {
	if err := l.renew(ctx); err != nil {
		return err
	}
	go func() {
		held := tenure.Lease{Renew: l.renew, Every: l.lasts / 4, Lasts: l.lasts}
		if held.Hold(ctx) != nil && ctx.Err() == nil {
			lost()
		}
	}()
	return nil
}

func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.lasts)
	defer cancel()
	return l.store.RenewLoopWorker(ctx, db.LoopWorker{ID: l.id, Weight: int(l.weight.Load())}, l.lasts)
}
