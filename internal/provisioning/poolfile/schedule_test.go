package poolfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

const planned = `pools:
  - region: eu
    app: arena
    version: v1
    max: 300
    zone: Europe/Berlin
    forecast: true
    schedule:
      - {at: 18:00, until: 23:30, days: fri-sun, min: 200}
      - at: "22:00 America/New_York"
        until: "02:00"
        min: 50
      - {at: 2026-12-24 18:00 UTC, until: 2026-12-26 02:00, min: 250}
      - {at: 2026-12-31 20:00, until: 04:00, min: 300}
`

func TestSchedulesAreRead(t *testing.T) {
	t.Parallel()
	f, err := poolfile.Parse([]byte(planned))
	require.NoError(t, err)
	p := f.Pools[0]
	require.Equal(t, "Europe/Berlin", p.Zone)
	require.True(t, p.Forecast)
	require.Equal(t, []provision.Schedule{
		{Days: []int{5, 6, 7}, StartAt: "18:00", EndAt: "23:30", Min: 200},
		{Zone: "America/New_York", Days: []int{1, 2, 3, 4, 5, 6, 7}, StartAt: "22:00", EndAt: "02:00", Min: 50},
		{Zone: "UTC", StartOn: "2026-12-24", StartAt: "18:00", EndOn: "2026-12-26", EndAt: "02:00", Min: 250},
		{StartOn: "2026-12-31", StartAt: "20:00", EndOn: "2027-01-01", EndAt: "04:00", Min: 300},
	}, p.Schedule)
}

// Each document is the one above with one change.
func TestSchedulesThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string][2]string{
		`line 9, column 14: pools[0].schedule[0].at: "6 pm" must be a time such as 18:00`:                        {"at: 18:00,", "at: 6 pm,"},
		`line 9, column 14: pools[0].schedule[0].at: "24:00" must be a time such as 18:00`:                       {"at: 18:00,", "at: 24:00,"},
		`line 9, column 14: pools[0].schedule[0].at: "18:00 Europe/ Berlin" must be`:                             {"at: 18:00,", "at: 18:00 Europe/ Berlin,"},
		`line 9, column 14: pools[0].schedule[0].at: "Berl!n" must be an IANA time zone`:                         {"at: 18:00,", "at: 18:00 Berl!n,"},
		`line 9, column 28: pools[0].schedule[0].until: "23:30 UTC" must be a time such as 23:30`:                {"until: 23:30", "until: 23:30 UTC"},
		`line 9, column 28: pools[0].schedule[0].until: "2026-01-01 23:30" has a date, and at has none`:          {"until: 23:30", "until: 2026-01-01 23:30"},
		`line 9, column 41: pools[0].schedule[0].days: "fri-som" must be weekdays such as fri-sun`:               {"fri-sun", "fri-som"},
		`line 9, column 55: pools[0].schedule[0].min: must be 1 to 300, not 301`:                                 {"min: 200", "min: 301"},
		`line 9, column 55: pools[0].schedule[0].min: must be 1 to 300, not 0`:                                   {"min: 200", "min: 0"},
		`line 10, column 9: pools[0].schedule[1].until: "" must be a time such as 23:30`:                         {`        until: "02:00"` + "\n", ""},
		`line 13, column 43: pools[0].schedule[2].until: must be after the start, and at most 31 days after it`:  {"2026-12-26 02:00", "2026-12-24 18:00"},
		`line 13, column 43: pools[0].schedule[2].until: must be after the start, and at most 31 days after it `: {"2026-12-26 02:00", "2027-01-26 02:00"},
		`line 14, column 52: pools[0].schedule[3].days: an event has a date, and no weekdays`:                    {"until: 04:00", "until: 04:00, days: mon"},
		`line 6, column 11: pools[0].zone: "Middle Europe" must be an IANA time zone such as Europe/Berlin`:      {"zone: Europe/Berlin", "zone: Middle Europe"},
		`line 7, column 15: pools[0].forecast: this must be true or false`:                                       {"forecast: true", "forecast: soon"},
		`line 9, column 21: unknown field "til"`:                                                                 {"until: 23:30", "til: 23:30"},
		`line 8, column 15: pools[0].schedule: this must be a list, as [a, b]`:                                   {"schedule:\n", "schedule: {at: 18:00}\n    x:\n"},
	} {
		document := strings.Replace(planned, change[0], change[1], 1)
		require.NotEqual(t, planned, document)
		_, err := poolfile.Parse([]byte(document))
		var refused *poolfile.Error
		require.ErrorAs(t, err, &refused, change[1])
		if !strings.HasPrefix(refused.Problems[0].String(), strings.TrimSpace(want)) {
			t.Errorf("%s:\nwant %s\ngot  %s", change[1], want, refused)
		}
	}
	_, err := poolfile.Parse([]byte("pools: [{region: eu, app: a, version: b, max: 1, schedule: [" + strings.Repeat("{at: 18:00, until: 19:00, min: 1},", 33) + "]}]"))
	require.ErrorContains(t, err, "pools[0].schedule: has 33 entries, at most 32 are allowed")
}

func TestDaysAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"fri-sun": "fri-sun", "mon,wed": "mon,wed", "Sat - Mon": "mon,sat-sun", "daily": "daily", "mon-sun": "daily", "sun, mon,tue": "mon-tue,sun",
		"mon": "mon", "thu-wed": "daily", "mon,mon": "mon"} {
		days, err := provision.ParseDays(text)
		require.NoError(t, err, text)
		require.Equal(t, want, provision.DaysText(days), text)
		again, err := provision.ParseDays(want)
		require.NoError(t, err)
		require.Equal(t, days, again)
	}
	for _, text := range []string{"", "freitag", "mon-", "-mon", "mon-tue-wed", "1-5", "daily-sun", ","} {
		_, err := provision.ParseDays(text)
		require.Error(t, err, text)
	}
}
