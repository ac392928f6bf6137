package provision

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

// comparedFields returns what an operator declares of an app version, by the names in documents.
func (v *AppVersion) comparedFields() map[string]any {
	return map[string]any{
		"provider": v.Provider, "launch": v.Launch, "launch_version": v.LaunchVersion, "ports": v.Ports,
		"game_port": v.GamePort, "endpoint": v.Endpoint,
		// Sorted, since another order of the same modes is no change.
		"modes": slices.Sorted(slices.Values(v.Modes)), "capacity": v.Capacity, "max_sessions": v.MaxSessions,
		"max_players": v.MaxPlayers, "env": v.Env,
		"resources": [2]int{v.CPUUnits, v.MemoryMiB}, "start_within": v.StartWithin,
		"register_within": v.RegisterWithin, "grace": v.Grace,
		"max_lifetime": v.MaxLifetime, "drain_ahead": v.DrainAhead, "netcode": [2]any{v.Dialect, v.ProtocolID},
		"digest_required": v.DigestRequired, "compat": v.Compat, "fallback": v.Fallback,
	}
}

// comparedFields returns what an operator declares of a pool, by the names in documents.
func (p *Pool) comparedFields() map[string]any {
	return map[string]any{
		"min": p.Min, "max": p.Max, "buffer": [2]any{p.Buffer, p.BufferPercent}, "max_starting": p.MaxStarting,
		"empty_ttl":   p.EmptyTTL,
		"coordinates": p.Coords, "networks": p.Networks, "modes": p.Modes,
		"zone": p.Zone, "schedule": p.Schedule, "forecast": p.Forecast,
	}
}

// saveParams returns the columns of an app version.
func (v *AppVersion) saveParams() (query.SaveAppVersionParams, error) {
	ports, err := json.Marshal(v.Ports)
	if err != nil {
		return query.SaveAppVersionParams{}, err
	}
	env, err := json.Marshal(v.Env)
	if err != nil {
		return query.SaveAppVersionParams{}, err
	}
	p := query.SaveAppVersionParams{
		App: v.App, Version: v.Version, Provider: v.Provider, Launch: v.Launch, LaunchVersion: v.LaunchVersion,
		Ports: ports, GamePort: v.GamePort,
		Endpoint: v.Endpoint, Modes: v.Modes, Capacity: int32(v.Capacity), MaxPlayers: int32(v.MaxPlayers), Env: env,
		CpuUnits:  int32(v.CPUUnits),
		MemoryMib: int32(v.MemoryMiB), StartWithin: v.StartWithin, RegisterWithin: v.RegisterWithin, Grace: v.Grace,
		MaxLifetime: v.MaxLifetime,
		DrainAhead:  v.DrainAhead, Dialect: string(v.Dialect), DigestRequired: v.DigestRequired, Compat: v.Compat,
	}
	if v.Fallback != nil {
		if p.Fallback, err = json.Marshal(v.Fallback); err != nil {
			return query.SaveAppVersionParams{}, err
		}
	}
	if v.MaxSessions != nil {
		n := int32(*v.MaxSessions)
		p.MaxSessions = &n
	}
	// An app version without connect tokens has NULL, since 0 is a valid id.
	if v.Dialect != "" {
		p.ProtocolID = strconv.FormatUint(v.ProtocolID, 10)
	}
	return p, nil
}

func (p *Pool) saveParams() query.SavePoolParams {
	r := query.SavePoolParams{
		Region: p.Region, App: p.App, Version: p.Version, MinServers: int32(p.Min), MaxServers: int32(p.Max),
		Buffer:        int32(p.Buffer),
		BufferPercent: p.BufferPercent, MaxStarting: int32(p.MaxStarting), EmptyTtl: p.EmptyTTL, Networks: p.Networks,
		Zone: p.Zone, Forecast: p.Forecast,
	}
	// A check of the table allows both or none.
	if p.Coords != nil {
		r.Latitude, r.Longitude = &p.Coords.Latitude, &p.Coords.Longitude
	}
	return r
}

// save queues the statements that write a pool with its schedules.
func (p *Pool) save(batch *tx.Pipeline) {
	query.QueueExec(batch, (*query.Queries).SavePool, p.saveParams())
	// All schedules are replaced, since entries have no names by which they could be compared.
	query.QueueExec(batch, (*query.Queries).DeletePoolSchedules,
		query.DeletePoolSchedulesParams{Region: p.Region, App: p.App, Version: p.Version})
	for i, s := range p.Schedule {
		row := query.InsertPoolScheduleParams{
			Region: p.Region, App: p.App, Version: p.Version, Entry: int32(i), Title: s.Title(), Zone: s.Zone,
			StartOn: s.StartOn, EndOn: s.EndOn, StartAt: s.StartAt, EndAt: s.EndAt, MinServers: int32(s.Min),
		}
		for _, day := range s.Days {
			row.Days = append(row.Days, int32(day))
		}
		query.QueueExec(batch, (*query.Queries).InsertPoolSchedule, row)
	}
}

// readPools returns the pools of a region, or for "" those of all regions, in the order of their keys.
func readPools(ctx context.Context, q *query.Queries, region string) ([]Pool, error) {
	rows, err := q.ListPools(ctx, region)
	if err != nil {
		return nil, err
	}
	all := make([]Pool, len(rows))
	for i, r := range rows {
		all[i] = Pool{
			Region: r.Region, App: r.App, Version: r.Version, Min: int(r.MinServers), Max: int(r.MaxServers),
			Buffer: int(r.Buffer), BufferPercent: r.BufferPercent,
			MaxStarting: int(r.MaxStarting), EmptyTTL: r.EmptyTtl, Networks: r.Networks, Modes: r.Modes,
			Servers:     int(r.Servers),
			PausedUntil: r.PausedUntil, PauseReason: r.PauseReason, LastPlan: r.LastPlan,
			Zone: r.Zone, Forecast: r.Forecast,
		}
		if all[i].Schedule, err = schedulesOf(r.Schedule); err != nil {
			return nil, err
		}
		if r.Latitude != nil && r.Longitude != nil {
			all[i].Coords = &provider.Coords{Latitude: *r.Latitude, Longitude: *r.Longitude}
		}
		// The statement returns the epoch for a pool that was never planned.
		if r.PlannedAt.After(time.Unix(0, 0)) {
			all[i].PlannedAt = &rows[i].PlannedAt
		}
	}
	return all, nil
}

func readAppVersions(ctx context.Context, q *query.Queries) ([]AppVersion, error) {
	rows, err := q.ListAppVersions(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]AppVersion, len(rows))
	for i, r := range rows {
		if all[i], err = appVersionOf(query.GetAppVersionRow(r)); err != nil {
			return nil, err
		}
	}
	return all, nil
}
