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

// readHosts reads the hosts of all modes of this worker's profiles, and tells the engines which game regions have room.
func (l *Loop) readHosts(ctx context.Context) error {
	// While a match waits for a server, capacity is read every second. Otherwise the engines need it only as a hint.
	if len(l.profiles) == 0 || len(l.waiting.jobs) == 0 && time.Since(l.hosts.readAt) < hostsEvery && l.knowHosts() {
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
		l.regionsChanged(p, before.regionsOf(p.profile), l.hosts.regionsOf(p.profile))
		p.shadow.regionsChanged(before, l.hosts, l.currentMoment())
	}
	return nil
}

// regionsChanged passes the current game regions to the engine of a profile. Matches that wait for a server were
// decided without the new regions.
func (l *Loop) regionsChanged(p *owned, before, now []decide.Region) {
	// A change would make the engine search anew.
	if slices.Equal(before, now) {
		return
	}
	l.passChange(p, change{moment: l.currentMoment(), kind: regionsChanged, regions: now})
	for _, r := range now {
		if !slices.ContainsFunc(before, func(b decide.Region) bool { return b.Name == r.Name }) {
			for _, j := range l.waiting.removeUnaccepted(p.name) {
				l.giveBack(j, 0)
			}
			return
		}
	}
}

// allModes are those of this worker's profiles.
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

// knowHosts reports whether the modes of all profiles were asked for at the last reading.
func (l *Loop) knowHosts() bool {
	for _, p := range l.profiles {
		if !l.hosts.knowsModes(p.profile.Modes) || !l.hosts.knowsModes(p.shadow.ownModes()) {
			return false
		}
	}
	return true
}
