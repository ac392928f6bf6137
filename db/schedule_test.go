package db_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestClocksThatSkipAndRepeatTimes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct{ local, zone, first, last string }{
		{"2026-11-27 18:00", "Europe/Berlin", "2026-11-27 17:00", "2026-11-27 17:00"},
		{"2026-07-03 18:00", "Europe/Berlin", "2026-07-03 16:00", "2026-07-03 16:00"},
		// put forward at 2:00: the half hour past two does not exist
		{"2026-03-29 02:00", "Europe/Berlin", "2026-03-29 01:00", "2026-03-29 01:00"},
		{"2026-03-29 02:30", "Europe/Berlin", "2026-03-29 01:00", "2026-03-29 01:00"},
		{"2026-03-29 03:00", "Europe/Berlin", "2026-03-29 01:00", "2026-03-29 01:00"},
		{"2026-03-29 01:59", "Europe/Berlin", "2026-03-29 00:59", "2026-03-29 00:59"},
		// put back at 3:00: the hour from two comes twice
		{"2026-10-25 02:00", "Europe/Berlin", "2026-10-25 00:00", "2026-10-25 01:00"},
		{"2026-10-25 02:30", "Europe/Berlin", "2026-10-25 00:30", "2026-10-25 01:30"},
		{"2026-10-25 03:00", "Europe/Berlin", "2026-10-25 02:00", "2026-10-25 02:00"},
		// at midnight: the day begins at one, and an hour of the day before comes twice
		{"2024-03-31 00:00", "Asia/Beirut", "2024-03-30 22:00", "2024-03-30 22:00"},
		{"2024-10-26 23:30", "Asia/Beirut", "2024-10-26 20:30", "2024-10-26 21:30"},
		// by half an hour
		{"2026-10-04 02:15", "Australia/Lord_Howe", "2026-10-03 15:30", "2026-10-03 15:30"},
		{"2026-04-05 01:45", "Australia/Lord_Howe", "2026-04-04 14:45", "2026-04-04 15:15"},
		// a whole day that Samoa did not have
		{"2011-12-30 12:00", "Pacific/Apia", "2011-12-30 10:00", "2011-12-30 10:00"},
		{"2026-03-29 02:30", "UTC", "2026-03-29 02:30", "2026-03-29 02:30"},
	} {
		require.Equal(t, []string{c.first + "|" + c.last}, b.Rows(`SELECT to_char(wall_clock_instant($1::timestamp, $2, false) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI'),
			to_char(wall_clock_instant($1::timestamp, $2, true) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')`, c.local, c.zone), "%s %s", c.local, c.zone)
	}
}

// The clocks of the property: zones with changes at different hours, by different amounts, and none.
var zonesOfProperty = []string{"Europe/Berlin", "America/New_York", "Asia/Beirut", "Australia/Lord_Howe",
	"America/Santiago", "Asia/Kolkata", "UTC"}

// Reads the clocks minute by minute, as a person would.
func TestClocksShowWhatAScheduleSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	conn, err := pgx.Connect(t.Context(), b.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom(zonesOfProperty).Draw(r, "zone")
		zone, err := time.LoadLocation(name)
		require.NoError(r, err)
		around := time.Date(2021, 1, 1, 0, 0, 0, 0,
			time.UTC).Add(time.Duration(rapid.IntRange(0, 4*365*24).Draw(r, "hour")) * time.Hour)
		if rapid.Bool().Draw(r, "near a change") {
			around = nextChange(around, zone)
		}
		local := around.In(zone).Add(time.Duration(rapid.IntRange(-90, 90).Draw(r, "minutes")) * time.Minute)
		wanted := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
		first, last := readClocks(wanted, zone)
		var got [2]time.Time
		require.NoError(r, conn.QueryRow(t.Context(),
			"SELECT wall_clock_instant($1::timestamp, $2, false), wall_clock_instant($1::timestamp, $2, true)", wanted,
			name).
			Scan(&got[0], &got[1]))
		require.Equal(r, []string{first.String(), last.String()},
			[]string{got[0].UTC().String(), got[1].UTC().String()}, "%s %s", wanted, name)
	})
}

// nextChange returns when the clocks of a zone are next changed; the time itself where they are not within two years.
func nextChange(from time.Time, zone *time.Location) time.Time {
	_, offset := from.In(zone).Zone()
	for at := from; at.Before(from.AddDate(2, 0, 0)); at = at.Add(30 * time.Minute) {
		if _, now := at.In(zone).Zone(); now != offset {
			return at
		}
	}
	return from
}

