package token

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// simulation is a fleet on a virtual clock: a key table in rotation, replicas that read it at intervals, and game
// servers that cache the JWKS for its whole max-age and never fetch it again for an unknown kid.
type simulation struct {
	Margins
	lead, overlap time.Duration // the waits under test
	turns         []turn
	now           *clock
}

// turn is the row of one key. Its signing time ends, and that of the next key begins, as planned or, if a rotation is
// forced, earlier. The table does not show the earlier end before that moment.
type turn struct {
	key             ringKey
	publish         time.Time
	planned, actual time.Time // end of its signing
}

func (u turn) end(at time.Time) time.Time {
	if at.Before(u.actual) {
		return u.planned
	}
	return u.actual
}

// someKeys returns keys that all simulations share; making them is slow.
var someKeys = sync.OnceValues(func() (keys []ringKey, err error) {
	sealer, err := NewSealer(secretOf(7))
	for range 5 {
		material, err1 := sealer.Mint(AlgEdDSA)
		key, err2 := openKey(Key{Material: material}, sealer)
		keys, err = append(keys, key), errors.Join(err, err1, err2)
	}
	return keys, err
})

// ring returns the ring of a replica that read the table at loadedAt, without keys that were not published then.
func (w *simulation) ring(loadedAt time.Time) *Ring {
	r := &Ring{loadedAt: loadedAt, maxStale: w.MaxStale}
	from := start.Add(-1000 * time.Hour)
	for _, u := range w.turns {
		key := u.key
		key.key.PublishAt, key.key.SignFrom, key.key.SignUntil = u.publish, from, u.end(loadedAt)
		key.key.VerifyUntil = key.key.SignUntil.Add(w.overlap)
		if from = key.key.SignUntil; !loadedAt.Before(key.key.PublishAt) && loadedAt.Before(key.key.VerifyUntil) {
			r.keys = append(r.keys, key)
		}
	}
	return r
}

// gameServer verifies tokens. When it fetches the JWKS, age is the age of the replica's ring, and off the offset of the
// replica's clock.
type gameServer struct {
	*SessionVerifier
	age, off time.Duration
}

func (w *simulation) newServer() *gameServer {
	var s gameServer
	source := NewKeySourceFunc(func(context.Context, string) (Document, error) {
		now := w.now.Now()
		document, etag := w.ring(now.Add(-s.age)).JWKS(now.Add(s.off))
		return Document{JSON: document, ETag: etag, MaxAge: w.MaxAge}, nil
	}, SourceOptions{Now: w.now.Now, RetryEvery: 10000 * time.Hour})
	source.staleAt = 1
	s.SessionVerifier = NewSessionVerifier(source, w.Skew)
	return &s
}

// sign makes a token on a replica whose ring has the age.
func (w *simulation) sign(age time.Duration) (string, error) {
	now := w.now.Now()
	c := someClaims()
	c.IssuedAt, c.Expires = now, now.Add(w.TokenTTL)
	return w.ring(now.Add(-age)).Sign(now, c)
}

func newSimulation(m Margins, lead, overlap time.Duration) *simulation {
	return &simulation{Margins: m, lead: lead, overlap: overlap, now: newClock()}
}

// draw returns a whole number of seconds between two durations, from rapid or from a seeded generator.
type draw func(name string, least, most time.Duration) time.Duration

// days simulates several turns of keys, some forced, and returns the error of the first valid token that is refused.
func days(m Margins, lead, overlap time.Duration, draw draw) error {
	w := newSimulation(m, lead, overlap)
	keys, err := someKeys()
	from, publish := start, start.Add(-500*time.Hour)
	for _, key := range keys[:4] {
		period := draw("period", time.Minute, 30*time.Hour)
		planned := from.Add(lead + period)
		next := planned.Add(-lead - draw("published early", 0, period))
		actual := planned
		if draw("forced", 0, time.Second) > 0 {
			actual = planned.Add(-draw("forced early", 0, planned.Sub(next)-lead))
		}
		w.turns = append(w.turns, turn{key, publish, planned, actual})
		from, publish = actual, next
	}
	end := from.Add(1000 * time.Hour)
	w.turns = append(w.turns, turn{keys[4], publish, end, end})
	return errors.Join(err, w.play(draw))
}

