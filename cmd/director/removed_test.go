package main

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Pins an upgrade after which a start fails, or silently does something else, because of a setting that the last
// release had.
func TestRemovedSettingsAreIgnoredWithAWarning(t *testing.T) {
	t.Parallel()
	current := map[string]bool{}
	for _, s := range allSettings() {
		current[s.flag], current[s.variableName()] = true, true
	}
	for _, s := range removedSettings() {
		require.False(t, current[s.former.flag] || current[s.former.variableName()], s.former.flag)
		given := map[string]func() (*loaded, error){
			"flag --" + s.former.flag: func() (*loaded, error) {
				return loadWith(t,
					[]string{"--" + s.former.flag + "=7"})
			},
		}
		for _, name := range append([]string{s.former.variableName()}, s.former.aliases...) {
			given["environment "+name] = func() (*loaded, error) { return loadWith(t, nil, name+"=7") }
		}
		for by, load := range given {
			l, err := load()
			require.NoError(t, err, by)
			require.Equal(t, defaultConfig(), l.config, by)
			var log bytes.Buffer
			l.warnIgnored(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
			if by == "environment GOGC" {
				require.Empty(t, log.String(), "Go itself reads it")
				continue
			}
			require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
			require.Contains(t, log.String(), "this setting was removed and has no effect")
			require.Contains(t, log.String(), by)
			require.Contains(t, log.String(), s.whatHolds)
		}
	}
}

// Pins an upgrade after which players reach no game server, since the address has another name, or one by which the
// ports of containers are suddenly published to all.
func TestReplacedSettingsAreReadWithAWarning(t *testing.T) {
	t.Parallel()
	const public = "203.0.113.10"
	l, err := loadWith(t, nil, "DIRECTOR_ADVERTISE="+public)
	require.NoError(t, err)
	require.Empty(t, l.formerSettings)
	require.Equal(t, []string{public, public},
		[]string{l.config.Docker.Advertise.String(), l.config.Processes.Advertise.String()})
	for _, given := range []func() (*loaded, error){
		func() (*loaded, error) { return loadWith(t, nil, "DIRECTOR_PROCESS_ADVERTISE="+public) },
		func() (*loaded, error) { return loadWith(t, []string{"--process-advertise", public}) },
	} {
		l, err = given()
		require.NoError(t, err)
		require.Equal(t, []string{"127.0.0.1", public},
			[]string{l.config.Docker.Advertise.String(), l.config.Processes.Advertise.String()})
		var log bytes.Buffer
		l.warnIgnored(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")), log.String())
		require.Contains(t, log.String(), "this setting was replaced, and the next release will not read it")
		require.Contains(t, log.String(), "instead=DIRECTOR_ADVERTISE")
	}
	require.Contains(t, director.Run(t, env("DIRECTOR_PROCESS_ADVERTISE="+public), "", "serve", "--print-config").Stdout, public)
}

// Pins a setting of tests that an operator finds in a list.
func TestUnlistedSettingsAreInNoList(t *testing.T) {
	t.Parallel()
	listed := director.OK(t, env(), "serve", "--help-all") + director.OK(t, env(), "serve", "--print-config")
	for _, s := range allSettings() {
		if !s.isListed() {
			require.NotContains(t, listed, s.flag)
			require.NotContains(t, listed, s.variableName())
			require.NotContains(t, sectionTable(s.section), s.variableName())
		}
	}
}

// Pins a removed setting that one of the commands still refuses, prints, or recommends.
func TestRemovedSettingsOfCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"serve", "--print-config"},
		{"serve", "--print-config", "--loop-candidates", "5000", "--orchestrator-trust-any-proxy"}} {
		r := director.Run(t, env("DIRECTOR_LOOP_CANDIDATES=5000"), "", args...)
		require.NoError(t, r.Err)
		require.Contains(t, r.Stderr, "this setting was removed and has no effect")
		require.NotContains(t, r.Stdout, "LOOP_CANDIDATES")
	}
	require.NotContains(t, director.OK(t, env(), "serve", "--help-all"), "loop-candidates")
	require.ErrorContains(t, director.Run(t, env(), "", "migrate", "status", "--loop-candidates", "5").Err,
		"unknown flag")
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(flags, everybody)
	require.True(t, flags.Lookup("gogc").Hidden)
}
