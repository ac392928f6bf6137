package poolfile

import (
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lattice-director/director/db/provision"
)

// AppText returns an app version as a document declares it, with its defaults written out.
func AppText(v provision.AppVersion) string { return writePart(appOf(v)) }

// PoolText returns a pool as a document declares it, with its defaults written out.
func PoolText(p provision.Pool) string { return writePart(poolOf(p)) }

// writePart returns a part of a document. It has texts, numbers, lists and mappings, which YAML can hold.
func writePart(part any) string {
	text, err := yaml.Marshal(part)
	if err != nil {
		return "# " + err.Error() + "\n"
	}
	return string(text)
}

// appOf is the reverse of convertApp.
func appOf(v provision.AppVersion) app {
	a := app{
		App: text(v.App), Version: text(v.Version), Provider: text(v.Provider), Launch: text(v.Launch),
		LaunchVersion: text(v.LaunchVersion), GamePort: text(v.GamePort), Endpoint: text(v.Endpoint),
		Modes: textsOf(v.Modes), Capacity: whole(v.Capacity), MaxSessions: (*whole)(v.MaxSessions),
		MaxPlayers: whole(v.MaxPlayers), Resources: resources{whole(v.CPUUnits), whole(v.MemoryMiB)},
		StartWithin: durationText(v.StartWithin), RegisterWithin: durationText(v.RegisterWithin),
		Grace: durationText(v.Grace), MaxLifetime: durationText(v.MaxLifetime), DrainAhead: durationText(v.DrainAhead),
		DigestRequired: v.DigestRequired, Compat: text(v.Compat),
	}
	for _, p := range v.Ports {
		a.Ports = append(a.Ports, port{text(p.Name), portNumber(p.Internal), text(p.Protocol)})
	}
	if len(v.Env) > 0 {
		a.Env = make(map[string]text, len(v.Env))
	}
	for name, value := range v.Env {
		a.Env[name] = text(value)
	}
	if v.Dialect != "" {
		a.Netcode = &connectTokens{text(v.Dialect), protocolID(v.ProtocolID)}
	}
	if f := v.Fallback; f != nil {
		a.Fallback = &fallback{text(f.Provider), text(f.Launch), text(f.LaunchVersion)}
	}
	return a
}

// poolOf is the reverse of convertPool.
func poolOf(p provision.Pool) pool {
	modes := textsOf(p.Modes)
	out := pool{
		Region: text(p.Region), App: text(p.App), Version: text(p.Version), Min: whole(p.Min), Max: whole(p.Max),
		Buffer: text(strconv.Itoa(p.Buffer)), MaxStarting: whole(p.MaxStarting), EmptyTTL: durationText(p.EmptyTTL),
		Modes: &modes, Zone: text(p.Zone), Forecast: p.Forecast,
	}
	for _, s := range p.Schedule {
		out.Schedule = append(out.Schedule, scheduleOf(s))
	}
	if p.BufferPercent {
		out.Buffer += "%"
	}
	if p.Coords != nil {
		out.Coordinates = &place{number(p.Coords.Latitude), number(p.Coords.Longitude)}
	}
	for _, n := range p.Networks {
		out.Networks = append(out.Networks, text(n.String()))
	}
	return out
}

// textsOf is the reverse of plainTexts. It returns no nil, so that a list that must be there is written as [].
func textsOf(list []string) []text {
	all := make([]text, len(list))
	for i, t := range list {
		all[i] = text(t)
	}
	return all
}

// durationText leaves 0 out, which a document cannot say.
func durationText(d time.Duration) text {
	if d == 0 {
		return ""
	}
	return text(d.String())
}
