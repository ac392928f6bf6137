package loop

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/profile"
)

// shareLooks is the number of looks at which only the worker whose share it is takes a profile that nobody owns.
const shareLooks = 2

// chooseFree adds profiles that nobody owns to profilesToTake: at once those of this worker's share, and after two looks
// all.
func (l *Loop) chooseFree(ctx context.Context, all []db.ProfileOwner) error {
	var free []db.ProfileOwner
	for _, o := range all {
		// Left to a worker of the release that wrote the version.
		if l.unreadableVersions[o.ProfileName] == o.LiveVersion {
			continue
		}
		if o.IsOwned {
			delete(l.looksWithoutOwner, o.ProfileName)
			continue
		}
		l.looksWithoutOwner[o.ProfileName]++
		free = append(free, o)
	}
	l.metrics.unownedProfiles.Set(float64(len(free)))
	if len(free) == 0 {
		return nil
	}
	workers, err := l.readWorkers(ctx)
	if err != nil {
		return err
	}
	mine := l.shareOf(free, workers)
	for _, o := range free {
		// After some looks, the worker whose share the profile is has died or cannot read it: the first worker that
		// tries takes it. The database lets only one do so.
		if mine[o.ProfileName] || l.looksWithoutOwner[o.ProfileName] > shareLooks {
			l.profilesToTake = append(l.profilesToTake, o)
		}
	}
	return nil
}

// shareOf returns which of the profiles that nobody owns are this worker's share: the heaviest first, each goes to the
// worker that then has least to decide about. All workers compute about the same shares, since each knows the whole
// queue.
func (l *Loop) shareOf(free []db.ProfileOwner, workers []db.LoopWorker) map[string]bool {
	weights, mine := map[uuid.UUID]int{}, map[string]bool{}
	for _, w := range workers {
		weights[w.ID] = w.Weight
	}
	// The weight of this worker in the database is as old as the last renewal of its lease.
	weights[l.lease.workerID] = l.ownWeight()
	heaviest := slices.SortedFunc(slices.Values(free), func(a, b db.ProfileOwner) int {
		return cmp.Or(cmp.Compare(l.freeWeight(b.ProfileName), l.freeWeight(a.ProfileName)),
			cmp.Compare(a.ProfileName, b.ProfileName))
	})
	for _, o := range heaviest {
		least := l.lease.workerID
		for id, weight := range weights {
			if weight < weights[least] || weight == weights[least] && slices.Compare(id[:], least[:]) < 0 {
				least = id
			}
		}
		weights[least] += l.freeWeight(o.ProfileName)
		mine[o.ProfileName] = least == l.lease.workerID
	}
	return mine
}

// adoptBatch is how many profiles a step takes and reads, which lasts some 20 ms: between two batches the profiles that
// were taken before decide.
const adoptBatch = 64

// adoptSome takes the next profiles, or follows the next new versions, and gives them what they decide about.
func (l *Loop) adoptSome(ctx context.Context) error {
	batch := l.profilesToTake[:min(adoptBatch, len(l.profilesToTake))]
	if len(batch) == 0 {
		return nil
	}
	l.profilesToTake = l.profilesToTake[len(batch):]
	adopted, err := l.adoptProfiles(ctx, batch)
	if err != nil {
		return err
	}
	// The game regions come before the candidates, which an engine measures against them.
	hostsError := l.readUnknownHosts(ctx)
	for _, o := range adopted {
		// Even after an error: nothing fills an adopted profile later.
		l.fillProfile(l.profiles[o.ProfileName])
	}
	if hostsError != nil {
		return hostsError
	}
	for _, o := range adopted {
		if _, err := l.followShadow(ctx, l.profiles[o.ProfileName], o.ShadowVersion); err != nil {
			return err
		}
	}
	return nil
}