// readClocks looks at a clock each minute of three days. A time that it skips is when it jumps over it.
func readClocks(wanted time.Time, zone *time.Location) (first, last time.Time) {
	var jump time.Time
	for at := wanted.Add(-36 * time.Hour); at.Before(wanted.Add(36 * time.Hour)); at = at.Add(time.Minute) {
		shows := at.In(zone)
		clock := time.Date(shows.Year(), shows.Month(), shows.Day(), shows.Hour(), shows.Minute(), 0, 0, time.UTC)
		switch {
		case clock.Equal(wanted) && first.IsZero():
			first, last = at, at
		case clock.Equal(wanted):
			last = at
		case clock.After(wanted) && jump.IsZero():
			jump = at
		}
	}
	if first.IsZero() {
		return jump, jump
	}
	return first, last
}

// planned declares a pool of up to 300 servers, 50 at a time, with schedules.
func (b *bundle) planned(schedules ...provision.Schedule) {
	b.t.Helper()
	p := euPool("v1", "duel")
	p.Max, p.Min, p.Schedule = 300, 2, schedules
	b.declare([]provision.AppVersion{arenaVersion("v1")}, p)
}

// minAt returns the least number of servers at a time, and what it is from.
func (b *bundle) minAt(at string) string {
	b.t.Helper()
	return one[string](b, "SELECT servers || ' ' || cause FROM pool_min('eu', 'arena', 'v1', $1::text::timestamptz)",
		at)
}

var evenings = provision.Schedule{Zone: "Europe/Berlin", Days: []int{5, 6, 7}, StartAt: "18:00", EndAt: "23:30",
	Min: 200}

func TestSchedulesRaiseTheMinimum(t *testing.T) {
	t.Parallel()
	b := setup(t)
	night := provision.Schedule{Zone: "Europe/Berlin", Days: []int{6}, StartAt: "23:00", EndAt: "02:30", Min: 250}
	event := provision.Schedule{Zone: "America/New_York", StartOn: "2026-12-24", StartAt: "10:00", EndOn: "2026-12-25",
		EndAt: "01:00", Min: 100}
	b.planned(evenings, night, event)
	b.Exec("UPDATE pools SET start_time = '1 second'") // four rounds of 50, and five
	const friday, saturday = "fri-sun 18:00 to 23:30 Europe/Berlin", "sat 23:00 to 02:30 Europe/Berlin"
	for at, want := range map[string]string{
		"2026-11-26 17:30Z":    "2 min", // a Thursday
		"2026-11-27 16:59:55Z": "2 min",
		"2026-11-27 16:59:56Z": "200 " + friday, // they take four seconds to start
		"2026-11-27 22:29Z":    "200 " + friday,
		"2026-11-27 22:30Z":    "2 min",
		"2026-11-28 22:15Z":    "250 " + saturday, // the greater of two
		"2026-11-29 01:29Z":    "250 " + saturday,
		"2026-11-29 01:30Z":    "2 min",
		"2026-07-03 16:00Z":    "200 " + friday, // in summer
		"2026-07-03 15:59Z":    "2 min",
		"2026-12-24 14:59Z":    "2 min",
		"2026-12-24 15:00Z":    "100 2026-12-24 10:00 to 2026-12-25 01:00 America/New_York",
		"2026-12-25 05:59Z":    "100 2026-12-24 10:00 to 2026-12-25 01:00 America/New_York",
		"2026-12-25 06:00Z":    "2 min",
	} {
		require.Equal(t, want, b.minAt(at), at)
	}
	b.Exec("UPDATE pools SET max_servers = 150")
	require.Equal(t, "150 "+friday, b.minAt("2026-11-27 18:00Z"), "max bounds it")
	b.Exec("UPDATE pools SET min_servers = 150")
	require.Equal(t, "150 min", b.minAt("2026-11-27 18:00Z"))
}

// A window holds whenever the clock shows a time in it, so a night on which clocks change is an hour longer or shorter.
func TestSchedulesOnNightsOnWhichClocksChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	windows := func(start, end, from string) string {
		return one[string](b, `SELECT coalesce(string_agg(to_char(w.starts_at AT TIME ZONE 'UTC', 'DD HH24:MI') || ' to ' || to_char(w.ends_at AT TIME ZONE 'UTC', 'DD HH24:MI'), ', ' ORDER BY w.starts_at), 'none')
			FROM schedule_windows(ROW('eu', 'arena', 'v1', 0, '', 'Europe/Berlin', '{7}'::int[], NULL::date, NULL, $1::text::time, $2::text::time, 1)::pool_schedules,
				$3::text::timestamptz, $3::text::timestamptz + interval '26 hours') w`, start, end, from)
	}
	const forward, back = "2026-03-28 23:00Z", "2026-10-24 22:00Z" // midnight of the Sunday
	require.Equal(t, "29 00:00 to 29 02:00", windows("01:00", "04:00", forward), "two hours, not three")
	require.Equal(t, "24 23:00 to 25 03:00", windows("01:00", "04:00", back), "four hours")
	require.Equal(t, "29 01:00 to 29 01:15", windows("02:30", "03:15", forward), "from the jump on")
	require.Equal(t, "none", windows("02:15", "02:45", forward), "nobody's clock shows a time in it")
	require.Equal(t, "25 00:30 to 25 01:45", windows("02:30", "02:45", back), "the first time to the last")
	require.Equal(t, "28 23:00 to 29 01:00", windows("00:00", "02:30", forward))
	require.Equal(t, "28 23:00 to 29 22:00", windows("00:00", "00:00", forward), "a day of 23 hours")
	require.Equal(t, "24 22:00 to 25 23:00", windows("00:00", "00:00", back), "and one of 25")
}

