package opsview

import "time"

// PoolSchedule is a time at which a pool has a higher least number of servers, this time or next.
type PoolSchedule struct {
	Region   string `db:"region" json:"region"`
	App      string `db:"app" json:"app"`
	Version  string `db:"version" json:"version"`
	Entry    int32  `db:"entry" json:"entry"` // its place in the declaration, from 0
	Schedule string `db:"schedule" json:"schedule"`
	Zone     string `db:"zone" json:"zone"`
	Min      int32  `db:"min" json:"min"`
	State    string `db:"state" json:"state"` // holds, starting, ahead or over
	// PrepareAt is when servers begin to start for it. This time and the two others are nil when the schedule is over.
	PrepareAt *time.Time `db:"prepare_at" json:"prepare_at"`
	StartsAt  *time.Time `db:"starts_at" json:"starts_at"`
	EndsAt    *time.Time `db:"ends_at" json:"ends_at"`
}

// PoolSchedules are read in the order of their declarations.
var PoolSchedules = View[PoolSchedule, PoolFilter]{name: "pool_schedules",
	order: Order{"region", "app", "version", "entry"}}

// ForecastHour is an hour of the last week or the next one.
type ForecastHour struct {
	Region   string    `db:"region" json:"region"`
	App      string    `db:"app" json:"app"`
	Version  string    `db:"version" json:"version"`
	Hour     time.Time `db:"hour" json:"hour"`
	Weeks    int32     `db:"weeks" json:"weeks"`       // how many of the four weeks before know the same hour
	Expected *int32    `db:"expected" json:"expected"` // servers; nil: fewer than two weeks are known
	Low      *int32    `db:"low" json:"low"`           // the fewest servers of these weeks; nil: no week is known
	High     *int32    `db:"high" json:"high"`         // the most servers of these weeks; nil: no week is known
	Servers  *int32    `db:"servers" json:"servers"`   // Expected and the buffer
	Used     *int32    `db:"used" json:"used"`         // servers that players needed; nil: not known
}

// PastForecastHours is how many hours of a pool [Forecasts] has before the present one.
const PastForecastHours = 168

// Forecasts has 336 hours of each pool: 168, the present one, and 167 after it.
var Forecasts = View[ForecastHour, PoolFilter]{name: "pool_forecast", order: Order{"region", "app", "version", "hour"}}

// ForecastError is how good the forecasts of the last four weeks were.
type ForecastError struct {
	Region    string   `db:"region" json:"region"`
	App       string   `db:"app" json:"app"`
	Version   string   `db:"version" json:"version"`
	Forecast  bool     `db:"forecast" json:"forecast"`     // it is switched on
	Hours     int64    `db:"hours" json:"hours"`           // that had one
	MeanUsed  *float64 `db:"mean_used" json:"mean_used"`   // nil: no hour had one
	MeanError *float64 `db:"mean_error" json:"mean_error"` // servers
	// ShortHours is how many hours had a forecast of fewer servers than players needed.
	ShortHours int64      `db:"short_hours" json:"short_hours"`
	WorstShort *int32     `db:"worst_short" json:"worst_short"` // servers
	KnownSince *time.Time `db:"known_since" json:"known_since"` // nil: no hour is known
}

// ForecastErrors has a row for each pool.
var ForecastErrors = View[ForecastError, PoolFilter]{name: "pool_forecast_errors",
	order: Order{"region", "app", "version"}}
