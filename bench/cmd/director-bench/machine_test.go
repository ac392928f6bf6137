package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
)

// Pins CPUs that sleep although they should not, and results that do not say that the CPUs were kept awake.
func TestCPUsAreKeptAwake(t *testing.T) {
	t.Parallel()
	device := filepath.Join(t.TempDir(), "latency")
	require.NoError(t, os.WriteFile(device, nil, 0o600))
	for _, asked := range []bool{false, true} {
		done := false
		require.NoError(t, whileAwake(asked, device, func() error {
			done = true
			told, err := os.ReadFile(device)
			require.NoError(t, err)
			require.Equal(t, asked, string(told) == "\x00\x00\x00\x00")
			return nil
		}))
		require.True(t, done)
	}
	err := whileAwake(true, filepath.Join(device, "none"), func() error { panic("they sleep") })
	require.ErrorContains(t, err, "--awake: the CPUs of this machine cannot be kept from sleeping")
	require.NotContains(t, machine{}.String(), "awake")
	require.Contains(t, machine{Awake: true}.String(), ", CPUs kept awake")
}

// Pins figures measured while the host's other machines used the CPU, without a remark.
func TestStolenCPUIsTold(t *testing.T) {
	t.Parallel()
	before := procfs.CPUStat{User: 10, System: 5, Idle: 5, Steal: 1}
	require.InDelta(t, 0.2, stolenShare(before, procfs.CPUStat{User: 12, Guest: 2, System: 6, Idle: 6, Steal: 2}), 1e-9)
	require.Zero(t, stolenShare(before, before))
	require.NotContains(t, machine{}.String(), "stolen")
	require.Contains(t, machine{Stolen: .17}.String(), "17 % of the CPU stolen by its host")
}
