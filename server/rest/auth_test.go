package rest_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

func TestFleetToken(t *testing.T) {
	t.Parallel()
	const old, current = "old-secret-0123456", "new-secret-0123456"
	for name, tc := range map[string]struct {
		secrets []string
		open    bool
		sent    string
		want    int
	}{
		"first of two":                 {[]string{current, old}, false, current, 200},
		"second of two":                {[]string{current, old}, false, old, 200},
		"wrong":                        {[]string{current, old}, false, current + "x", 401},
		"prefix":                       {[]string{current}, false, current[:8], 401},
		"missing":                      {[]string{current}, false, "", 401},
		"missing, open does not help":  {[]string{current}, true, "", 401},
		"none, open":                   {nil, true, "", 200},
		"none, open, some sent":        {nil, true, "any", 200},
		"none, not open":               {nil, false, "any", 401},
		"empty secret matches nothing": {[]string{""}, false, "", 401},
	} {
		b := setup(t, rest.Options{}, rest.FleetTokens{SharedSecrets: tc.secrets, IsOpen: tc.open}.Handler())
		w := b.post(with(`"seats":1`), "X-Fleet-Token", tc.sent)
		require.Equal(t, tc.want, w.Code, name)
		if tc.want == 401 {
			require.Equal(t, "unauthorized", problem(t, w).Code)
			require.Equal(t, `FleetToken realm="director"`, w.Header().Get("WWW-Authenticate"))
		}
	}
}

// verifyTest accepts tokens of the form for-<sub>.
func verifyTest(_ context.Context, raw string) (string, error) {
	if sub, ok := strings.CutPrefix(raw, "for-"); ok {
		return sub, nil
	}
	return "", errors.New("\"exp\" not satisfied:\r\n\\x")
}

func TestBearer(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}, rest.RequireBearer(verifyTest, nil))
	for _, header := range []string{"Bearer for-alice", "bearer for-alice", "BEARER   for-alice "} {
		w := b.post(with(`"seats":1`), "Authorization", header)
		require.Equal(t, http.StatusOK, w.Code, header)
		require.Contains(t, w.Body.String(), `"caller":"alice"`)
	}
	for _, header := range []string{
		"", "Bearer", "Bearer ", "Basic for-alice", "for-alice", "Bearerfor-alice", "Bearer\tfor-alice",
	} {
		w := b.post(with(`"seats":1`), "Authorization", header)
		require.Equal(t, http.StatusUnauthorized, w.Code, header)
		require.Equal(t, `Bearer realm="director"`, w.Header().Get("WWW-Authenticate"),
			"no error without a token: RFC 6750 section 3.1")
		require.Equal(t, "unauthorized", problem(t, w).Code)
	}
}

// The text of a verifier's error must not add a header, or end the quotes of one.
func TestBearerQuotesTheReason(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}, rest.RequireBearer(verifyTest, nil))
	w := b.post(with(`"seats":1`), "Authorization", "Bearer expired")
	require.Equal(t, http.StatusUnauthorized, w.Code)
	require.Equal(t, `Bearer realm="director", error="invalid_token", error_description="'exp' not satisfied:  'x"`,
		w.Header().Get("WWW-Authenticate"))
	require.Equal(t, http.StatusUnauthorized, b.post("", "Authorization", "Bearer for-"+strings.Repeat("x", 9000)).Code)
}

// A signed sub is still text that a stranger chose: with a NUL in it, Postgres fails and the answer would be 500.
func TestBearerRefusesSubsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"", "a\x00b", "\xff", strings.Repeat("x", 256)} {
		b := setup(t, rest.Options{}, rest.RequireBearer(func(context.Context,
			string) (string, error) {
			return sub, nil
		}, nil))
		w := b.post(with(`"seats":1`), "Authorization", "Bearer x")
		require.Equal(t, http.StatusUnauthorized, w.Code, "%q", sub)
		require.Contains(t, w.Header().Get("WWW-Authenticate"), "invalid_token")
	}
}

// A token that could not be verified is answered 503: after 401, all players would sign in again at once.
func TestBearerWithoutKeysIsUnavailable(t *testing.T) {
	t.Parallel()
	failures := rest.NewLimiter(rest.Rate{PerSecond: 1, Burst: 1})
	for _, err := range []error{&fault.Error{Kind: fault.Unavailable, Detail: "No keys yet."},
		context.DeadlineExceeded} {
		b := setup(t, rest.Options{}, rest.RequireBearer(func(context.Context,
			string) (string, error) {
			return "", err
		}, failures))
		for range 3 {
			w := b.post(with(`"seats":1`), "Authorization", "Bearer x")
			require.Equal(t, http.StatusServiceUnavailable, w.Code)
			require.NotEmpty(t, w.Header().Get("Retry-After"))
		}
	}
}

// One attacker behind the address of a school or a carrier must not lock out the others there.
func TestValidCallerSharesAnAttackersAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failures := rest.NewLimiter(rest.Rate{PerSecond: 1, Burst: 5})
		play := setup(t, rest.Options{}, rest.RequireBearer(verifyTest, failures))
		fleet := setup(t, rest.Options{},
			rest.FleetTokens{SharedSecrets: []string{"secret"}, FailureLimiter: failures}.Handler())
		counts := map[int]int{}
		for range 100 {
			w := play.post(with(`"seats":1`), "Authorization", "Bearer guess")
			counts[w.Code]++
			if w.Code == http.StatusTooManyRequests {
				require.Equal(t, "rate_limited", problem(t, w).Code)
				require.Equal(t, "1", w.Header().Get("Retry-After"))
			}
			require.Equal(t, http.StatusOK, play.post(with(`"seats":1`), "Authorization", "Bearer for-alice").Code)
			require.Equal(t, http.StatusOK, fleet.post(with(`"seats":1`), "X-Fleet-Token", "secret").Code)
		}
		require.Equal(t, map[int]int{401: 5, 429: 95}, counts)
		require.Equal(t, http.StatusTooManyRequests, fleet.post("", "X-Fleet-Token", "guess").Code)

		<-time.After(time.Second) // synctest's clock: the test does not wait.
		require.Equal(t, http.StatusUnauthorized, play.post("", "Authorization", "Bearer guess").Code)
	})
}

