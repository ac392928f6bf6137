package play_test

import (
	"context"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/play"
)

// ticketSink is a store that requires new tickets to be within the limits of the contract, and keeps the last one.
type ticketSink struct {
	play.TicketStore
	t    *testing.T
	last db.PlayerTicketRequest
}

func (s *ticketSink) CreatePlayerTicket(_ context.Context, region string,
	r db.PlayerTicketRequest) (db.PlayerTicketAnswer, error) {
	require.Equal(s.t, "global", region)
	require.True(s.t, slices.IsSorted(r.Party) && slices.Contains(r.Party, r.Caller) && len(r.Party) <= 64, "%v",
		r.Party)
	require.True(s.t, slices.IsSorted(r.ProfileNames) && len(r.ProfileNames) <= 8, "%v", r.ProfileNames)
	require.Len(s.t, r.RequestHash, 32)
	decoded, err := ticketbody.Decode("id", time.Unix(0, 0), r.EncodeBody("id", time.Unix(0, 0)), "")
	require.NoError(s.t, err, "a worker can read what was accepted")
	require.Len(s.t, decoded.Players, len(r.Party))
	for i, p := range decoded.Players {
		require.Equal(s.t, r.Party[i], p.Sub)
		for _, v := range p.Attributes {
			require.False(s.t, math.IsNaN(v.Number) || math.IsInf(v.Number, 0))
		}
	}
	s.last = r
	return db.PlayerTicketAnswer{ID: "id", CreatedAt: time.Now(), IsNew: true}, nil
}

// StoredPlayers has stored karma of bob, who avoids eve.
func (s *ticketSink) StoredPlayers(_ context.Context, region string,
	subs []string) (map[string]db.StoredPlayer, error) {
	require.Equal(s.t, "global", region)
	found := map[string]db.StoredPlayer{}
	if slices.Contains(subs, "bob") {
		found["bob"] = db.StoredPlayer{Sub: "bob", Attributes: map[string]any{"karma": 7.0},
			AvoidedPlayers: []string{"eve"}}
	}
	return found, nil
}

func (s *ticketSink) QueuedSince(context.Context, string, string) ([]int64, error) { return nil, nil }

func (s *ticketSink) WaitingTimes(context.Context, string) (map[string][]db.WaitingTime, error) {
	return map[string][]db.WaitingTime{"duel": {{UpTo: 10, P50: time.Second, P90: 2 * time.Second, SampleCount: 19},
		{UpTo: 20, P50: 3 * time.Second, P90: 4 * time.Second, SampleCount: 20}}}, nil
}

func (s *ticketSink) Now() time.Time { return time.Now() }

// known are profiles by name.
type known map[string]*profile.Profile

func (k known) LiveProfile(_ context.Context, name string) (*profile.Profile, error) {
	if p := k[name]; p != nil {
		return p, nil
	}
	return nil, &fault.Error{Kind: fault.NotFound, Code: "profile_unknown", Detail: "there is no profile " + name}
}

func (k known) AllLive(context.Context) ([]*profile.Profile, error) {
	return slices.Collect(maps.Values(k)), nil
}

func (k known) Refresh(context.Context, time.Time) error { return nil }

func ticketEngine(t *testing.T, profiles play.Profiles) (*gin.Engine, *ticketSink) {
	e, s := engine(t), &ticketSink{t: t}
	play.MountTickets(e, e, play.Tickets{Store: s, Hub: watch.New(nil, "global", 1, nil, nil), Region: "global",
		Profiles: profiles, Parties: play.Parties{AreOpen: true}, Lease: time.Second})
	return e, s
}

func post(e *gin.Engine, body string) *httptest.ResponseRecorder { return postAs(e, "x", body) }

func postAs(e *gin.Engine, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/tickets", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	return w
}

// FuzzTickets checks that no body makes the face fail, or reaches the store with what a worker could not read.
func FuzzTickets(f *testing.F) {
	for _, body := range []string{
		`{"profiles":["duel"],"party":["alice","bob"],"attributes":{"skill":1e3,"maps":["a:b",""],"x":null},"players":{"bob":{"attributes":{"role":"tank"}}},"latencies":{"eu":1}}`,
		`{"attributes":{"skill":1e999}}`, `{"attributes":{"profile":["x"],"a":[[]]},"players":{"alice":null}}`, `{"latencies":{"eu":-1,"EU":null}}`, `{"party":[]}`, "[[[", "",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, _ := ticketEngine(t, nil)
		w := post(e, body)
		require.Less(t, w.Code, 500, "%s", w.Body)
	})
}

