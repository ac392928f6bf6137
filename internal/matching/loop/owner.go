package loop

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// lookAtOwners reads who owns which profile, and then takes, follows and gives up profiles. It reports whether this
// worker owned all of them when they were read. Without a profile in the universe, it forgets the queue.
func (l *Loop) lookAtOwners(ctx context.Context) (ownsAll bool, err error) {
	var all []db.ProfileOwner
	err = callDatabase(ctx, "reading the owners of profiles", func(ctx context.Context) (err error) {
		all, err = l.options.Store.ProfileOwners(ctx, l.options.Universe)
		return err
	})
	if err != nil {
		return false, err
	}
	l.hasProfiles = len(all) > 0
	if !l.hasProfiles && l.queue.followsChanges {
		l.emptyQueue()
	}
	isOther := func(o db.ProfileOwner) bool { return o.WorkerID != l.lease.workerID }
	return !slices.ContainsFunc(all, isOther), l.takeAndGive(ctx, all)
}

// takeAndGive finds profiles to take, follows new versions and gives up what is beyond this worker's share. The
// database decides who owns a profile; a former owner's commits fail.
func (l *Loop) takeAndGive(ctx context.Context, all []db.ProfileOwner) error {
	l.dropOthers(ctx, all)
	// The functions below fill it at each look, since other workers take profiles meanwhile.
	l.profilesToTake = nil
	if err := l.resumeOwned(ctx, all); err != nil {
		return err
	}
	if err := l.chooseFree(ctx, all); err != nil {
		return err
	}
	if err := l.followVersions(ctx, all); err != nil {
		return err
	}
	if err := l.freeAbandoned(ctx); err != nil {
		return err
	}
	l.lease.ownWeight.Store(int64(l.ownWeight()))
	return l.giveSurplus(ctx)
}

// shadowsPerLook bounds the shadows that begin at one look, since each costs a reading and a whole queue.
const shadowsPerLook = 16

// followVersions follows the versions, pauses and shadows of this worker's profiles.
func (l *Loop) followVersions(ctx context.Context, all []db.ProfileOwner) error {
	begunShadows := 0
	for _, o := range all {
		p := l.profiles[o.ProfileName]
		if p == nil {
			continue
		}
		// A version that this release cannot read leaves the profile with the one before: matches go on.
		if p.version != o.LiveVersion && l.unreadableVersions[o.ProfileName] != o.LiveVersion {
			l.profilesToTake = append(l.profilesToTake, o)
		}
		l.followPause(ctx, p, o.IsPaused)
		// A shadow beyond the bound begins at a later look.
		if o.ShadowVersion != 0 && begunShadows == shadowsPerLook {
			continue
		}
		hasBegun, err := l.followShadow(ctx, p, o.ShadowVersion)
		if err != nil {
			return err
		}
		if hasBegun {
			begunShadows++
		}
	}
	return nil
}

// followPause pauses a profile or lets it decide again. Matches that were decided are committed all the same.
func (l *Loop) followPause(ctx context.Context, p *ownedProfile, isPaused bool) {
	if p.isPaused == isPaused {
		return
	}
	p.isPaused = isPaused
	// The next decision is of this moment, not of the one when the profile was paused.
	l.passChange(p, change{moment: l.currentMoment(), kind: decisionsDue})
	l.options.Log.LogAttrs(ctx, slog.LevelInfo, "the pause of a profile changed", slog.String("profile", p.name),
		slog.Bool("paused", isPaused))
}

// dropOthers forgets the profiles that another worker owns now, or that were retired.
func (l *Loop) dropOthers(ctx context.Context, all []db.ProfileOwner) {
	mine := map[string]int64{}
	for _, o := range all {
		if o.WorkerID == l.lease.workerID {
			mine[o.ProfileName] = o.Epoch
		}
	}
	for name, p := range l.profiles {
		// With another epoch, another worker had the profile in between, and may have matched its tickets.
		if mine[name] != p.ownerEpoch {
			l.dropProfile(name)
			l.options.Log.LogAttrs(ctx, slog.LevelInfo, "profile is decided elsewhere", slog.String("profile", name))
		}
	}
}

