package sdk_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// A registration that a frozen replica delivers late, after another process has taken the id, throws nobody out: neither
// the next one of a process that was forgotten, nor the first one of a process that has been killed since.
func TestALateRegistrationSupersedesNobody(t *testing.T) {
	t.Parallel()
	t.Run("of a forgotten process", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			old := w.serve()
			w.director.Expire("arena-1")
			var young *sdk.GameServer
			w.spoil(on("/fleet/register", once(func(_ exchange, forward func() *http.Response) (*http.Response, error) {
				young = w.serve()
				return forward(), nil
			})))
			pass(time.Minute)
			require.NoError(t, young.Err())
			require.ErrorIs(t, old.Err(), sdk.ErrSuperseded)
		})
	})
	t.Run("of a killed process", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			before := w.serve()
			require.NoError(t, before.Close(t.Context()))
			ctx, kill := context.WithCancel(t.Context())
			var young *sdk.GameServer
			w.spoil(on("/fleet/register", once(func(_ exchange, forward func() *http.Response) (*http.Response, error) {
				kill()
				young = w.serve()
				require.Equal(t, http.StatusConflict, forward().StatusCode)
				return nil, errCut
			})))
			opts := sdk.ServerOptions{InstanceID: "arena-1", Endpoint: endpoint, Region: "eu", Modes: []string{"duel"}, Capacity: 32}
			_, err := sdk.Start(ctx, w.client(), opts)
			require.ErrorIs(t, err, context.Canceled)
			pass(time.Minute)
			require.NoError(t, young.Err())
		})
	})
}

// An answer that was lost for longer than a lease must not end the process: what the director knows is its own.
func TestALostRegistrationIsRepeatedAfterALease(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.director.Expire("arena-1")
		w.spoil(on("/fleet/register", once(func(x exchange, forward func() *http.Response) (*http.Response, error) {
			forward()
			w.director.Expire("arena-1")
			return nil, errCut
		})))
		pass(time.Minute)
		require.NoError(t, s.Err())
		require.Contains(t, w.director.Instances(), "arena-1")
		registers := w.to("/fleet/register")
		require.Len(t, registers, 4, "first, lost, refused, in its own place")
		require.Equal(t, "none", field(t, registers[0], "replaces"))
	})
}
