package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/server/play"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/configuration.md")

const everybody = ^commandSet(0)

func loadWith(t *testing.T, args []string, environ ...string) (*loaded, error) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(flags, everybody)
	require.NoError(t, flags.Parse(args))
	return loadSettings(flags, newEnvironment(environ), everybody)
}

// Pins a setting that one of its names does not set, or that has the wrong precedence.
func TestEverySettingByEveryName(t *testing.T) {
	t.Parallel()
	for i, s := range allSettings() {
		if s.value.kindName == "secret" {
			continue // TestSecretSettings
		}
		t.Run(s.flag, func(t *testing.T) {
			t.Parallel()
			with := samples[s.flag]
			require.NotEmpty(t, with.one, "a setting without a sample")
			shows := func(want string, from source, args []string, environ ...string) {
				t.Helper()
				l, err := loadWith(t, args, environ...)
				require.NoError(t, err)
				require.Equal(t, want, l.settings[i].value.showText())
				require.Equal(t, from, l.sources[i])
				require.Equal(t, from, l.sourceOf(s.flag))
			}
			if s.flag == "mode" {
				return // TestModes
			}
			initial := s.value.showText()
			shows(initial, fromDefault, nil)
			if initial != "" {
				require.NoError(t, s.value.setText(initial), "a default that the setting does not allow")
				require.Equal(t, initial, s.value.showText())
			}
			byFlag := []string{"--" + s.flag + "=" + with.one}
			for _, name := range append([]string{s.variableName()}, s.aliases...) {
				shows(with.one, fromEnv(name), nil, name+"="+with.one)
				shows(with.one, fromFlag(s.flag), byFlag, name+"="+with.other)
			}
			shows(with.one, fromFlag(s.flag), byFlag)
			if len(s.aliases) > 0 {
				shows(with.one, fromEnv(s.variableName()), nil, s.variableName()+"="+with.one,
					s.aliases[0]+"="+with.other)
			}
			l, err := loadWith(t, nil, s.variableName()+"=")
			require.NoError(t, err)
			require.Equal(t, fromDefault, l.sources[i], "an empty variable is not set")
		})
	}
}

// Pins a wrong value that is accepted, or an error that does not name the allowed values.
func TestValuesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, s := range allSettings() {
		for _, bad := range samples[s.flag].bad {
			_, err := loadWith(t, []string{"--" + s.flag + "=" + bad})
			require.ErrorContains(t, err, "--"+s.flag+" / "+s.variableName()+": ", "%s=%q", s.flag, bad)
			require.ErrorContains(t, err, "(from the flag --"+s.flag+") is not allowed: ")
			require.ErrorContains(t, err, s.value.allowedText)
			require.Equal(t, 2, cli.ExitCode(err))
			if s.flag == "mode" {
				continue
			}
			_, err = loadWith(t, nil, s.variableName()+"="+bad)
			require.ErrorContains(t, err, "(from the environment "+s.variableName()+")", "%s=%q", s.flag, bad)
			if !s.secret {
				require.ErrorContains(t, err, `"`+bad+`"`)
			}
		}
	}
	_, err := loadWith(t, []string{"--lease-ttl=1"}, "DIRECTOR_SEAT_TTL=1")
	require.ErrorContains(t, err, "--lease-ttl")
	require.ErrorContains(t, err, "--seat-ttl", "one error names all settings that are wrong")
}

// secretSamples are secrets that a setting of this kind allows, where it does not allow any.
var secretSamples = map[string]string{
	"database-url": "postgres://a@h/d", "database-url-direct": "postgres://a@h/d", "key-encryption-key": testKEK, "realtime-project-secrets": `{"p1":"0123456789abcdef"}`,
	"om-tokens": "frontend=0123456789abcdef",
}

// Pins a secret, an issuer or a URL with the line break of its file: the replica starts, is ready, and refuses
// everybody.
func TestLineBreaksOfFiles(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef-0123"
	for _, s := range allSettings() {
		text := cmp.Or(samples[s.flag].one, secretSamples[s.flag], secret)
		if s.flag == "mode" {
			continue // TestModes
		}
		plain, err := loadWith(t, nil, s.variableName()+"="+text)
		require.NoError(t, err, s.flag)
		for _, around := range []string{text + "\n", text + "\r\n", " " + text, "\n" + text + " \t"} {
			for _, by := range [][]string{{"--" + s.flag + "=" + around}, nil} {
				var environ []string
				if by == nil {
					environ = []string{s.variableName() + "=" + around}
				}
				l, err := loadWith(t, by, environ...)
				if s.value.keepsSpace {
					require.ErrorContains(t, err, "begins or ends with white space", s.flag)
					continue
				}
				require.NoError(t, err, s.flag)
				require.Equal(t, plain.config, l.config, s.flag)
			}
		}
		if s.value.kindName == "secret" && s.flag != "realtime-project-secrets" || s.flag == "auth-issuer" ||
			s.flag == "auth-audience" {
			_, err := loadWith(t, nil, s.variableName()+"="+text+"\n"+text)
			require.ErrorContains(t, err, s.variableName(), "a line break within")
			require.NotContains(t, err.Error(), secret)
		}
	}
	_, err := loadWith(t, nil, `DIRECTOR_REALTIME_PROJECT_SECRETS={"p1":"0123456789abcdef\n"}`)
	require.ErrorContains(t, err, "begins or ends with white space")
}

