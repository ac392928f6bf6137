package play

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/nearest"
	"github.com/lattice-director/director/match/profile"
)

const (
	// profilesFor is how long a reading of the list of profiles stays usable: after that, requests are checked against a
	// new version.
	profilesFor = time.Second
	// similarName is how many letters of a name may be wrong for another name to be suggested.
	similarName = 3
)

// ProfileStore is the part of db.Store that [LiveProfiles] calls.
type ProfileStore interface {
	ProfileOwners(ctx context.Context, universe string) ([]db.ProfileOwner, error)
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
}

// LiveProfiles implements [Profiles]: it keeps the live versions in memory, and reads the list again at most once a
// second, while somebody asks. It hides the built-in profiles of the realtime lobby: their matches are for sessions of
// the lobby only. Safe for concurrent use.
type LiveProfiles struct {
	store  ProfileStore
	region string

	mu sync.Mutex // held while the list is read, so that callers that come meanwhile wait for one reading
	// readAt is when the list was last read, or a reading failed; zero before the first that succeeded.
	readAt time.Time
	// readBegan is when the last successful reading began.
	readBegan time.Time
	byName    map[string]liveProfile
}

type liveProfile struct {
	version int
	profile *profile.Profile
}

// NewLiveProfiles returns the live profiles of a region. It reads nothing yet.
func NewLiveProfiles(store ProfileStore, region string) *LiveProfiles {
	return &LiveProfiles{store: store, region: region}
}

// LiveProfile implements [Profiles]. While the database cannot be reached, the profiles are those of the last reading.
func (l *LiveProfiles) LiveProfile(ctx context.Context, name string) (*profile.Profile, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refreshIfOld(ctx); err != nil {
		return nil, err
	}
	if p, ok := l.byName[name]; ok {
		return p.profile, nil
	}
	detail := fmt.Sprintf("there is no profile %q", name)
	if similar := nearest.Name(name, slices.Sorted(maps.Keys(l.byName)), similarName); similar != "" {
		detail += fmt.Sprintf("; did you mean %q?", similar)
	}
	return nil, &fault.Error{Kind: fault.NotFound, Code: "profile_unknown", Detail: detail}
}

// AllLive implements [Profiles]. While the database cannot be reached, the profiles are those of the last reading.
func (l *LiveProfiles) AllLive(ctx context.Context) (all []*profile.Profile, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refreshIfOld(ctx); err != nil {
		return nil, err
	}
	for _, p := range l.byName {
		all = append(all, p.profile)
	}
	return all, nil
}

// refreshIfOld reads the list again if the last reading is too old. It fails only if there was none.
func (l *LiveProfiles) refreshIfOld(ctx context.Context) error {
	if time.Since(l.readAt) <= profilesFor {
		return nil
	}
	if err := l.readNow(ctx); err != nil && l.readAt.IsZero() {
		return err
	}
	l.readAt = time.Now() // after a failure, too: an outage must not make every call wait for the database
	return nil
}

// Refresh implements [Profiles]. Callers that come during a reading share the next one.
func (l *LiveProfiles) Refresh(ctx context.Context, after time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A reading of another caller may have begun late enough.
	if l.readBegan.After(after) {
		return nil
	}
	return l.readNow(ctx)
}

// readNow reads the list whatever its age. It is called with mu locked.
func (l *LiveProfiles) readNow(ctx context.Context) error {
	// A version that goes live while the statement runs may be missing from the list.
	began := time.Now()
	if err := l.readVersions(ctx); err != nil {
		return err
	}
	l.readAt, l.readBegan = time.Now(), began
	return nil
}

// readVersions reads the list, and the documents of versions that are new. A version that a newer release wrote and
// this one cannot read leaves the one before it in force.
func (l *LiveProfiles) readVersions(ctx context.Context) error {
	owners, err := l.store.ProfileOwners(ctx, l.region)
	if err != nil {
		return err
	}
	next := make(map[string]liveProfile, len(owners))
	for _, o := range owners {
		if db.IsRealtimeProfile(o.ProfileName) {
			continue
		}
		p, err := l.liveVersion(ctx, o)
		if fault.Is(err, fault.Unavailable) {
			return err
		}
		if err == nil {
			next[o.ProfileName] = p
			continue
		}
		// Without a version before it, tickets that name the profile are refused, and others are not.
		if known, ok := l.byName[o.ProfileName]; ok {
			next[o.ProfileName] = known
		}
	}
	l.byName = next
	return nil
}

// liveVersion returns the live version of a profile. Versions never change, so each is read and parsed once.
func (l *LiveProfiles) liveVersion(ctx context.Context, o db.ProfileOwner) (liveProfile, error) {
	if known, ok := l.byName[o.ProfileName]; ok && known.version == o.LiveVersion {
		return known, nil
	}
	return l.parseVersion(ctx, o)
}

func (l *LiveProfiles) parseVersion(ctx context.Context, o db.ProfileOwner) (liveProfile, error) {
	stored, err := l.store.Profile(ctx, l.region, o.ProfileName, o.LiveVersion)
	if err != nil {
		return liveProfile{}, err
	}
	p, err := profile.ParseStored([]byte(stored.Document))
	if err != nil {
		return liveProfile{}, fmt.Errorf("version %d of profile %s: %w", o.LiveVersion, o.ProfileName, err)
	}
	return liveProfile{o.LiveVersion, p}, nil
}
