package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// needed notes how many servers players needed in an hour.
func (b *bundle) needed(hour string, used int) {
	b.t.Helper()
	b.Exec("INSERT INTO pool_hours (region, app, version, hour, used) VALUES ('eu', 'arena', '1', $1::text::timestamptz, $2)", hour, used)
}

// forecastOf returns the forecast of an hour.
func (b *bundle) forecastOf(hour string) string {
	b.t.Helper()
	return one[string](b, `SELECT weeks || ' weeks, ' || coalesce(low || ' to ' || high, '-') || ': ' || coalesce(expected || ', ' || servers, 'none')
		FROM pool_forecast('eu', 'arena', '1', $1::text::timestamptz, $1::text::timestamptz)`, hour)
}

func TestForecastsAreTheMedianOfFourWeeks(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.needed("2026-10-30 18:00Z", 90) // five weeks ago
	require.Equal(t, "0 weeks, -: none", b.forecastOf("2026-12-04 18:00Z"))
	b.needed("2026-11-06 18:00Z", 10)
	require.Equal(t, "1 weeks, 10 to 10: none", b.forecastOf("2026-12-04 18:00Z"), "one week is no forecast")
	b.needed("2026-11-13 18:00Z", 13)
	require.Equal(t, "2 weeks, 10 to 13: 12, 12", b.forecastOf("2026-12-04 18:00Z"))
	b.needed("2026-11-20 18:00Z", 50)
	b.needed("2026-11-27 18:00Z", 12)
	require.Equal(t, "4 weeks, 10 to 50: 13, 13", b.forecastOf("2026-12-04 18:00Z"),
		"an event three weeks ago does not count for much")
	b.Exec("UPDATE pools SET buffer = 2")
	require.Equal(t, "4 weeks, 10 to 50: 13, 15", b.forecastOf("2026-12-04 18:00Z"))
	b.Exec("UPDATE pools SET buffer = 50, buffer_percent = true")
	require.Equal(t, "4 weeks, 10 to 50: 13, 26", b.forecastOf("2026-12-04 18:00Z"))
	require.Equal(t, "0 weeks, -: none", b.forecastOf("2026-12-04 19:00Z"))
}

// Players come at seven in the evening of their clocks, whatever an hour of UTC that is.
func TestForecastsFollowTheClocks(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	for _, hour := range []string{"2026-10-09 17:00Z", "2026-10-16 17:00Z", "2026-10-23 17:00Z"} { // summer
		b.needed(hour, 10)
	}
	b.Exec("UPDATE pools SET zone = 'Europe/Berlin'")
	require.Equal(t, "3 weeks, 10 to 10: 10, 10", b.forecastOf("2026-10-30 18:00Z"))
	require.Equal(t, "0 weeks, -: none", b.forecastOf("2026-10-30 17:00Z"))
	b.Exec("UPDATE pools SET zone = 'UTC'")
	require.Equal(t, "3 weeks, 10 to 10: 10, 10", b.forecastOf("2026-10-30 17:00Z"))
}

func TestPlansNoteWhatPlayersNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("INSERT INTO pool_hours SELECT 'eu', 'arena', '1', date_trunc('hour', now(), 'UTC') - n * interval '1 day', 7 FROM generate_series(50, 60) n")
	b.scale()
	require.Equal(t, 0, one[int](b, "SELECT used FROM pool_hours WHERE hour > now() - interval '1 hour'"))
	require.Equal(t, 7, one[int](b, "SELECT count(*) FROM pool_hours WHERE hour < now() - interval '1 hour' AND hour > now() - interval '58 days'"))
	require.Zero(t, one[int](b, "SELECT count(*) FROM pool_hours WHERE hour < now() - interval '57 days 1 hour'"),
		"older ones are forgotten")
	for i := range 9 {
		_ = b.refusal(waits(request(string(rune('a'+i)), 8)))
	}
	b.scale()
	require.Equal(t, 2, one[int](b, "SELECT used FROM pool_hours WHERE hour > now() - interval '1 hour'"))
	b.Exec("DELETE FROM demand")
	b.scale()
	require.Equal(t, 2, one[int](b, "SELECT used FROM pool_hours WHERE hour > now() - interval '1 hour'"),
		"the highest counts")
}

// It is shown before it is trusted: only a pool that says so has more servers for it.
func TestForecastsRaiseTheMinimumOfPoolsThatTrustThem(t *testing.T) {
	t.Parallel()
	b := setup(t).withPool()
	b.Exec("UPDATE pools SET buffer = 1, max_servers = 9, start_time = '1 second'")
	b.Exec(`INSERT INTO pool_hours SELECT 'eu', 'arena', '1', h, 4 + CASE WHEN h >= date_trunc('hour', now(), 'UTC') - interval '7 days' THEN 2 ELSE 0 END
		FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '49 days', now() - interval '1 hour', '1 hour') h`)
	require.Equal(t, "4 5", one[string](b,
		"SELECT expected || ' ' || servers FROM ops.pool_forecast WHERE hour = date_trunc('hour', now(), 'UTC')"))
	require.Equal(t, 336, one[int](b, "SELECT count(*) FROM ops.pool_forecast"))
	require.Equal(t, "672 4.5 0.5 168 2",
		one[string](b, "SELECT concat_ws(' ', hours, mean_used, mean_error, short_hours, worst_short) FROM ops.pool_forecast_errors"))
	require.Equal(t, 1, b.scale().StartedServers, "the buffer alone")
	b.Exec("UPDATE pools SET forecast = true")
	require.Equal(t, 4, b.scale().StartedServers)
	require.Contains(t, b.plan().Text, "limited to 5 by min 5 (forecast)")
	require.Equal(t, "5 forecast", one[string](b, "SELECT min_now || ' ' || min_cause FROM ops.pools"))
	b.Exec("UPDATE pools SET max_servers = 3")
	require.Equal(t, "3 forecast", one[string](b, "SELECT min_now || ' ' || min_cause FROM ops.pools"))
}