// adoptProfiles takes profiles and makes what decides for them, without candidates. It returns those that this worker
// decides for now.
func (l *Loop) adoptProfiles(ctx context.Context, batch []db.ProfileOwner) (adopted []db.ProfileOwner, err error) {
	epochs, err := l.takeBatch(ctx, batch)
	if err != nil {
		return nil, err
	}
	// Read after the profiles were taken: an error leaves them owned without a decider, and the next look resumes
	// them.
	documents, err := l.readDocuments(ctx, batch)
	if err != nil {
		return nil, err
	}
	for _, o := range batch {
		// A profile without an epoch has another owner by now: the database gives each profile to one worker.
		epoch, isTaken := epochs[o.ProfileName]
		document, isStored := documents[o.ProfileName]
		if !isTaken || !isStored {
			continue
		}
		read, err := l.parseVersion(document)
		if err != nil {
			l.markUnreadable(ctx, o.ProfileName, o.LiveVersion, err)
			continue
		}
		l.adoptProfile(ctx, o, epoch, read)
		adopted = append(adopted, o)
	}
	return adopted, nil
}

// takeBatch takes the profiles of a batch that this worker does not own, and returns the epochs of those that it owns
// then.
func (l *Loop) takeBatch(ctx context.Context, batch []db.ProfileOwner) (epochs map[string]int64, err error) {
	var free []string
	epochs = map[string]int64{}
	for _, o := range batch {
		// A profile of this worker, which it resumes or follows to another version, keeps its epoch.
		if o.WorkerID == l.lease.workerID {
			epochs[o.ProfileName] = o.Epoch
		} else {
			free = append(free, o.ProfileName)
		}
	}
	if len(free) == 0 {
		return epochs, nil
	}
	err = callDatabase(ctx, "taking profiles", func(ctx context.Context) error {
		taken, err := l.options.Store.TakeProfiles(ctx, l.options.Universe, l.lease.workerID, free)
		maps.Copy(epochs, taken)
		return err
	})
	return epochs, err
}

// readDocuments reads the live versions of profiles.
func (l *Loop) readDocuments(ctx context.Context, batch []db.ProfileOwner) (documents map[string]string, err error) {
	versions := map[string]int{}
	for _, o := range batch {
		versions[o.ProfileName] = o.LiveVersion
	}
	err = callDatabase(ctx, "reading profiles", func(ctx context.Context) (err error) {
		documents, err = l.options.Store.ProfileDocuments(ctx, l.options.Universe, versions)
		return err
	})
	return documents, err
}

// parseVersion parses a stored version of a profile. Errors: this release, or this worker, cannot decide by it.
func (l *Loop) parseVersion(document string) (*profile.Profile, error) {
	read, err := profile.ParseStored([]byte(document))
	if err == nil && read.Function != nil && l.options.Matchmaker == nil {
		err = errFunction
	}
	return read, err
}

// adoptProfile begins to decide for a profile by a version, without candidates. Matches that were decided by the version
// before are committed as they are.
func (l *Loop) adoptProfile(ctx context.Context, o db.ProfileOwner, epoch int64, read *profile.Profile) {
	// A profile that is decided here already follows another version: it keeps its epoch, its shadow and its waiting
	// times.
	p := l.profiles[o.ProfileName]
	if p == nil {
		now := time.Now()
		p = &ownedProfile{name: o.ProfileName, ownerEpoch: epoch, isPaused: o.IsPaused,
			freeTimes: []time.Time{now, now.Add(abandonedFor)}}
		l.setProfile(p)
		l.waiting.isDemandStale = true // the database may have demand of the former owner
		delete(l.looksWithoutOwner, o.ProfileName)
		l.metrics.takeovers.Inc()
		l.options.Log.LogAttrs(ctx, slog.LevelInfo, "profile is decided here", slog.String("profile", o.ProfileName),
			slog.Int64("epoch", epoch))
	}
	p.version, p.profile, p.lotSeed = o.LiveVersion, read, newSeed()
	// The new engine knows no open match, so that all of them count as changed at the next reading.
	p.openMatches, p.rostersRead = nil, time.Time{}
	// Checks that the version before, or another worker, has begun go on although this version may begin none.
	p.mayHaveChecks = true
	p.replaceEngine()
}

// markUnreadable remembers a version by which this release or this worker cannot decide. A profile that is decided by an
// older version stays with it; another one is left to workers that can.
func (l *Loop) markUnreadable(ctx context.Context, name string, version int, err error) {
	l.unreadableVersions[name] = version // the next look gives it up
	l.options.Log.LogAttrs(ctx, slog.LevelError, "profile cannot be read by this release", slog.String("profile", name),
		slog.Int("version", version), slog.Any("error", err))
}