// Failures count per IPv6 /64, whose addresses usually have one owner, and per IPv4 address.
func TestFailuresCountPerNetwork(t *testing.T) {
	t.Parallel()
	failures := rest.NewLimiter(rest.Rate{PerSecond: .001, Burst: 1})
	b := setup(t, rest.Options{}, rest.FleetTokens{SharedSecrets: []string{"secret"},
		FailureLimiter: failures}.Handler())
	from := func(address string) int {
		r := request(http.MethodPost, "/join", "")
		r.RemoteAddr = address
		return b.serve(r).Code
	}
	require.Equal(t, 401, from("[2001:db8:1:2::1]:999"))
	require.Equal(t, 429, from("[2001:db8:1:2:ffff::7]:1"))
	require.Equal(t, 401, from("[2001:db8:1:3::1]:999"))
	require.Equal(t, 401, from("192.0.2.7:1"))
	require.Equal(t, 429, from("[::ffff:192.0.2.7]:1"))
	require.Equal(t, 401, from("192.0.2.8:1"))
	require.Equal(t, 401, from("nonsense"))
}

func TestLimitCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := rest.LimitCaller(rest.NewLimiter(rest.Rate{PerSecond: 0.5, Burst: 3}))
		b := setup(t, rest.Options{}, rest.RequireBearer(verifyTest, nil), limit)
		post := func(sub string) (int, string) {
			w := b.post(with(`"seats":1`), "Authorization", "Bearer for-"+sub)
			return w.Code, w.Header().Get("Retry-After")
		}
		for range 3 {
			code, _ := post("alice")
			require.Equal(t, http.StatusOK, code)
		}
		code, wait := post("alice")
		require.Equal(t, http.StatusTooManyRequests, code)
		require.Equal(t, "2", wait)
		for i := range 50 {
			code, _ = post("bob" + strconv.Itoa(i))
			require.Equal(t, http.StatusOK, code)
		}
		<-time.After(2 * time.Second) // the time that Retry-After named, by synctest's clock
		code, _ = post("alice")
		require.Equal(t, http.StatusOK, code)
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	const old, current = "old-admin-key-012345", "new-admin-key-012345"
	b := setup(t, rest.Options{}, rest.RequireKey([]string{current, old}, "key", nil))
	for name, tc := range map[string]struct {
		header, query string
		want          int
	}{
		"first of two":                 {"Bearer " + current, "", 200},
		"second of two":                {"bEARER    " + old + " ", "", 200},
		"query":                        {"", current, 200},
		"wrong":                        {"Bearer " + current + "x", "", 401},
		"part":                         {"Bearer " + current[:8], "", 401},
		"other scheme":                 {"Basic " + current, "", 401},
		"the header counts":            {"Bearer wrong", current, 401},
		"no scheme":                    {current, "", 401},
		"no key":                       {"Bearer ", "", 401},
		"nothing":                      {"", "", 401},
		"wrong in the query":           {"", current + "x", 401},
		"the key of another parameter": {"", "&other=" + current, 401},
	} {
		r := request(http.MethodPost, "/join?key="+tc.query, with(`"seats":1`))
		if tc.header != "" {
			r.Header.Set("Authorization", tc.header)
		}
		require.Equal(t, tc.want, b.serve(r).Code, name)
	}
	require.NotContains(t, b.log.String(), current)
	require.Contains(t, b.log.String(), `"key":"`+rest.Fingerprint(current)+`"`)
	require.Regexp(t, `^key#[0-9a-f]{8}$`, rest.Fingerprint(current))

	b = setup(t, rest.Options{}, rest.RequireKey([]string{current}, "", nil))
	require.Equal(t, 401, b.serve(request(http.MethodPost, "/join?key="+current, with(`"seats":1`))).Code, "only where it is on")
	b = setup(t, rest.Options{}, rest.RequireKey(nil, "key", nil))
	require.Equal(t, 401, b.post(with(`"seats":1`), "Authorization", "Bearer "+current).Code)
}

func TestSecretInAHeader(t *testing.T) {
	t.Parallel()
	const old, current = "old-internal-012345", "new-internal-012345"
	b := setup(t, rest.Options{}, rest.RequireSecret("X-Internal", []string{current, old, ""}, nil))
	for sent, want := range map[string]int{current: 200, old: 200, current + "x": 401, current[:8]: 401, "": 401} {
		w := b.post(with(`"seats":1`), "X-Internal", sent)
		require.Equal(t, want, w.Code, sent)
		if want == 401 {
			require.Equal(t, `X-Internal realm="director"`, w.Header().Get("WWW-Authenticate"))
		}
	}
	require.NotContains(t, b.log.String(), current)
	require.Contains(t, b.log.String(), `"secret":"`+rest.Fingerprint(old)+`"`)
	b = setup(t, rest.Options{}, rest.RequireSecret("X-Internal", nil, nil))
	require.Equal(t, 401, b.post(with(`"seats":1`), "X-Internal", current).Code)
}
