package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// look reads who owns which profile, and acts on it. Without a profile in the universe, this worker keeps no ticket in memory.
func (l *Loop) look(ctx context.Context) error {
	all, err := l.owners(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(all) == 0 && l.queue.loaded:
		l.emptyQueue()
	case len(all) > 0 && !l.queue.loaded:
		if err := l.queue.load(ctx); err != nil {
			return err
		}
		l.Log.LogAttrs(ctx, slog.LevelInfo, "the director loop follows the queue", slog.String("universe", l.Universe), slog.Int("tickets", l.queue.len()))
	}
	return l.own(ctx, all)
}

func (l *Loop) owners(ctx context.Context) ([]db.ProfileOwner, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return l.Store.ProfileOwners(ctx, l.Universe)
}

func (l *Loop) emptyQueue() {
	l.queue = newQueue(l.Store, l.Universe, limit{l.MaxCandidates, l.Memory}, l)
}

// own takes profiles that nobody owns, follows new versions and gives up what is beyond this worker's share. The database decides
// who owns a profile; a former owner's commits fail.
func (l *Loop) own(ctx context.Context, all []db.ProfileOwner) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l.dropOthers(ctx, all)
	if err := l.resume(ctx, all); err != nil {
		return err
	}
	if err := l.take(ctx, all); err != nil {
		return err
	}
	for _, o := range all {
		if mine := l.profiles[o.Profile]; mine != nil && mine.version != o.Live && l.unreadable[o.Profile] != o.Live {
			if err := l.load(ctx, mine, o.Live); err != nil {
				return err
			}
		}
		if mine := l.profiles[o.Profile]; mine != nil && mine.engine != nil {
			l.followPause(ctx, mine, o.Paused)
			if err := l.followShadow(ctx, mine, o.Shadow); err != nil {
				return err
			}
		}
	}
	if err := l.restoreWaits(ctx); err != nil {
		return err
	}
	if err := l.freeAbandoned(ctx); err != nil {
		return err
	}
	l.lease.weight.Store(int64(l.weight()))
	return l.share(ctx)
}

// followPause pauses a profile or lets it decide again. Matches that were decided are committed all the same.
func (l *Loop) followPause(ctx context.Context, p *owned, paused bool) {
	if p.paused == paused {
		return
	}
	p.paused = paused
	p.wake(l.moment()) // not the moment when it was paused
	l.Log.LogAttrs(ctx, slog.LevelInfo, "the pause of a profile changed", slog.String("profile", p.name), slog.Bool("paused", paused))
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
			l.Log.LogAttrs(ctx, slog.LevelInfo, "profile is decided elsewhere", slog.String("profile", name))
		}
	}
}

// resume decides for profiles that this worker still owns after it began anew.
func (l *Loop) resume(ctx context.Context, all []db.ProfileOwner) error {
	for _, o := range all {
		if o.Worker != l.lease.id || l.profiles[o.Profile] != nil {
			continue
		}
		var err error
		if l.unreadable[o.Profile] == o.Live {
			err = l.Store.GiveUpProfile(ctx, l.Universe, l.lease.id, o.Profile)
		} else {
			err = l.adopt(ctx, o, o.Epoch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// patience is for how many looks a worker that already has more than its share leaves a profile without an owner to others.
const patience = 2

// take takes profiles that nobody owns: at once where this worker has least to decide about, and after two looks anyhow.
func (l *Loop) take(ctx context.Context, all []db.ProfileOwner) error {
	var free []string
	for _, o := range all {
		switch {
		case l.unreadable[o.Profile] == o.Live:
		case !o.Owned:
			l.freeFor[o.Profile]++
			free = append(free, o.Profile)
		default:
			delete(l.freeFor, o.Profile)
		}
	}
	l.metrics.unowned.Set(float64(len(free)))
	if len(free) == 0 {
		return nil
	}
	workers, err := l.Store.LoopWorkers(ctx)
	if err != nil {
		return err
	}
	if !l.hasLeast(workers) {
		free = slices.DeleteFunc(free, func(name string) bool { return l.freeFor[name] <= patience })
	}
	if len(free) == 0 {
		return nil
	}
	epochs, err := l.Store.TakeProfiles(ctx, l.Universe, l.lease.id, free)
	if err != nil {
		return err
	}
	for _, o := range all {
		if epoch, ok := epochs[o.Profile]; ok {
			if err := l.adopt(ctx, o, epoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasLeast reports whether no other worker has less to decide about; of equal ones the first by id has.
func (l *Loop) hasLeast(workers []db.LoopWorker) bool {
	mine := l.weight()
	for _, w := range workers {
		if w.ID == l.lease.id {
			continue
		}
		if w.Weight < mine || w.Weight == mine && slices.Compare(w.ID[:], l.lease.id[:]) < 0 {
			return false
		}
	}
	return true
}

// adopt begins to decide for a profile.
func (l *Loop) adopt(ctx context.Context, o db.ProfileOwner, epoch int64) error {
	now := time.Now()
	p := &owned{name: o.Profile, epoch: epoch, frees: []time.Time{now, now.Add(abandonedFor)}}
	l.profiles[o.Profile] = p
	l.waiting.stale = true
	delete(l.freeFor, o.Profile)
	l.metrics.takeovers.Inc()
	l.Log.LogAttrs(ctx, slog.LevelInfo, "profile is decided here", slog.String("profile", o.Profile), slog.Int64("epoch", epoch))
	return l.load(ctx, p, o.Live)
}

// shareEvery is the shortest time between two profiles that this worker gives up.
const shareEvery = time.Second

// share gives up one profile to the worker with least to decide about, if both have less to decide about than this one afterwards.
func (l *Loop) share(ctx context.Context) error {
	if len(l.profiles) < 2 || time.Since(l.shared) < shareEvery {
		return nil
	}
	l.shared = time.Now()
	workers, err := l.Store.LoopWorkers(ctx)
	if err != nil {
		return err
	}
	least := l.weight()
	for _, w := range workers {
		if w.ID != l.lease.id {
			least = min(least, w.Weight)
		}
	}
	surplus := l.surplus(least)
	if surplus == nil {
		return nil
	}
	if err := l.Store.GiveUpProfile(ctx, l.Universe, l.lease.id, surplus.name); err != nil {
		return err
	}
	l.drop(surplus.name)
	return nil
}

// surplus returns the smallest profile that a worker with that weight could take and still have less than this worker has now.
func (l *Loop) surplus(least int) *owned {
	var smallest *owned
	for _, p := range l.profiles {
		if smallest == nil || p.weight() < smallest.weight() || p.weight() == smallest.weight() && p.name < smallest.name {
			smallest = p
		}
	}
	if least+smallest.weight() >= l.weight() {
		return nil
	}
	return smallest
}

// weight is what this worker decides about.
func (l *Loop) weight() int {
	n := 0
	for _, p := range l.profiles {
		n += p.weight()
	}
	return n
}
