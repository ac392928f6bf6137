package poolfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/network"
	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/token/netcode"
)

// converter makes the types of the store, and collects what cannot be read.
type converter struct {
	file     *File // whose values have the positions of problems
	problems []Problem
}

// maxProblems bounds an Error.
const maxProblems = 16

func (c *converter) addProblemf(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, c.file.ProblemAt(path, fmt.Sprintf(format, args...)))
	}
}

func (c *converter) convertApp(path string, a app) provision.AppVersion {
	v := provision.AppVersion{
		App: string(a.App), Version: string(a.Version), Provider: string(a.Provider), Launch: string(a.Launch),
		LaunchVersion: string(a.LaunchVersion),
		GamePort:      string(a.GamePort), Endpoint: string(a.Endpoint), Modes: plainTexts(a.Modes),
		Capacity: int(a.Capacity), MaxSessions: (*int)(a.MaxSessions), MaxPlayers: int(a.MaxPlayers),
		CPUUnits: int(a.Resources.CPUUnits), MemoryMiB: int(a.Resources.MemoryMiB),
		StartWithin:    c.convertDuration(path+"start_within", a.StartWithin),
		RegisterWithin: c.convertDuration(path+"register_within", a.RegisterWithin),
		Grace:          c.convertDuration(path+"grace", a.Grace),
		MaxLifetime:    c.convertDuration(path+"max_lifetime", a.MaxLifetime),
		DrainAhead:     c.convertDuration(path+"drain_ahead", a.DrainAhead),
		DigestRequired: a.DigestRequired, Compat: string(a.Compat),
	}
	if f := a.Fallback; f != nil {
		v.Fallback = &provision.AppFallback{Provider: string(f.Provider), Launch: string(f.Launch),
			LaunchVersion: string(f.LaunchVersion)}
	}
	if a.Env != nil {
		v.Env = make(map[string]string, len(a.Env))
	}
	for name, value := range a.Env {
		v.Env[name] = string(value)
	}
	for _, p := range a.Ports {
		v.Ports = append(v.Ports, provision.AppPort{Name: string(p.Name), Internal: uint16(p.Internal),
			Protocol: provider.Protocol(p.Protocol)})
	}
	if a.Netcode != nil {
		v.Dialect, v.ProtocolID = netcode.Dialect(a.Netcode.Dialect), uint64(a.Netcode.ProtocolID)
		// Without a dialect there are no connect tokens: the rest of the mapping would be ignored silently.
		if v.Dialect == "" {
			c.addProblemf(path+"netcode.dialect", "is missing")
		}
	}
	return v
}

func (c *converter) convertPool(path string, p pool) provision.Pool {
	converted := provision.Pool{
		Region: string(p.Region), App: string(p.App), Version: string(p.Version), Min: int(p.Min), Max: int(p.Max),
		MaxStarting: int(p.MaxStarting),
		EmptyTTL:    c.convertDuration(path+"empty_ttl", p.EmptyTTL), Zone: string(p.Zone), Forecast: p.Forecast,
	}
	converted.Buffer, converted.BufferPercent = c.convertBuffer(path+"buffer", p.Buffer)
	if p.Coordinates != nil {
		converted.Coords = &provider.Coords{Latitude: float64(p.Coordinates.Latitude),
			Longitude: float64(p.Coordinates.Longitude)}
	}
	// Each that cannot be read is a problem of its own: the others are read all the same.
	for i, text := range p.Networks {
		declared, err := network.Parse(string(text))
		if err != nil {
			c.addProblemf(fmt.Sprintf("%snetworks[%d]", path, i), "%.60q must be a network such as 192.0.2.0/24", text)
		}
		converted.Networks = append(converted.Networks, declared)
	}
	if p.Modes != nil {
		// Not nil: an empty list is not the default, which is all modes of the app version.
		converted.Modes = append([]string{}, plainTexts(*p.Modes)...)
	}
	for i, s := range p.Schedule {
		converted.Schedule = append(converted.Schedule, c.convertSchedule(fmt.Sprintf("%sschedule[%d].", path, i), s))
	}
	return converted
}

// convertDuration reads a duration; "" is the default.
func (c *converter) convertDuration(path string, text text) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(string(text))
	// The zero value stands for the default, so that a document cannot set 0.
	if err != nil || d <= 0 {
		c.addProblemf(path, "%.40q must be a duration above 0, such as 90s, 5m or 24h", text)
	}
	return d
}

// ParseBuffer reads a number of servers or a share of them, such as 2 or 20%.
func ParseBuffer(text string) (n int, percent bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	if n, err = strconv.Atoi(number); err != nil || n < 0 {
		return 0, false, fmt.Errorf("%.40q must be a number of servers or a share of them, such as 2 or 20%%", text)
	}
	return n, percent, nil
}

// convertBuffer reads a buffer; "" is the default.
func (c *converter) convertBuffer(path string, text text) (int, bool) {
	if text == "" {
		return 0, false
	}
	n, percent, err := ParseBuffer(string(text))
	if err != nil {
		c.addProblemf(path, "%s", err)
	}
	return n, percent
}