// resumeOwned adds to profilesToTake the profiles that this worker owns and does not decide for, because it began anew,
// or a reading failed after it took them. It gives up those that this release cannot read.
func (l *Loop) resumeOwned(ctx context.Context, all []db.ProfileOwner) error {
	for _, o := range all {
		if o.WorkerID != l.lease.workerID || l.profiles[o.ProfileName] != nil {
			continue
		}
		if l.unreadableVersions[o.ProfileName] != o.LiveVersion {
			l.profilesToTake = append(l.profilesToTake, o)
			continue
		}
		if err := l.giveUp(ctx, o.ProfileName); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loop) giveUp(ctx context.Context, profile string) error {
	return callDatabase(ctx, "giving a profile up", func(ctx context.Context) error {
		return l.options.Store.GiveUpProfile(ctx, l.options.Universe, l.lease.workerID, profile)
	})
}

func (l *Loop) readWorkers(ctx context.Context) (all []db.LoopWorker, err error) {
	err = callDatabase(ctx, "reading the workers of the loop", func(ctx context.Context) (err error) {
		all, err = l.options.Store.LoopWorkers(ctx)
		return err
	})
	return all, err
}

// giveEvery is the shortest time between two looks at which this worker gives profiles up.
const giveEvery = time.Second

// maxGivenUp bounds the profiles that a worker gives up at a time, since nobody decides for them until another worker
// has taken them.
const maxGivenUp = 8

// giveSurplus gives up profiles to the worker with least to decide about, as long as that worker then has less to decide
// about than this one had before.
func (l *Loop) giveSurplus(ctx context.Context) error {
	// A worker keeps its last profile, and knows its weight only when it has taken all profiles that it is about to take.
	if len(l.profiles) < 2 || len(l.profilesToTake) > 0 || time.Since(l.sharedAt) < giveEvery {
		return nil
	}
	l.sharedAt = time.Now()
	workers, err := l.readWorkers(ctx)
	if err != nil {
		return err
	}
	least := l.ownWeight()
	for _, w := range workers {
		if w.ID != l.lease.workerID {
			least = min(least, w.Weight)
		}
	}
	for range maxGivenUp {
		surplus := l.surplusProfile(least)
		if surplus == nil {
			return nil
		}
		if err := l.giveUp(ctx, surplus.name); err != nil {
			return err
		}
		// The other worker counts as if it had the profile already, though it first has to take it.
		least += surplus.ownWeight()
		l.dropProfile(surplus.name)
	}
	return nil
}

// surplusProfile returns the smallest profile that a worker with that weight could take and still have less than this
// worker has now.
func (l *Loop) surplusProfile(least int) *ownedProfile {
	var smallest *ownedProfile
	for _, p := range l.profiles {
		if smallest == nil || p.ownWeight() < smallest.ownWeight() ||
			p.ownWeight() == smallest.ownWeight() && p.name < smallest.name {
			smallest = p
		}
	}
	if smallest == nil || least+smallest.ownWeight() >= l.ownWeight() {
		return nil
	}
	return smallest
}

// ownWeight returns how many profiles and candidates this worker decides about, or is about to.
func (l *Loop) ownWeight() int {
	n := 0
	for _, p := range l.profiles {
		n += p.ownWeight()
	}
	for _, o := range l.profilesToTake {
		if l.profiles[o.ProfileName] == nil {
			n += l.freeWeight(o.ProfileName)
		}
	}
	return n
}

// freeWeight returns what a profile that nobody owns would add to the weight of a worker.
func (l *Loop) freeWeight(profile string) int { return 1 + l.queue.byProfile.countAsking(profile) }

// dropProfile forgets a profile and its matches that were not sent. Its tickets stay candidates of other profiles.
func (l *Loop) dropProfile(name string) {
	l.forgetProfile(name)
	l.freeProfileLater(name)
	l.waiting.dropProfile(name)
	l.waiting.isDemandStale = true // the database may have demand of a retired profile
	l.commits.dropProfile(name)
	l.holds = l.holds.withoutProfile(name)
}