// Pins a number that is rounded in silence, or refused without the name of its field.
func TestNumbersAreNotRounded(t *testing.T) {
	t.Parallel()
	e, s := ticketEngine(t, nil)
	for body, field := range map[string]string{
		`{"latencies":{"eu":20.5}}`: "latencies.eu", `{"latencies":{"eu":1e9}}`: "latencies.eu", `{"latencies":{"us":-1,"eu":1}}`: "latencies.us", `{"latencies":{"eu":10000.4}}`: "latencies.eu",
		`{"latencies":{"eu":"20"}}`: "latencies.eu", `{"attributes":{"clan":76561198000000001}}`: "attributes.clan", `{"attributes":{"skill":1e999}}`: "attributes.skill",
		`{"players":{"alice":{"attributes":{"clan":9007199254740993}}}}`: "players.alice.attributes.clan",
	} {
		w := post(e, body)
		require.Equal(t, http.StatusBadRequest, w.Code, body)
		require.Contains(t, w.Body.String(), `"`+field+`"`, body)
	}
	require.Equal(t, http.StatusCreated, post(e, `{"latencies":{"eu":2e1,"us":30.0},"attributes":{"skill":-0.5}}`).Code)
	require.NotNil(t, s.last.RequestHash)
}

// The hash depends on what a request means, by whichever member it is sent: on it relies that a party queues once.
func TestTheHashOfATicket(t *testing.T) {
	t.Parallel()
	hash := func(body string) string {
		e, s := ticketEngine(t, nil)
		require.Equal(t, http.StatusCreated, post(e, body).Code)
		return string(s.last.RequestHash)
	}
	same := hash(`{"profiles":["a","b"],"party":["alice","bob"],"attributes":{"skill":1,"none":null}}`)
	require.Equal(t, same, hash(`{"attributes":{"skill":1.0},"party":["bob","alice"],"profiles":["b","a"],"players":{"bob":{}},"latencies":{"eu":null},"x":1}`))
	require.Equal(t, hash(`{}`), hash(`{"party":["alice"],"profiles":[]}`))
	for _, other := range []string{
		`{"profiles":["a"],"party":["alice","bob"],"attributes":{"skill":1}}`, `{"profiles":["a","b"],"party":["alice"],"attributes":{"skill":1}}`,
		`{"profiles":["a","b"],"party":["alice","bob"],"attributes":{"skill":"1"}}`, `{"profiles":["a","b"],"party":["alice","bob"],"attributes":{"skill":1},"latencies":{"eu":0}}`,
		`{"profiles":["a","b"],"party":["alice","bob"],"players":{"alice":{"attributes":{"skill":1}},"bob":{"attributes":{"skill":1}}}}`,
	} {
		require.NotEqual(t, same, hash(other), other)
	}
}

