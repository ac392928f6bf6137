package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
)

// hostsEvery is how often the hosts are read while no match waits for one.
const hostsEvery = 10 * time.Second

// readUnknownHosts reads the hosts if a mode of a profile was not asked for yet, such as that of a profile that was just
// taken or has a new version.
func (l *Loop) readUnknownHosts(ctx context.Context) error {
	if l.knowHosts() {
		return nil
	}
	return l.readHosts(ctx)
}

// readHosts reads the hosts of all modes of this worker's profiles, and passes to the engines which game regions have
// room. It does nothing if what was read last is recent enough.
func (l *Loop) readHosts(ctx context.Context) error {
	if len(l.profiles) == 0 {
		return nil
	}
	// While a match waits for a server, capacity is read at each call. Otherwise the engines need it only as a hint.
	isRecent := time.Since(l.hosts.readAt) < hostsEvery && l.knowHosts()
	if isRecent && len(l.waiting.jobs) == 0 {
		return nil
	}
	modes := l.allModes()
	if len(modes) == 0 {
		return nil
	}
	var rows []db.HostRegion
	err := callDatabase(ctx, "reading the game regions", func(ctx context.Context) (err error) {
		rows, err = l.options.Store.HostRegions(ctx, slices.Sorted(maps.Keys(modes)))
		return err
	})
	if err != nil {
		return err
	}
	before := l.hosts
	l.hosts = hosts{largestFree: map[string]map[string]int{}, freeSeats: budget{}, knownModes: modes,
		readAt: time.Now()}
	for _, r := range rows {
		if l.hosts.largestFree[r.Region] == nil {
			l.hosts.largestFree[r.Region] = map[string]int{}
		}
		l.hosts.largestFree[r.Region][r.Mode] = r.FreeSeats
		l.hosts.freeSeats[place{r.Region, r.Mode}] = r.AllFreeSeats
	}
	for _, p := range l.profiles {
		l.updateRegions(p, before.regionsOf(p.profile), l.hosts.regionsOf(p.profile))
		p.shadow.updateRegions(before, l.hosts, l.currentMoment())
	}
	return nil
}

// updateRegions passes the current game regions to the engine of a profile, unless they are as before. If one is new,
// the tickets of matches that wait for a server are given back, since these matches were decided without the region.
func (l *Loop) updateRegions(p *ownedProfile, before, now []decide.Region) {
	// A change would make the engine search anew.
	if slices.Equal(before, now) {
		return
	}
	l.passChange(p, change{moment: l.currentMoment(), kind: regionsChanged, regions: now})
	isNew := func(r decide.Region) bool {
		return !slices.ContainsFunc(before, func(b decide.Region) bool { return b.Name == r.Name })
	}
	if !slices.ContainsFunc(now, isNew) {
		return
	}
	for _, j := range l.waiting.removeUnaccepted(p.name) {
		l.giveBack(j, noPause)
	}
}

// allModes returns the modes of this worker's profiles and their shadows.
func (l *Loop) allModes() map[string]bool {
	all := map[string]bool{}
	for _, p := range l.profiles {
		for _, m := range p.profile.Modes {
			all[m] = true
		}
		for _, m := range p.shadow.ownModes() {
			all[m] = true
		}
	}
	return all
}

// knowHosts reports whether the modes of all profiles and their shadows were asked for at the last reading.
func (l *Loop) knowHosts() bool {
	for _, p := range l.profiles {
		if !l.hosts.knowsModes(p.profile.Modes) || !l.hosts.knowsModes(p.shadow.ownModes()) {
			return false
		}
	}
	return true
}
