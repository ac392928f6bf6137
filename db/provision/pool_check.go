package provision

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/value"
)

// withPoolDefaults fills the fields whose zero value means a default.
func withPoolDefaults(p Pool) Pool {
	p.MaxStarting = cmp.Or(p.MaxStarting, 50)
	p.EmptyTTL = cmp.Or(p.EmptyTTL, 5*time.Minute)
	// Sorted, so that comparedFields finds equal lists equal; a copy, since the list is the caller's. Empty stays
	// empty, and nil means all modes.
	if p.Modes != nil {
		p.Modes = append([]string{}, p.Modes...)
		slices.Sort(p.Modes)
	}
	if p.Networks == nil {
		p.Networks = []netip.Prefix{}
	}
	p.Zone = cmp.Or(p.Zone, defaultZone)
	p.Schedule = slices.Clone(p.Schedule)
	for i := range p.Schedule {
		// From here on every schedule has a zone of its own.
		p.Schedule[i].Zone = cmp.Or(p.Schedule[i].Zone, p.Zone)
	}
	return p
}

// CheckPools returns what is wrong with a declaration as such, whatever the database holds, at most 16 problems in the
// order of the lists. [Declaration.Check] calls it.
func CheckPools(apps []AppVersion, pools []Pool) []PoolProblem {
	all := []PoolProblem{}
	p := problems{foundProblems: &all}
	// The checks of a larger document would run for long.
	if len(apps)+len(pools) > maxPoolCount {
		p.addf("", "has %d app versions and pools, at most %d are allowed", len(apps)+len(pools), maxPoolCount)
		return all
	}
	p.checkPoolList(pools, p.checkVersions(apps))
	return all[:min(len(all), maxPoolProblems)]
}

// checkVersions reports what is wrong with app versions, and returns them by name.
func (p problems) checkVersions(apps []AppVersion) map[string]AppVersion {
	versions := map[string]AppVersion{}
	for i, v := range apps {
		at := p.underPath("apps[%d].", i)
		v = withAppDefaults(v)
		v.check(at)
		if _, twice := versions[v.Name()]; twice {
			at.addf("version", "app version %s occurs twice", v.Name())
		}
		versions[v.Name()] = v
	}
	return versions
}

// checkPoolList reports what is wrong with pools, each alone and beside the others.
func (p problems) checkPoolList(pools []Pool, versions map[string]AppVersion) {
	owners := map[poolMode]string{}
	seen := map[poolKey]bool{}
	for i, pool := range pools {
		at := p.underPath("pools[%d].", i)
		pool.check(at)
		pool.checkSchedule(at)
		if seen[pool.key()] {
			at.addf("version", "pool %s of region %s occurs twice", pool.Name(), pool.Region)
		}
		seen[pool.key()] = true
		if v, ok := versions[pool.Name()]; ok {
			pool.checkOffer(at, v.Modes)
			pool.Modes = pool.modesOf(v)
		}
		for _, m := range pool.Modes {
			owned := poolMode{pool.Region, m}
			if owner, taken := owners[owned]; taken && owner != pool.Name() {
				at.addf("modes", "mode %q of region %s belongs to pool %s as well: a mode belongs to one pool of a region",
					m, pool.Region, owner)
			}
			owners[owned] = pool.Name()
		}
	}
}

// maxPoolProblems bounds what is reported: a text with more problems is probably no declaration.
const maxPoolProblems = 16

func (p *Pool) check(at problems) {
	if !value.ValidRegion(p.Region) {
		at.addf("region", "%.40q must be 1 to 32 lowercase letters, digits and hyphens", p.Region)
	}
	at.checkText("app", p.App, appForm, nameWords)
	at.checkText("version", p.Version, appForm, nameWords)
	at.checkNumber("max", p.Max, 0, maxPoolSize)
	at.checkNumber("min", p.Min, 0, max(p.Max, 0))
	// A share of all servers: 100 percent would ask for more and more of them.
	if p.BufferPercent {
		at.checkNumber("buffer", p.Buffer, 0, 99)
	} else {
		at.checkNumber("buffer", p.Buffer, 0, maxPoolSize)
	}
	if p.MaxStarting != 0 {
		at.checkNumber("max_starting", p.MaxStarting, 1, maxPoolSize)
	}
	if p.EmptyTTL != 0 {
		at.checkDuration("empty_ttl", p.EmptyTTL, time.Second, maxEmptyTTL)
	}
	// Written so that NaN fails, too.
	if c := p.Coords; c != nil && !(math.Abs(c.Latitude) <= 90 && math.Abs(c.Longitude) <= 180) {
		at.addf("coordinates", "must be a latitude of -90 to 90 and a longitude of -180 to 180 degrees")
	}
	if len(p.Networks) > maxNetworks {
		at.addf("networks", "has %d networks, at most %d are allowed", len(p.Networks), maxNetworks)
	}
	if p.Zone != "" {
		at.checkText("zone", p.Zone, zoneForm, zoneWords)
	}
	for i, n := range p.Networks {
		if !n.IsValid() || n.Masked() != n {
			at.underPath("networks[%d]", i).addf("", "%s must be a network without host bits, such as %s", n,
				n.Masked())
		}
	}
	if len(p.Modes) > maxModes {
		at.addf("modes", "has %d modes, at most %d are allowed", len(p.Modes), maxModes)
	}
	checkModes(at, p.Modes)
}

// checkSchedule judges the schedules of a declaration. It is not part of check: a pool that was scaled down may have
// schedules with more servers than its max, which bounds them.
func (p *Pool) checkSchedule(at problems) {
	if len(p.Schedule) > maxSchedules {
		at.addf("schedule", "has %d entries, at most %d are allowed", len(p.Schedule), maxSchedules)
	}
	for i, s := range p.Schedule {
		s.check(at.underPath("schedule[%d].", i), p.Max)
	}
}

// checkOffer reports modes that servers of the app version do not offer.
func (p *Pool) checkOffer(at problems, offered []string) {
	for _, m := range p.Modes {
		if !slices.Contains(offered, m) {
			at.addf("modes", "app version %s does not offer %q: it offers %q", p.Name(), m, offered)
		}
	}
}

// modesOf returns the modes of a declared pool: without a list it has all modes of its app version.
func (p *Pool) modesOf(v AppVersion) []string {
	if p.Modes == nil {
		return slices.Sorted(slices.Values(v.Modes))
	}
	return p.Modes
}
