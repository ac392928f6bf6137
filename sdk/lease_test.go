package sdk_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// A registration that a paused replica delivers late, after another process has taken the id, must not supersede that
// process: neither a repeated registration of a process whose lease expired, nor the first one of a process that was
// killed.
func TestALateRegistrationSupersedesNobody(t *testing.T) {
	t.Parallel()
	t.Run("of a process whose lease expired", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			old := w.serve()
			w.director.Expire("arena-1")
			var newer *sdk.GameServer
			w.inject(on("/fleet/register", once(func(_ exchange, forward func() *http.Response) (*http.Response, error) {
				newer = w.serve()
				return forward(), nil
			})))
			advance(time.Minute)
			require.NoError(t, newer.Err())
			require.ErrorIs(t, old.Err(), sdk.ErrSuperseded)
		})
	})
	t.Run("of a killed process", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			before := w.serve()
			require.NoError(t, before.Close(t.Context()))
			ctx, kill := context.WithCancel(t.Context())
			var newer *sdk.GameServer
			w.inject(on("/fleet/register", once(func(_ exchange, forward func() *http.Response) (*http.Response, error) {
				kill()
				newer = w.serve()
				require.Equal(t, http.StatusConflict, forward().StatusCode)
				return nil, errCut
			})))
			opts := sdk.ServerOptions{InstanceID: "arena-1", Endpoint: endpoint, Region: "eu", Modes: []string{"duel"}, Capacity: 32}
			_, err := sdk.Start(ctx, w.client(), opts)
			require.ErrorIs(t, err, context.Canceled)
			advance(time.Minute)
			require.NoError(t, newer.Err())
		})
	})
}

// A registration whose answer is lost for longer than a lease must not end the process: the incarnation that the
// director then reports as registered is its own.
func TestALostRegistrationIsRepeatedAfterALease(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.director.Expire("arena-1")
		w.inject(on("/fleet/register", once(func(x exchange, forward func() *http.Response) (*http.Response, error) {
			forward()
			w.director.Expire("arena-1")
			return nil, errCut
		})))
		advance(time.Minute)
		require.NoError(t, s.Err())
		require.Contains(t, w.director.Instances(), "arena-1")
		registers := w.to("/fleet/register")
		require.Len(t, registers, 4, "the first, the lost one, the refused one, and one that replaces the lost one's incarnation")
		require.Equal(t, "none", field(t, registers[0], "replaces"))
	})
}
