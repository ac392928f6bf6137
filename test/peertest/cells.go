package peertest

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// entry is an installation that serves no region: it answers with the address of another cell.
type entry struct {
	url   string
	calls atomic.Int64
}

// newEntry serves an entry that answers with an address for the region eu.
func (r *Rig) newEntry(address string) *entry {
	r.T.Helper()
	e := &entry{}
	e.url = serveStranger(r.T, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		e.calls.Add(1)
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusMisdirectedRequest)
		_ = json.NewEncoder(w).Encode(object{"type": "/docs#region_elsewhere", "title": "Served elsewhere",
			"status": http.StatusMisdirectedRequest, "code": "region_elsewhere",
			"detail": "another cell", "request_id": "r", "region": "eu", "address": address})
	}))
	return e
}

// A player who knows the address of another installation is seated where the region is, and calls the first one no
// more. A ticket is read where it was created. Installations that name each other cause no endless loop of calls, and
// an address that a cell names is not followed.
func followsCell(r *Rig) {
	a := r.serve()
	r.Installation.ApplyProfile(askedProfile)
	r.startGameServer(a)
	first := r.newEntry(a.URL + "/")
	r.playerAt("ada", []string{r.token("ada", time.Hour)}, first.url)
	require.NotEmpty(r.T, ask[match](r, "matchmake", object{"player": "ada", "request": duel}).Handle)
	callsBefore := first.calls.Load()
	require.NotZero(r.T, callsBefore)
	seat := ask[match](r, "matchmake", object{"player": "ada", "request": duel})
	require.Equal(r.T, callsBefore, first.calls.Load(), "the cell is remembered")
	require.NotEmpty(r.T, ask[match](r, "resolve", object{"player": "ada", "handle": seat.Handle}).Token)

	r.queue("ada", object{"profiles": []string{"asked"}, "latencies": object{"eu": 20}})
	r.awaitState("ada", "queued", 1)
	callsBefore = first.calls.Load()
	require.Equal(r.T, "cancelled", r.callTicket("ada", "cancel").State)
	r.awaitFinal("ada", "cancelled")
	require.Equal(r.T, callsBefore, first.calls.Load(), "the ticket is known to be in the cell")

	third := r.newEntry(a.URL)
	second := r.newEntry(third.url)
	loop := r.newEntry(second.url)
	r.playerAt("bo", []string{r.token("bo", time.Hour)}, loop.url)
	for range 2 {
		_, failed := try[match](r, "matchmake", object{"player": "bo", "request": duel})
		require.NotNil(r.T, failed)
		require.Equal(r.T, "region_elsewhere", failed.Code)
	}
	require.Zero(r.T, third.calls.Load(), "a cell names no address")
	// The fetch of browsers and of Node.js repeats each request once that is answered with 421.
	require.LessOrEqual(r.T, loop.calls.Load(), int64(4))
	require.LessOrEqual(r.T, second.calls.Load(), int64(6))
}
