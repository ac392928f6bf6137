package console

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/keytest"
)

// Pins a page of health that does not name a process with another key-encryption key, as director doctor does.
func TestHealthNamesTheProcessThatLacksAKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.rotate(t.Context(), b.As("console:ada"), "")
	require.NoError(t, err)
	process := func(name string, kek byte) {
		other, err := db.Open(t.Context(),
			db.Config{URL: b.URL, Name: name, KeyEncryptionKeys: keytest.Sealer(t, kek).Fingerprints()})
		require.NoError(t, err)
		t.Cleanup(other.Close)
		require.NoError(t, other.ReportProcess(t.Context(), nil))
		require.NoError(t, other.TryWrite(t.Context()))
	}
	process("director work right/1", 1)
	process("director work wrong/2", 2)
	b.as(adaToken).contains("/health", "sealing keys", "1 of 2 processes lack the key-encryption key",
		"director work wrong/2")
}

// Pins pages of health that fail, or wait for ever, while the database hardly answers the checks.
func TestHealthDoesNotWaitForASlowExamination(t *testing.T) {
	t.Parallel()
	ends := make(chan struct{})
	c := &checkup{now: time.Now, examine: func(context.Context) doctor.Diagnosis {
		<-ends
		return doctor.Diagnosis{State: doctor.OK, Checks: []doctor.Finding{{Check: "database", State: doctor.OK}}}
	}}
	leaving, leave := context.WithCancel(t.Context())
	leave()
	first, _ := c.latestDiagnosis(leaving)
	require.Equal(t, doctor.Warn, first.State, "it says that nothing is known")
	require.NotEmpty(t, first.First)
	require.False(t, first.Unreadable())
	close(ends)
	second, _ := c.latestDiagnosis(t.Context())
	require.Equal(t, doctor.OK, second.State)
}
