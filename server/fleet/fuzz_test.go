package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/rest"
)

// sink is a store that requires its arguments to be within the limits of the contract.
type sink struct{ t *testing.T }

func (s sink) Register(_ context.Context, r db.Registration) (db.Registered, error) {
	require.True(s.t, rest.ID.Valid(r.InstanceID) && rest.Region.Valid(r.Region) &&
		!slices.ContainsFunc(r.Modes, bad(rest.Mode)), "%+v", r)
	require.True(s.t, r.Capacity >= 1 && r.Capacity <= 100_000 && (r.MaxSessions == nil || *r.MaxSessions >= 1), "%+v",
		r)
	for key, value := range r.Labels {
		s.storable(key, value)
	}
	s.storable(r.Endpoint, r.Version, r.BootID, r.CertDigest)
	return db.Registered{InstanceID: r.InstanceID, Incarnation: uuid.New()}, s.load(r.Load)
}

func (s sink) NoteRefusedRegistration(context.Context, provision.Joining, string) error { return nil }

func (s sink) Heartbeat(_ context.Context, ref db.InstanceRef, load *float64) (db.Alive, error) {
	require.True(s.t, rest.ID.Valid(ref.InstanceID))
	return db.Alive{}, s.load(load)
}

func (s sink) Deregister(context.Context, db.InstanceRef) error { return nil }

func (s sink) SetDrain(context.Context, db.InstanceRef, bool) (db.DrainStatus, error) {
	return db.DrainStatus{}, nil
}

func (s sink) ReportSeats(_ context.Context, r db.SeatReport) (db.SeatReportResult, error) {
	for _, j := range r.JoinedPlayers {
		require.True(s.t, rest.Sub.Valid(j.PlayerSub))
		s.storable(j.JTI)
		require.True(s.t, j.ConnectionName == "" || rest.ID.Valid(j.ConnectionName), "%+v", j)
	}
	for _, l := range r.LeftPlayers {
		require.True(s.t, rest.Sub.Valid(l.PlayerSub) && (l.ConnectionName == "" || rest.ID.Valid(l.ConnectionName)),
			"%+v", l)
	}
	return db.SeatReportResult{}, nil
}

func (s sink) ReportClients(_ context.Context, l db.ClientList) (db.ClientListResult, error) {
	require.True(s.t, rest.ID.Valid(l.InstanceRef.InstanceID) && l.Seq > 0 && len(l.ClientIDs) <= 1024, "%+v", l)
	seen := map[uint64]bool{}
	for _, id := range l.ClientIDs {
		require.True(s.t, id > 0 && id < 1<<63 && !seen[id], "%+v", l)
		seen[id] = true
	}
	return db.ClientListResult{}, nil
}

func (s sink) RenewCredential(context.Context, string, string, uuid.UUID, string) (time.Time, bool, error) {
	return time.Time{}, false, nil
}

func (s sink) Now() time.Time { return time.Now() }

func bad(f rest.Format) func(string) bool { return func(s string) bool { return !f.Valid(s) } }

// storable requires texts that Postgres can store.
func (s sink) storable(texts ...string) {
	for _, text := range texts {
		require.True(s.t, utf8.ValidString(text) && len(text) <= 4*255 && !strings.Contains(text, "\x00"), "%q", text)
	}
}

func (s sink) load(load *float64) error {
	require.True(s.t, load == nil || *load >= 0 && *load <= 1e9)
	return nil
}

var paths = []string{"register", "heartbeat", "deregister", "seats", "clients", "drain"}

// FuzzFleet checks that no body makes the face fail or reaches the store with invalid values.
func FuzzFleet(f *testing.F) {
	for _, body := range []string{
		`{"instance_id":"a","endpoint":"[::1]:7","region":"eu","modes":["duel"],"capacity":8,"load":0.5,"labels":{"a":"b","c":null},"max_sessions":1,` +
			`"version":"1","reports_seats":true,"cert_digest":"sha-256:x=","boot_id":"b"}`,
		`{"instance_id":"a","endpoint":"h:1","region":"eu","modes":["duel"],"capacity":8,"replaces":"none"}`,
		`{"instance_id":"a","endpoint":"h:1","region":"eu","modes":["duel"],"capacity":8,"replaces":"0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33"}`,
		`{"instance_id":"a","incarnation":"0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33","load":1e308,"drain":true}`,
		`{"instance_id":"a","seq":1,"clients":["7","9223372036854775807"]}`,
		`{"instance_id":"a","seq":0,"clients":["07","0","-1","9223372036854775808","7","7","","x",null]}`,
		`{"instance_id":"a","session_id":"eu.x","joined":[{"sub":"alice","jti":"j"},null],"left":["bob",""],"ended":true}`,
		`{"instance_id":"a","session_id":"eu.x","joined":[{"sub":"alice","jti":"j","connection":"c-1"}],"left":["bob","carol"],"left_connections":["c-2",null]}`,
		`{"instance_id":"a","session_id":"eu.x","joined":[{"sub":"alice","jti":"j","connection":""}],"left":["bob"],"left_connections":["","c"]}`,
		`{"instance_id":null}`, `{"incarnation":"{}"}`, "[[[", "\xff", "",
	} {
		for i := range paths {
			f.Add(i, body)
		}
	}
	f.Fuzz(func(t *testing.T, path int, body string) {
		if path < 0 || path >= len(paths) {
			return
		}
		engine, err := rest.New(rest.Options{})
		require.NoError(t, err)
		fleet.Mount(engine, sink{t}, nil)
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/fleet/"+paths[path], strings.NewReader(body)))
		require.Less(t, w.Code, 500, "%s", w.Body)
	})
}

// ReadRosterState implements fleet.SessionStore.
func (s sink) ReadRosterState(_ context.Context, ref db.InstanceRef) (db.RosterState, error) {
	require.True(s.t, rest.ID.Valid(ref.InstanceID))
	return db.RosterState{Digest: "d"}, nil
}

func (s sink) SessionRosters(_ context.Context, _ db.RosterState, after string) ([]db.SessionRoster, bool, error) {
	require.True(s.t, after == "" || rest.ID.Valid(after))
	return nil, false, nil
}

func (s sink) SubscribeSessions(db.RosterState) (wake <-chan struct{}, stop func()) {
	return nil, func() {}
}

// FuzzSessions checks that no query makes the face fail or reaches the store with invalid values.
func FuzzSessions(f *testing.F) {
	for _, query := range []string{
		"instance_id=a&wait=1ms&cursor=d", "instance_id=a&incarnation=0b8f9a3e-5f0c-4d59-9d5b-0f7d0e1c2a33&after=eu.x",
		"instance_id=%00&wait=-1s", "wait=1e9h", "%zz", "",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		engine, err := rest.New(rest.Options{})
		require.NoError(t, err)
		stopping := make(chan struct{})
		close(stopping)
		fleet.MountSessions(engine, fleet.Sessions{Store: sink{t}, MaxWaiters: 1, Stopping: stopping})
		request := httptest.NewRequest(http.MethodGet, "/fleet/sessions", nil)
		request.URL.RawQuery = query
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, request)
		require.Less(t, w.Code, 500, "%s", w.Body)
	})
}