func TestTheNextChangeOfTheMinimum(t *testing.T) {
	t.Parallel()
	b := setup(t)
	event := provision.Schedule{Zone: "UTC", StartOn: "2027-06-01", StartAt: "10:00", EndOn: "2027-06-01",
		EndAt: "12:00", Min: 50}
	b.planned(evenings, provision.Schedule{Zone: "Europe/Berlin", Days: []int{5}, StartAt: "20:00", EndAt: "22:00",
		Min: 300}, event)
	b.Exec("UPDATE pools SET start_time = '1 minute'")
	next := func(at string) string {
		return one[string](b, `SELECT coalesce((SELECT servers || ' at ' || to_char(at AT TIME ZONE 'UTC', 'MM-DD HH24:MI') || coalesce(' ready at ' || to_char(ready_at AT TIME ZONE 'UTC', 'HH24:MI'), '') || ' by ' || cause
			FROM pool_next_min('eu', 'arena', 'v1', $1::text::timestamptz)), 'none')`, at)
	}
	const friday = " by fri-sun 18:00 to 23:30 Europe/Berlin"
	require.Equal(t, "200 at 11-27 16:56 ready at 17:00"+friday, next("2026-11-25 00:00Z"))
	require.Equal(t, "300 at 11-27 18:54 ready at 19:00 by fri 20:00 to 22:00 Europe/Berlin", next("2026-11-27 17:00Z"))
	require.Equal(t, "200 at 11-27 21:00"+friday, next("2026-11-27 20:00Z"), "it falls")
	require.Equal(t, "2 at 11-27 22:30 by min", next("2026-11-27 21:00Z"))
	b.planned(event)
	require.Equal(t, "50 at 06-01 09:59 ready at 10:00 by 2027-06-01 10:00 to 2027-06-01 12:00 UTC",
		next("2026-11-25 00:00Z"), "however far it is")
	require.Equal(t, "none", next("2027-06-01 12:00Z"))
	require.Equal(t, []string{"over"}, storetest.Values[string](b.DB,
		"SELECT 'over' FROM ops.pool_schedules WHERE state = 'ahead'"))
}

// fromNow returns a schedule of today that begins and ends at times from the database's now.
func (b *bundle) fromNow(starts, ends string, least int) provision.Schedule {
	b.t.Helper()
	at := func(offset, format string) string {
		return one[string](b, "SELECT to_char(date_trunc('minute', now() AT TIME ZONE 'UTC') + $1::text::interval, $2)",
			offset, format)
	}
	return provision.Schedule{Zone: "UTC", StartOn: at(starts, "YYYY-MM-DD"), StartAt: at(starts, "HH24:MI"),
		EndOn: at(ends, "YYYY-MM-DD"), EndAt: at(ends, "HH24:MI"), Min: least}
}

func TestServersAreStartedAheadOfASchedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := euPool("v1", "duel")
	p.Max, p.MaxStarting, p.Schedule = 20, 5, []provision.Schedule{b.fromNow("30 minutes", "2 hours", 10)}
	b.declare([]provision.AppVersion{arenaVersion("v1")}, p)
	b.Exec("UPDATE pools SET start_time = '10 minutes'")
	require.Zero(t, b.scale().StartedServers, "two rounds of ten minutes begin in ten")
	b.Exec("UPDATE pools SET start_time = '20 minutes'")
	require.Equal(t, 5, b.scale().StartedServers, "five at a time")
	require.Contains(t, b.plan().Text, "limited to 10 by min 10 ("+p.Schedule[0].Title()+
		") and max 20: start 5 of 10 that are missing")
	b.join()
	require.Equal(t, 5, b.scale().StartedServers)
	b.join()
	require.Equal(t, provision.Scaled{PlannedPools: 1}, b.scale())
	// They were ready at once. That the next start may be later is no reason to end them.
	require.Equal(t, "starting", one[string](b, "SELECT state FROM ops.pool_schedules"))
	require.Equal(t, "10 10", one[string](b, "SELECT min_now || ' ' || ready FROM ops.pools"))

	p.Schedule = []provision.Schedule{b.fromNow("-2 hours", "-1 hour", 10)}
	b.declare(nil, p)
	require.Equal(t, "over", one[string](b, "SELECT state FROM ops.pool_schedules"))
	b.surplusSettles()
	require.Equal(t, 10, b.scale().EndedServers, "nobody needs them")
}

