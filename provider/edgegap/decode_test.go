package edgegap

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 4, 22, 12, 0, 46, 444265000, time.UTC)
	got, err := parseTime("2026-04-22 12:00:46.444265")
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = parseTime("2026-04-22 12:00:46")
	require.NoError(t, err)
	require.Equal(t, want.Truncate(time.Second), got)
	for _, bad := range []string{
		"", "2026-04-22T12:00:46Z", "2026-04-22 12:00:46Z", "2026-04-22 12:00:46+02:00", "2026-04-22 12:00:46,5",
		"2026-02-30 12:00:00",
		" 2026-04-22 12:00:46", "2026-04-22", "1776859246",
	} {
		_, err := parseTime(bad)
		require.Error(t, err, bad)
	}
}

const full = `{"request_id":"abc123","fqdn":"abc123.example","public_ip":"192.0.2.7","current_status":"Status.READY","running":true,
	"start_time":"2026-04-22 12:00:46.444265","removal_time":null,"error":false,"ports":{"game":{"name":"game","internal":5000,"external":31504,
	"protocol":"UDP"}},"location":{"city":"Paris","country":"France","extra":[]},"tags":["ld-test","abcdefghij0123456789"],"unknown":{}}`

func TestDecodeStatus(t *testing.T) {
	t.Parallel()
	want := provider.Observation{
		Ref: "abc123", Tag: "abcdefghij0123456789", Phase: provider.PhaseReady, IP: netip.MustParseAddr("192.0.2.7"),
		FQDN: "abc123.example",
		Ports: map[string]provider.Port{"game": {Name: "game", Internal: 5000, External: 31504,
			Protocol: provider.UDP}},
		Location: "Paris, France", Started: time.Date(2026, 4, 22, 12, 0, 46, 444265000, time.UTC), Raw: "READY",
	}
	got, err := decodeStatus([]byte(full))
	require.NoError(t, err)
	require.Equal(t, want, got)
	asList := strings.Replace(strings.Replace(full, `{"game":{`, `[{`, 1), `"UDP"}}`, `"UDP"}]`, 1)
	got, err = decodeStatus([]byte(asList))
	require.NoError(t, err)
	require.Equal(t, want, got)

	for status, phase := range map[string]provider.Phase{
		"Status.SEEKING": provider.PhasePending, "deploying": provider.PhaseStarting,
		"Status.ERROR":       provider.PhaseFailed,
		"Status.TERMINATING": provider.PhaseStopping, "TERMINATED": provider.PhaseGone,
		"Status.NEW_ONE": provider.PhaseUnknown,
	} {
		got, err := decodeStatus([]byte(strings.Replace(full, "Status.READY", status, 1)))
		require.NoError(t, err)
		require.Equal(t, phase, got.Phase, status)
	}
	got, err = decodeStatus([]byte(strings.Replace(full, `"running":true`, `"running":false`, 1)))
	require.NoError(t, err)
	require.Equal(t, provider.PhaseStarting, got.Phase, "ready, and not running")
	got, err = decodeStatus([]byte(strings.Replace(full, `"error":false`, `"error":true`, 1)))
	require.NoError(t, err)
	require.Equal(t, provider.PhaseFailed, got.Phase)
}

// Pins half an observation of nonsense.
func TestDecodeStatusRefuses(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]string{
		{`"abc123","fqdn"`, `"../../x","fqdn"`}, {`"request_id":"abc123",`, ``}, {`31504`, `70000`}, {`31504`, `0`}, {`31504`, `-1`}, {`31504`, `1.5`},
		{`5000`, `65536`}, {`"Status.READY"`, `7`}, {`"Status.READY"`, `""`}, {full, `[]`}, {full, `null`}, {full, `<html>`}, {`"game":{`, `"":{`},
	} {
		require.Contains(t, full, change[0])
		_, err := decodeStatus([]byte(strings.Replace(full, change[0], change[1], 1)))
		require.Error(t, err, change)
	}
	_, err := decodeStatus([]byte(strings.Replace(full, `{"game":{`, `[{"name":"game","internal":1,"external":1},{`, 1)))
	require.Error(t, err)
}

func TestDecodePage(t *testing.T) {
	t.Parallel()
	const one = `{"request_id":"a","ready":true,"tags":["ld-test"]}`
	page, err := decodePage([]byte(`{"total_count":3,"data":[`+one+`,{"request_id":"b","tags":null}],"pagination":{"has_next":true,"next_page_number":2}}`), 1, []string{"ld-test"})
	require.NoError(t, err)
	require.Equal(t, provider.Page{
		Deployments: []provider.Observation{{Ref: "a", Phase: provider.PhaseReady}}, Skipped: 1, Next: "2", Total: 3,
	}, page)
	for _, bad := range []string{
		``, `[]`, `{}`, `{"total_count":1}`, `{"data":[]}`, `{"total_count":1,"data":[{"tags":[]}]}`,
		`{"total_count":3,"data":[],"pagination":{"has_next":true,"next_page_number":1}}`, // a loop
		`{"total_count":3,"data":[],"pagination":{"has_next":true}}`,
	} {
		_, err := decodePage([]byte(bad), 1, nil)
		require.Error(t, err, bad)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "0": 0, "x": 0, "99999999": time.Hour, "99999999999999999999999": 0,
		"Wed, 22 Apr 2026 12:00:30 GMT": 30 * time.Second, "Wed, 22 Apr 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, parseRetryAfter(value, now), value)
	}
	c := newClass(10)
	require.Equal(t, maxPause, c.beginPause(time.Hour))
	require.Equal(t, defaultPause, newClass(10).beginPause(0))
}

// Pins an answer of a proxy, or of another version of the API, that is stored as it is.
func FuzzDecodeStatus(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(`{"request_id":"a","current_status":"X","ports":[{"name":"a","internal":1,"external":2}],"start_time":5}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := decodeStatus(body)
		if err != nil {
			return
		}
		require.True(t, validRef(string(o.Ref)))
		require.NotEmpty(t, o.Phase)
		require.LessOrEqual(t, len(o.Ports), provider.MaxPorts)
		require.LessOrEqual(t, len(o.Error), provider.MaxErrorBytes)
		for name, p := range o.Ports {
			require.NotZero(t, p.External, name)
		}
	})
}

// Whatever a list says, it leads to the next page, so that reading it ends.
func FuzzDecodePage(f *testing.F) {
	f.Add([]byte(`{"total_count":3,"data":[`+full+`],"pagination":{"has_next":true,"next_page_number":2}}`), 1)
	f.Fuzz(func(t *testing.T, body []byte, number int) {
		page, err := decodePage(body, number, []string{"ld-test"})
		if err != nil || page.Next == "" {
			return
		}
		require.Equal(t, strconv.Itoa(number+1), page.Next)
	})
}
