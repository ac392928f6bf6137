package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// hosts is what this worker knows of the game regions: a hint, since only a transaction sees whether a server has room.
type hosts struct {
	free  map[string]map[string]int // free seats of the instance that has most, by region and mode
	asked []string                  // the modes
	read  time.Time
}

// hostsEvery is how often the hosts are read while no match waits for one.
const hostsEvery = 10 * time.Second

// readHosts reads the hosts of all modes of this worker's profiles, and tells the engines which game regions have room.
func (l *Loop) readHosts(ctx context.Context) error {
	if len(l.profiles) == 0 || len(l.waiting.jobs) == 0 && time.Since(l.hosts.read) < hostsEvery && l.hosts.knows(l.modes()) {
		return nil
	}
	modes := l.modes()
	if len(modes) == 0 {
		return nil
	}
	rows, err := l.Store.HostRegions(ctx, modes)
	if err != nil {
		return err
	}
	before := l.hosts
	l.hosts = hosts{free: map[string]map[string]int{}, asked: modes, read: time.Now()}
	for _, r := range rows {
		if l.hosts.free[r.Region] == nil {
			l.hosts.free[r.Region] = map[string]int{}
		}
		l.hosts.free[r.Region][r.Mode] = r.FreeSeats
	}
	for _, p := range l.profiles {
		if now := l.hosts.regions(p.profile); !slices.Equal(now, before.regions(p.profile)) {
			p.engine.SetRegions(now)
			p.dirty = true
		}
	}
	return nil
}

// modes are those of this worker's profiles.
func (l *Loop) modes() []string {
	all := map[string]bool{}
	for _, p := range l.profiles {
		for _, m := range p.profile.Modes {
			all[m] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// knows reports whether each mode was asked for at the last reading.
func (h hosts) knows(modes []string) bool {
	for _, m := range modes {
		if !slices.Contains(h.asked, m) {
			return false
		}
	}
	return true
}

// regions returns the game regions that have instances of a mode of the profile, by name, and whether one has room for a match.
func (h hosts) regions(p *profile.Profile) []decide.Region {
	var all []decide.Region
	for _, name := range slices.Sorted(maps.Keys(h.free)) {
		r := decide.Region{Name: name}
		offered := false
		for _, m := range p.Modes {
			free, ok := h.free[name][m]
			offered = offered || ok
			r.Room = r.Room || free > 0
		}
		if offered {
			all = append(all, r)
		}
	}
	return all
}

// roomFirst returns the game regions of a decided match, those first that are known to have a server with room.
func (h hosts) roomFirst(found decide.Proposal, size int) []string {
	var room, others []string
	for _, r := range found.Regions {
		if h.room(r.Name, found.Modes, size) {
			room = append(room, r.Name)
		} else {
			others = append(others, r.Name)
		}
	}
	return append(room, others...)
}

func (h hosts) room(region string, modes []string, size int) bool {
	return slices.ContainsFunc(modes, func(m string) bool { return h.free[region][m] >= size })
}