// play signs and verifies tokens around every change of key; at other times nothing changes.
func (w *simulation) play(draw draw) error {
	var moments []time.Time
	for _, u := range w.turns[:len(w.turns)-1] {
		for range 4 {
			moments = append(moments, u.actual.Add(draw("moment", -w.MaxAge-w.Refresh, w.MaxAge+w.Overlap())))
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	server := w.newServer()
	var out []issued
	for _, now := range moments {
		w.now.Set(now)
		raw, err := w.sign(draw("signer's age", 0, w.MaxStale))
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		out = slices.DeleteFunc(out, func(i issued) bool { return !now.Before(i.expires) })
		out = append(out, issued{raw, now.Add(w.TokenTTL)})
		server.age, server.off = draw("ring age", 0, w.Refresh), draw("clock", -w.Skew, w.Skew)
		own := now.Add(draw("own clock", -w.Skew, w.Skew-time.Second))
		for i := range out {
			if i > 0 && i < len(out)-1 { // the oldest and the newest are the ones in danger
				continue
			}
			if _, err := server.Verify(context.Background(), out[i].raw, own); err != nil {
				return err
			}
		}
	}
	return nil
}

// issued is a token that was signed.
type issued struct {
	raw     string
	expires time.Time
}

func drawMargins(draw draw) Margins {
	m := Margins{
		MaxAge: draw("max-age", time.Second, 4*time.Hour), Refresh: draw("refresh", time.Second, 10*time.Minute),
		TokenTTL: draw("token ttl", 10*time.Second, time.Hour), Skew: draw("skew", time.Second, time.Minute),
	}
	m.MaxStale = draw("max stale", time.Second, m.Lead())
	return m
}

// With Lead and Overlap no game server ever sees an unknown kid or refuses a valid token, for any periods, ages, phases
// and clocks, although it never fetches the set before its max-age ends.
func TestRotationIsInvisible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, least, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(int64(least/time.Second), int64(most/time.Second)).Draw(t, name)) * time.Second
		}
		m := drawMargins(draw)
		require.NoError(t, days(m, m.Lead(), m.Overlap(), draw))
	})
}

// The test above can fail: with a shorter lead or overlap the simulation finds a refused token within some dozens of
// runs.
func TestShortMarginsAreDetected(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(m Margins) (lead, overlap time.Duration){
		"half the lead": func(m Margins) (time.Duration, time.Duration) { return m.Lead() / 2, m.Overlap() },
		"no overlap":    func(m Margins) (time.Duration, time.Duration) { return m.Lead(), 0 },
	} {
		random := rand.New(rand.NewPCG(1, 2))
		draw := func(_ string, least, most time.Duration) time.Duration {
			return least + time.Duration(random.Int64N(int64((most-least)/time.Second)+1))*time.Second
		}
		var err error
		for range 200 {
			m := drawMargins(draw)
			m.MaxStale = min(m.MaxStale, m.Lead()/2) // Otherwise signing would fail first, without a key.
			lead, overlap := cut(m)
			if err = days(m, lead, overlap, draw); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, UnknownKey, name)
	}
}

// The worst case for the lead: a replica reads the table just before the key is added and publishes the old set for
// Refresh; a game server fetches it at the end of that time and keeps it for max-age. A shorter lead would fail.
func TestLeadIsTight(t *testing.T) {
	t.Parallel()
	m := Margins{MaxAge: 10 * time.Minute, Refresh: 30 * time.Second, TokenTTL: 2 * time.Minute, MaxStale: time.Minute}
	late := func(lead time.Duration) error {
		w := newSimulation(m, lead, m.Overlap())
		keys, err := someKeys()
		require.NoError(t, err)
		w.turns = []turn{{keys[0], start.Add(-time.Hour), start, start}, {keys[1], start.Add(-lead), start.Add(time.Hour), start.Add(time.Hour)}}
		server := w.newServer()
		server.age = m.Refresh - time.Second
		w.now.Set(start.Add(-lead + m.Refresh - 2*time.Second)) // the ring is from one second before the key
		if _, err := server.keys.Keys(context.Background()); err != nil {
			return err
		}
		w.now.Set(w.now.Now().Add(m.MaxAge - 1)) // the last moment at which the set is fresh
		if w.now.Now().Before(start) {
			w.now.Set(start)
		}
		raw, err := w.sign(0)
		if err != nil {
			return err
		}
		_, err = server.Verify(context.Background(), raw, w.now.Now())
		return err
	}
	require.NoError(t, late(m.Lead()))
	require.NoError(t, late(m.Lead()-2*time.Second))
	require.ErrorIs(t, late(m.Lead()-2*time.Second-1), UnknownKey)
}

// The worst case for the overlap: a rotation is forced just after a replica has read the table, and the replica cannot
// read it again and signs with the old key until its ring is stale. The last such token is verified in its last second
// by a server that fetches the set then.
func TestOverlapIsTight(t *testing.T) {
	t.Parallel()
	m := Margins{MaxAge: 10 * time.Minute, Refresh: 30 * time.Second, TokenTTL: 2 * time.Minute, MaxStale: time.Minute}
	late := func(overlap time.Duration) error {
		w := newSimulation(m, m.Lead(), overlap)
		keys, err := someKeys()
		require.NoError(t, err)
		w.turns = []turn{
			{keys[0], start.Add(-99 * time.Hour), start.Add(time.Hour), start},
			{keys[1], start.Add(-99 * time.Hour), start.Add(99 * time.Hour), start.Add(99 * time.Hour)},
		}
		w.now.Set(start.Add(m.MaxStale - 1))
		raw, err := w.sign(m.MaxStale)
		if err != nil {
			return err
		}
		server := w.newServer()
		w.now.Set(start.Add(m.MaxStale + m.TokenTTL - time.Second))
		_, err = server.Verify(context.Background(), raw, w.now.Now())
		return err
	}
	require.NoError(t, late(m.Overlap()))
	require.ErrorIs(t, late(m.Overlap()-time.Second), UnknownKey)
}