// What a profile requires is checked when the ticket is created, and the error names the field and the type.
func TestTicketsAreCheckedAgainstProfiles(t *testing.T) {
	t.Parallel()
	def := match.Value{Kind: match.Text, Text: "any"}
	e, s := ticketEngine(t, known{"duel": {
		Name: "duel", TTL: time.Minute, Teams: []profile.Team{{Name: "red", Max: 2}, {Name: "blue", Max: 2}},
		Attributes: map[string]profile.Attribute{"skill": {Kind: match.Number},
			"role": {Kind: match.Text, Default: &def}},
		Rules: []profile.Rule{{
			ID: "near-skill", Kind: profile.Near, Attribute: "skill", Limits: profile.Limits{Within: 100},
			Widen: []profile.Step{{AfterWait: 0, Limits: profile.Limits{Within: 150}},
				{AfterWait: time.Hour, Limits: profile.Limits{Within: 200}}},
		}, {ID: "own", Kind: profile.Near, Attribute: "skill", Tolerance: "reach",
			Limits: profile.Limits{Within: 300}}},
	}})
	for body, want := range map[string]string{
		`{"profiles":["duel"]}`:                               `"attributes.skill"`,
		`{"profiles":["duel"],"attributes":{"skill":"high"}}`: `"attributes.skill"`,
		`{"profiles":["duel"],"attributes":{"skill":1},"players":{"alice":{"attributes":{"role":5}}}}`: `"players.alice.attributes.role"`,
		`{"profiles":["dule"]}`: "profile_unknown",
		`{"profiles":["duel"],"attributes":{"skill":1,"reach":301}}`:                                       `"attributes.reach"`,
		`{"profiles":["duel"],"attributes":{"skill":1,"reach":"far"}}`:                                     `"attributes.reach"`,
		`{"profiles":["duel"],"attributes":{"skill":1},"players":{"alice":{"attributes":{"reach":-0.5}}}}`: `"players.alice.attributes.reach","detail":"must be a number from 0 to 300 for profile \"duel\"`,
		`{"profiles":["duel"],"party":["alice","bob","carol"],"attributes":{"skill":1}}`:                   "party_too_large",
	} {
		require.Contains(t, post(e, body).Body.String(), want, body)
	}
	w := post(e, `{"profiles":["duel"],"attributes":{"skill":15}}`)
	require.Equal(t, http.StatusCreated, w.Code)
	require.Equal(t, time.Minute, s.last.TTL)
	require.Contains(t, w.Body.String(), `"estimate":{"p50":3,"p90":4,"samples":20},"step":{"rule":"near-skill","within":150,"next_at":"`)
	w = post(e, `{"profiles":["duel"],"attributes":{"skill":5}}`)
	require.Contains(t, w.Body.String(), `"estimate":null`, "19 samples are too few")
}

// A misspelt name would make a ticket that waits for nothing, so it is refused. Other unknown names are ignored.
func TestMisspeltTickets(t *testing.T) {
	t.Parallel()
	e, _ := ticketEngine(t, nil)
	for name, meant := range map[string]string{
		"profile": "profiles", "Profil": "profiles", "latency": "latencies", "attribute": "attributes",
		"partys": "party", "player": "players",
	} {
		w := post(e, `{"`+name+`":null}`)
		require.Equal(t, http.StatusBadRequest, w.Code, name)
		require.Contains(t, w.Body.String(), `{"field":"`+name+`","detail":"is not a field of this request; did you mean \"`+meant+`\"?"}`)
	}
	require.Equal(t, http.StatusCreated, post(e, `{"PROFILES":["duel"],"data":1,"parties":2,"x":3}`).Code)
}

// Where every profile wants to be named, a ticket that names none would wait for nothing.
func TestTicketsThatNoProfileTakes(t *testing.T) {
	t.Parallel()
	teams := []profile.Team{{Name: "a", Min: 1, Max: 1}, {Name: "b", Min: 1, Max: 1}}
	named, pooled := &profile.Profile{Name: "duel", Teams: teams}, &profile.Profile{Name: "open", Teams: teams,
		Pool: &match.Pool{}}
	for want, profiles := range map[int][]known{
		http.StatusBadRequest: {{"duel": named}},
		http.StatusCreated:    {{"duel": named, "open": pooled}, {}},
	} {
		for _, k := range profiles {
			e, _ := ticketEngine(t, k)
			w := post(e, `{"attributes":{"skill":1}}`)
			require.Equal(t, want, w.Code, "%v", k)
			require.Equal(t, want == http.StatusBadRequest, strings.Contains(w.Body.String(), `"field":"profiles"`))
		}
	}
}

// The profiles of the realtime lobby change nothing for those who do not use it, and nobody queues for them over HTTP:
// the match has a room of sessions, into which such a player could not come.
func TestTheProfilesOfTheLobbyAreHidden(t *testing.T) {
	t.Parallel()
	// No operator has applied a profile, and the realtime lobby has its own.
	e, _ := ticketEngine(t, play.NewLiveProfiles(&oneProfile{name: db.RealtimeProfile(2),
		document: "\nteams: [{name: players, players: 2}]\n"}, "global"))
	require.Equal(t, http.StatusCreated, post(e, `{"attributes":{"skill":1}}`).Code, "directors of Open Match decide about it, as without profiles")
	w := post(e, `{"profiles":["realtime-2"],"attributes":{"queue":"eu p1 duel"}}`)
	require.Equal(t, http.StatusNotFound, w.Code, "%s", w.Body)
	require.Contains(t, w.Body.String(), "profile_unknown")
}