// Pins a secret in an error, in --print-config or in the log.
func TestSecretSettings(t *testing.T) {
	t.Parallel()
	const fleet, second, lobby, password = "first-secret-0123456789", "second-secret-0123456789", "lobby-secret-0123456789", "geheim"
	secretEnv := env("DIRECTOR_FLEET_TOKEN="+fleet+","+second, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK,
		"DATABASE_URL=postgres://user:"+password+"@h/d", "DATABASE_URL_DIRECT=host=h password='"+password+"'",
		"DIRECTOR_AUTH_JWKS=https://user:"+password+"@login.example/jwks", "DIRECTOR_OM_TOKENS=frontend="+lobby,
		"NEXIS_MASTER_SECRET="+lobbyMaster, "NEXIS_INTERNAL_TOKEN="+lobbyToken, `NEXIS_PROJECT_SECRETS={"p1":"`+fleet+`"}`,
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://user:"+password+"@otel.example")
	for _, format := range []string{"table", "json"} {
		r := director.Run(t, secretEnv, "", "serve", "--print-config", "--output", format)
		require.NoError(t, r.Err)
		for _, secret := range []string{fleet, second, lobby, testKEK, password, lobbyMaster, lobbyToken} {
			require.NotContains(t, r.Stdout+r.Stderr, secret)
		}
		require.Contains(t, r.Stdout, "******** (2 of them)")
		require.Contains(t, r.Stdout, "postgres://user:xxxxx@h/d")
	}
	for _, c := range []struct{ variable, secret string }{
		{"DIRECTOR_FLEET_TOKEN", "too-short"},
		{"DIRECTOR_FLEET_TOKEN", fleet + ",too-short"},
		{"Fleet__Token", "too-short"},
		{"Fleet:Token", "too-short"},
		{"DIRECTOR_FLEET_TOKENS", "too-short"},
		{"DIRECTOR_OM_TOKENS", "too-short"},
		{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS", "base64+needs/the=slash"},
		{"FLEET_AGENT_KEY", "too-short"},
		{"FLEET_ADMIN_KEY", "too-short"},
		{"DIRECTOR_KEY_ENCRYPTION_KEY", "c2hvcnQ="},
		{"DIRECTOR_KEY_ENCRYPTION_KEY", testKEK + ",%%%"},
		{"DATABASE_URL", "postgres://user:geheim@h:x/d"},
		{"DATABASE_URL", "password=geheim =x"},
	} {
		_, err := loadWith(t, nil, c.variable+"="+c.secret)
		require.ErrorContains(t, err, "the secret (from the environment "+c.variable+") is not allowed")
		for part := range strings.SplitSeq(c.secret, ",") {
			require.NotContains(t, err.Error(), part)
		}
		require.NotContains(t, err.Error(), "geheim")
	}
	l, err := loadWith(t, []string{"--fleet-token", fleet}, "Fleet__Token="+second)
	require.NoError(t, err)
	require.Equal(t, []string{fleet}, l.config.Server.FleetTokens)
	l, err = loadWith(t, nil, "Fleet:Token="+fleet+" , "+second, "DIRECTOR_KEY_ENCRYPTION_KEY="+testKEK+","+testKEK)
	require.NoError(t, err)
	require.Equal(t, []string{fleet, second}, l.config.Server.FleetTokens)
	require.Len(t, l.config.KEKs, 2)
}

// Pins the output of --print-config, which scripts read.
func TestPrintConfig(t *testing.T) {
	t.Parallel()
	var lines []configLine
	text := director.OK(t, env("DIRECTOR_SEAT_TTL=30s"), "serve", "--print-config", "--lease-ttl", "20s", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(text), &lines))
	got := map[string]configLine{}
	for _, l := range lines {
		got[l.Setting] = l
	}
	require.Equal(t, configLine{"DIRECTOR_LEASE_TTL", "--lease-ttl", "20s", "flag --lease-ttl", false},
		got["DIRECTOR_LEASE_TTL"])
	require.Equal(t, configLine{"DIRECTOR_SEAT_TTL", "--seat-ttl", "30s", "environment DIRECTOR_SEAT_TTL", false},
		got["DIRECTOR_SEAT_TTL"])
	require.Equal(t, configLine{"DIRECTOR_TOKEN_ALG", "--token-alg", "EdDSA", "default", false},
		got["DIRECTOR_TOKEN_ALG"])
	for _, s := range allSettings() {
		_, printed := got[s.variableName()]
		require.Equal(t, s.commands&byServe != 0 && s.isListed(), printed, s.flag)
	}
}

// Pins a mode whose name cannot be an environment variable, and a guessed spelling that overrides an exact one.
func TestModes(t *testing.T) {
	t.Parallel()
	l, err := loadWith(t, nil, "DIRECTOR_MODE_DUEL=2", "DIRECTOR_MODE_FREE_FOR_ALL=16", "DIRECTOR_MODE_free-for-all=12",
		"DIRECTOR_MODE_Ranked.2v2=4")
	require.NoError(t, err)
	for mode, n := range map[string]int{"duel": 2, "DUEL": 2, "free_for_all": 16, "free-for-all": 12,
		"FREE_FOR_ALL": 16, "Ranked.2v2": 4} {
		require.Equal(t, n, l.config.Server.Modes[mode], mode)
	}
	l, err = loadWith(t, []string{"--mode", "duel=4, ffa=8"}, "DIRECTOR_MODE_DUEL=2", "DIRECTOR_MODE_X=3")
	require.NoError(t, err)
	require.Equal(t, play.Modes{"duel": 4, "ffa": 8}, l.config.Server.Modes, "the flag replaces all variables")
	require.Equal(t, "duel=4,ffa=8", modesText(l.config.Server.Modes))
	_, err = loadWith(t, nil, "DIRECTOR_MODE_DUEL=lots")
	require.ErrorContains(t, err, "DIRECTOR_MODE_DUEL=lots")
}

// Pins a misspelt variable that is ignored without a warning.
func TestVariablesThatNobodyReads(t *testing.T) {
	t.Parallel()
	got := newEnvironment([]string{
		"DIRECTOR_LEASE_TLL=15s", "DIRECTOR_JWKS={}", "DIRECTOR_WEBSOCKETS=1", "DIRECTOR_NOTHING_LIKE_IT_AT_ALL=1",
		"DIRECTOR_MODE_=3", "DIRECTOR_MAX_CONN=3",
		// No warning for these: settings, and variables that Kubernetes sets.
		"DIRECTOR_LEASE_TTL=15s", "DIRECTOR_MODE_DUEL=2", "DIRECTOR_FLEET_TOKENS=x", "DIRECTOR_PG_BINDIR=/x",
		"DIRECTOR_EMPTY=",
		"DIRECTOR_SERVICE_HOST=10.0.0.1", "DIRECTOR_PORT_8080_TCP=tcp://10.0.0.1:8080", "OTHER=1",
	}).unknownVariables()
	require.Equal(t, []unknownVariable{
		{"DIRECTOR_JWKS", "DIRECTOR_AUTH_JWKS"},
		{"DIRECTOR_LEASE_TLL", "DIRECTOR_LEASE_TTL"},
		{"DIRECTOR_MAX_CONN", "DIRECTOR_MAX_CONNS"},
		{"DIRECTOR_MODE_", "DIRECTOR_MODE_<MODE>"},
		{"DIRECTOR_NOTHING_LIKE_IT_AT_ALL", ""},
		{"DIRECTOR_WEBSOCKETS", ""},
	}, got)
	warned := director.Run(t, env("DIRECTOR_LEASE_TLL=15s"), "", "serve", "--print-config").Stderr
	require.Contains(t, warned, `"variable":"DIRECTOR_LEASE_TLL","did_you_mean":"DIRECTOR_LEASE_TTL"`)
}

// Pins a schedule of keys that the constraints of the database would refuse.
func TestSchedule(t *testing.T) {
	t.Parallel()
	l, err := loadWith(t, nil)
	require.NoError(t, err)
	policy := l.config.keySchedule().Policy()
	require.Equal(t, 24*time.Hour, policy.Period)
	require.GreaterOrEqual(t, policy.Lead, 5*time.Minute+30*time.Second, "caches and clocks")
	require.GreaterOrEqual(t, policy.Overlap, l.config.Database.Timing.TokenTTL+30*time.Second)
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"24h": day, "2m": 2 * time.Minute, "1m30s": 90 * time.Second, "0s": 0,
		"900ms": 900 * time.Millisecond, "1h0m1s": time.Hour + time.Second, "10m": 10 * time.Minute,
		"1h30m": 90 * time.Minute} {
		require.Equal(t, want, briefDuration(d))
	}
}

// Pins a page with settings that do not exist, or without some that do.
func TestConfigurationPage(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../../docs/configuration.md", "<!-- settings -->\n", "<!-- end -->"
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	var want strings.Builder
	told := map[string]bool{}
	for part := range strings.SplitSeq(string(page), "\n## ") {
		title, _, _ := strings.Cut(part, "\n")
		if before, rest, found := strings.Cut(part, begin); found {
			_, after, closed := strings.Cut(rest, end)
			require.True(t, closed, title)
			part = before + begin + sectionTable(title) + end + after
			told[title] = true
		}
		if want.Len() > 0 {
			want.WriteString("\n## ")
		}
		want.WriteString(part)
	}
	for _, s := range allSettings() {
		require.True(t, told[s.section], "no table for section %q", s.section)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want.String()), 0o644))
		return
	}
	require.Equal(t, want.String(), string(page),
		"the tables are out of date: go test ./cmd/director -run TestConfigurationPage -update")
}
