package roomhost

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/lattice-director/director/db"
)

const (
	// maxCapacity is the largest capacity of an instance, and that of an instance that declares no maximum.
	maxCapacity = 100_000
	maxModes    = 32 // of an instance
)

// modePattern matches the room types that are valid modes.
var modePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// registrationOf returns the registration of a process as an instance. ok is false for a process that can host no
// session: none of its room types is a valid mode, it has no endpoint, or it accepts no connections.
func registrationOf(p db.HostProcess, region string) (r db.Registration, ok bool) {
	r = db.Registration{
		InstanceID: p.ProcessUID, BootID: p.ProcessUID, Region: region, Endpoint: p.Endpoint,
		Modes:       modesOf(p.RoomTypes),
		Capacity:    maxCapacity,
		MaxSessions: maxSessions(p), Load: new(loadOf(p)), CreatesRooms: true,
	}
	if p.MaxConnections != nil {
		r.Capacity = min(maxCapacity, int(*p.MaxConnections))
	}
	return r, len(r.Modes) > 0 && r.Endpoint != "" && r.Capacity > 0
}

// modesOf returns the room types that are valid modes, sorted, at most 32.
func modesOf(types []string) []string {
	valid := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !modePattern.MatchString(t) })
	slices.Sort(valid)
	valid = slices.Compact(valid)
	return valid[:min(len(valid), maxModes)]
}

// maxSessions returns the number of sessions that a process can host in addition to its other rooms; nil means
// unlimited.
func maxSessions(p db.HostProcess) *int {
	if p.MaxRooms == nil {
		return nil
	}
	return new(max(0, int(*p.MaxRooms)-p.OtherRooms))
}

// loadOf returns the share of connections in use, or the number of connections if the process declares no maximum.
func loadOf(p db.HostProcess) float64 {
	if p.MaxConnections == nil {
		return float64(p.ConnectionCount)
	}
	return float64(p.ConnectionCount) / float64(max(1, *p.MaxConnections))
}

// mustRegister reports whether the registration of a process is missing, or differs in anything other than the number
// of sessions.
func mustRegister(p db.HostProcess, r db.Registration) bool {
	i := p.Instance
	modes := slices.Clone(i.Modes)
	slices.Sort(modes)
	return !i.IsLive || i.Endpoint != r.Endpoint || i.Capacity != r.Capacity ||
		(i.MaxSessions == nil) != (r.MaxSessions == nil) ||
		slices.CompareFunc(modes, r.Modes, cmp.Compare[string]) != 0
}

// mustChangeDrain reports whether the agent of a process drains and its instance does not, or the other way round. It
// compares with the row, because the agent may have drained on a connection to another replica.
func mustChangeDrain(p db.HostProcess) bool { return p.Draining != p.Instance.DrainsItself }
