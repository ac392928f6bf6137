package sdk_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// sendAway answers 421 with an address at some hosts.
func sendAway(addresses map[string]string) fault {
	return func(x exchange, _ func() *http.Response) (*http.Response, error) {
		address, sent := addresses[x.host]
		if !sent || x.path == "/.well-known/jwks.json" {
			return nil, errNoFault
		}
		return respond(http.StatusMisdirectedRequest, "application/problem+json",
			fmt.Sprintf(`{"code":"region_elsewhere","detail":"another cell","region":"eu","address":%q}`, address))
	}
}

// hosts returns the hosts of all requests to a path, in order.
func (w *wire) hosts(path string) (hosts []string) {
	for _, x := range w.to(path) {
		hosts = append(hosts, x.host)
	}
	return hosts
}

const entryHost, cellHost, thirdHost = "director.example", "cell.example", "third.example"

// Pins a client that asks the entry again for each call, and one that sends a ticket's calls to a cell that does not have it.
func TestACellIsFollowedAndRemembered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(sendAway(map[string]string{entryHost: "http://cell.example/"}))
		p := w.player("alice")
		for range 3 {
			_, err := p.Matchmake(t.Context(), duel)
			require.ErrorIs(t, err, sdk.ErrNotOffered)
		}
		require.Equal(t, []string{entryHost, cellHost, cellHost, cellHost}, w.hosts("/matchmake"))
		require.Equal(t, "Bearer alice", w.to("/matchmake")[1].header.Get("Authorization"))
		require.Equal(t, w.to("/matchmake")[0].header.Get("Idempotency-Key"), w.to("/matchmake")[1].header.Get("Idempotency-Key"))

		q, err := p.Queue(t.Context(), sdk.TicketRequest{Latencies: map[string]int{"eu": 20}})
		require.NoError(t, err)
		_, err = p.Queued(q.ID()).Next(t.Context())
		require.NoError(t, err)
		_, err = p.Queued(q.ID()).Cancel(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{entryHost, cellHost}, w.hosts("/tickets"))
		require.Equal(t, []string{cellHost, cellHost}, w.hosts("/tickets/"+q.ID()))
	})
}

// Pins a loop of two cells, each of which thinks that the other one serves the region.
func TestACallFollowsOneAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(sendAway(map[string]string{entryHost: "http://cell.example", cellHost: "http://third.example", thirdHost: "http://director.example"}))
		p := w.player("alice")
		_, err := p.Matchmake(t.Context(), duel)
		require.ErrorIs(t, err, sdk.ErrElsewhere)
		require.Equal(t, []string{entryHost, cellHost}, w.hosts("/matchmake"))
		_, err = p.Matchmake(t.Context(), duel)
		require.ErrorIs(t, err, sdk.ErrElsewhere)
		require.Equal(t, []string{cellHost, entryHost, cellHost}, w.hosts("/matchmake")[2:], "the entry is asked again, and nobody else says where")
	})
}

// A region that moves on, or back, is found by the entry.
func TestARegionThatMovesIsFoundAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		p := w.player("alice")
		match := func() {
			t.Helper()
			_, err := p.Matchmake(t.Context(), duel)
			require.ErrorIs(t, err, sdk.ErrNotOffered)
		}
		w.inject(sendAway(map[string]string{entryHost: "http://cell.example"}))
		match()
		w.inject(sendAway(map[string]string{entryHost: "http://third.example", cellHost: "http://third.example"}))
		match()
		w.inject(func(x exchange, _ func() *http.Response) (*http.Response, error) {
			if x.host == thirdHost {
				return nil, errCut
			}
			return nil, errNoFault
		})
		match()
		require.Equal(t, []string{entryHost, cellHost, cellHost, entryHost, thirdHost, thirdHost, entryHost}, w.hosts("/matchmake"))
	})
}

// Pins a token that is sent to an address which nobody may name, or in plain text.
func TestTokensGoToNamedCellsAlone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		for _, address := range []string{"http://cell.example", "ftp://cell.example", "//cell.example", "https://ada:secret@cell.example", "https://cell.example?x", "https://", "", "cell"} {
			w.inject(sendAway(map[string]string{entryHost: address}))
			p := sdk.NewPlayer(w.client("https://"+entryHost), func(context.Context) (string, error) { return "alice", nil })
			_, err := p.Matchmake(t.Context(), duel)
			require.ErrorIs(t, err, sdk.ErrElsewhere, address)
		}
		w.inject(answer(http.StatusMisdirectedRequest, "", "Director-Cell", "https://cell.example", "Location", "https://cell.example"))
		_, err := w.player("alice").Matchmake(t.Context(), duel)
		require.ErrorIs(t, err, sdk.ErrElsewhere, "of a proxy")
		require.NotContains(t, w.hosts(""), cellHost)
		require.Len(t, w.hosts(""), 9)
	})
}

// A game server registers where its region is, and reads the keys of that cell: those of the entry sign other tokens.
func TestAGameServerFollowsItsRegion(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(sendAway(map[string]string{entryHost: "http://cell.example"}))
		w.serve()
		advance(2 * sdk.DefaultHeartbeatEvery)
		require.Equal(t, []string{entryHost, cellHost}, w.hosts("/fleet/register"))
		require.NotEmpty(t, w.hosts("/fleet/heartbeat"))
		require.NotContains(t, w.hosts("/fleet/heartbeat"), entryHost)
		require.Equal(t, []string{cellHost}, w.hosts("/.well-known/jwks.json"))

		before := len(w.hosts("/fleet/heartbeat"))
		w.inject(sendAway(map[string]string{entryHost: "http://third.example", cellHost: "http://third.example"}))
		advance(sdk.DefaultHeartbeatEvery + time.Second)
		require.Equal(t, []string{cellHost, entryHost, thirdHost}, w.hosts("/fleet/heartbeat")[before:before+3])
	})
}