// Pins servers that are started as late as a fast start allows, although most take longer; and one minimum that moves
// while its servers start.
func TestTheTimeOfAStartIsMeasured(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	measured := func() string { return one[string](b, "SELECT coalesce(start_time::text, 'not') FROM pools") }
	b.scale()
	require.Equal(t, "not", measured())
	b.ready(10)
	b.Exec("UPDATE deployments SET created_at = ready_at - (SELECT count(*) FROM deployments o WHERE o.id <= deployments.id) * interval '1 minute'")
	b.scale()
	require.Equal(t, "00:09:00", measured(), "nine of ten were faster, or as fast")
	b.Exec("UPDATE deployments SET created_at = ready_at - interval '1 second'")
	b.Exec("UPDATE pools SET min_servers = 11, max_servers = 11")
	b.scale()
	require.Equal(t, "00:09:00", measured(), "one starts")
	b.Exec("DELETE FROM deployments WHERE phase <> 'ready'")
	b.Exec("UPDATE pools SET min_servers = 0")
	b.scale()
	require.Equal(t, "00:00:01", measured())
	b.Exec("DELETE FROM deployments")
	b.scale()
	require.Equal(t, "00:00:01", measured(), "without servers the last measure counts")
}

func TestDeclaredSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := euPool("v1", "duel")
	p.Zone, p.Forecast = "Europe/Berlin", true
	p.Schedule = []provision.Schedule{{Days: []int{1, 3}, StartAt: "18:00", EndAt: "02:00", Min: 5},
		{Zone: "UTC", StartOn: "2026-12-24", StartAt: "18:00", EndOn: "2026-12-25", EndAt: "02:00", Min: 7}}
	b.declare([]provision.AppVersion{arenaVersion("v1"), arenaVersion("v2")}, p)
	require.Equal(t, "unchanged", b.declare(nil, p).PoolChanges[0].Change)
	stored, err := b.Pools(t.Context(), "eu")
	require.NoError(t, err)
	p.Schedule[0].Zone = "Europe/Berlin"
	require.Equal(t, p.Schedule, stored[0].Schedule)
	require.Equal(t, "mon,wed 18:00 to 02:00 Europe/Berlin",
		one[string](b, "SELECT schedule FROM ops.pool_schedules WHERE entry = 0"))

	four := 4
	edit := provision.PoolEdit{Region: "eu", App: "arena", Version: "v1"}
	scaled, err := b.ScalePool(t.Context(), edit, provision.PoolScale{Max: &four})
	require.NoError(t, err, "an operator may always have fewer servers")
	require.Equal(t, p.Schedule, scaled.Schedule)
	b.Exec("UPDATE pools SET start_time = '7 minutes'")
	b.Exec("INSERT INTO pool_hours VALUES ('eu', 'arena', 'v1', '2026-11-20 18:00Z', 3)")
	done, err := b.RollPool(t.Context(), edit, "v2")
	require.NoError(t, err)
	require.Equal(t, p.Schedule, done.NewPool.Schedule)
	require.Equal(t, "2 v2 1 7", one[string](b, `SELECT (SELECT count(*) FROM pool_schedules WHERE version = 'v2') || ' ' || p.version || ' ' ||
		(SELECT count(*) FROM pool_hours h WHERE h.version = p.version) || ' ' || extract(minute FROM p.start_time) FROM pools p WHERE p.version = 'v2' AND forecast AND zone = 'Europe/Berlin'`))

	p.Version, p.Schedule = "v2", nil
	require.Equal(t, []string{"max", "schedule"}, b.declare(nil, p).PoolChanges[0].ChangedFields)
	p.Schedule = []provision.Schedule{{Zone: "Europe/Berln", Days: []int{1}, StartAt: "18:00", EndAt: "02:00", Min: 5}}
	e := b.refused(fault.Invalid, nil, p)
	require.Equal(t, []string{"pools[0].schedule[0].at", `"Europe/Berln" must be a time zone that Postgres knows, such as Europe/Berlin: did you mean "Europe/Berlin"?`}, []string{e.Field, e.Detail})
	p.Schedule, p.Zone = nil, "CEST"
	require.Equal(t, "pools[0].zone", b.refused(fault.Invalid, nil, p).Field, "an abbreviation has no summer")
}
