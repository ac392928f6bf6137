package edgegap_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// Pins a second server after an answer that did not say whether the first exists, and a row that waits for a server
// that cannot.
func TestDeployKinds(t *testing.T) {
	t.Parallel()
	for fault, want := range map[edgegaptest.Fault]struct {
		kind  provider.Kind
		alive int
	}{
		edgegaptest.CutBefore:         {provider.Ambiguous, 0},
		edgegaptest.TooMany:           {provider.RateLimited, 0},
		edgegaptest.TooManyRetryAfter: {provider.RateLimited, 0},
		edgegaptest.Refuse:            {provider.Ambiguous, 0},
		edgegaptest.Proxy404:          {provider.Permanent, 0},
		edgegaptest.Redirect:          {provider.Ambiguous, 0},
		edgegaptest.LoseAnswer:        {provider.Ambiguous, 1},
		edgegaptest.Fail500:           {provider.Ambiguous, 1},
		edgegaptest.NotJSON:           {provider.Ambiguous, 1},
		edgegaptest.NoID:              {provider.Ambiguous, 1},
		edgegaptest.Huge:              {provider.Ambiguous, 1},
		edgegaptest.InError:           {provider.Capacity, 1},
		edgegaptest.Echo:              {provider.Permanent, 0},
	} {
		e := start(t, edgegaptest.Options{})
		p := e.client(t, fast)
		e.QueueFaults("deploy", fault)
		_, err := p.Deploy(t.Context(), spec())
		require.Error(t, err)
		require.Equal(t, want.kind, provider.KindOf(err), "fault %d: %v", fault, err)
		require.Equal(t, want.alive, e.AliveCount(), "fault %d", fault)
		require.Equal(t, 1, e.Calls("deploy"), "fault %d", fault)
		require.NotContains(t, err.Error(), key)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// Pins matches that end because a proxy, and not the API, has answered 404; and reads that are taken for the truth.
func TestReadKinds(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	o, err := p.Deploy(t.Context(), spec())
	require.NoError(t, err)
	for _, fault := range []edgegaptest.Fault{
		edgegaptest.CutBefore, edgegaptest.Refuse, edgegaptest.Proxy404, edgegaptest.Redirect,
		edgegaptest.LoseAnswer, edgegaptest.Fail500, edgegaptest.NotJSON, edgegaptest.NoID, edgegaptest.Huge,
	} {
		for _, op := range []string{"get", "list"} {
			e.QueueFaults(op, fault, fault, fault) // the transport repeats a read whose connection broke
		}
		_, err := p.Get(t.Context(), o.Ref)
		require.Equal(t, provider.Transient, provider.KindOf(err), "get, fault %d: %v", fault, err)
		_, err = provider.ListAll(t.Context(), p, "ld-test")
		require.Equal(t, provider.Transient, provider.KindOf(err), "list, fault %d: %v", fault, err)
		e.Drain()
	}
	e.QueueFaults("stop", edgegaptest.Proxy404)
	require.Equal(t, provider.Transient, provider.KindOf(p.Stop(t.Context(), o.Ref, 0)))
	require.Equal(t, 1, e.AliveCount())
}

// Pins a deployment in error that nobody stops, and one that its provider calls failed but running.
func TestInError(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	e.QueueFaults("deploy", edgegaptest.InError)
	_, err := p.Deploy(t.Context(), spec())
	var failed *provider.Error
	require.ErrorAs(t, err, &failed)
	require.NotEmpty(t, failed.Ref)
	o, err := p.Get(t.Context(), failed.Ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseFailed, o.Phase)
	require.Contains(t, o.Error, "No capacity")
	require.NoError(t, p.Stop(t.Context(), failed.Ref, 0))
	require.Eventually(t, func() bool { return e.AliveCount() == 0 }, 5*time.Second, 5*time.Millisecond)
}

// Pins calls that continue after a 429.
func TestPause(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	e.QueueFaults("deploy", edgegaptest.TooManyRetryAfter)
	_, err := p.Deploy(t.Context(), spec())
	var limited *provider.Error
	require.ErrorAs(t, err, &limited)
	require.Equal(t, 7*time.Second, limited.RetryAfter)
	_, err = p.Deploy(t.Context(), spec())
	require.ErrorAs(t, err, &limited)
	require.Equal(t, provider.RateLimited, limited.Kind)
	require.InDelta(t, 7, limited.RetryAfter.Seconds(), 1)
	require.Equal(t, 1, e.Calls("deploy"), "the second call was not made")
	_, err = p.List(t.Context(), "ld-test", "")
	require.NoError(t, err, "another class has its own limit")
}

// Pins a client that exceeds the limits of the API under load: others of the organisation would be refused, too.
func TestRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // in its own time, so that calls are counted when they are made, not when a busy machine makes them
		fake := edgegaptest.New(edgegaptest.Options{Rates: provider.Rates{Deploy: 40, Get: 20, List: 10}})
		defer fake.Close()
		p, err := edgegap.New(edgegap.Config{Token: key, URL: "http://edgegap.example", Transport: inProcess{fake}})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 1499*time.Millisecond)
		defer cancel()
		outcomes := make(chan error, 200)
		for range cap(outcomes) {
			go func() {
				_, err := p.Get(ctx, "abcdef")
				outcomes <- err
			}()
		}
		done := 0
		for range cap(outcomes) {
			err := <-outcomes
			if err == nil {
				done++
				continue
			}
			require.Equal(t, provider.RateLimited, provider.KindOf(err), "%v", err)
		}
		require.Zero(t, fake.Violations())
		require.Equal(t, 4+23, done, "a burst of a quarter of a second, and then 16 a second")
	})
}

// Pins calls that waited for their turn when the API asked for a pause, and were made in it.
func TestCallsThatWaitAreNotMadeInAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := edgegaptest.New(edgegaptest.Options{})
		defer fake.Close()
		p, err := edgegap.New(edgegap.Config{Token: key, URL: "http://edgegap.example", Transport: inProcess{fake},
			Rates: provider.Rates{Get: 1}})
		require.NoError(t, err)
		_, err = p.Get(t.Context(), "abcdef")
		require.NoError(t, err)
		fake.QueueFaults("get", edgegaptest.TooManyRetryAfter)
		// One a second: all but the first still wait when the API answers.
		outcomes := make(chan error, 5)
		for range cap(outcomes) {
			go func() {
				_, err := p.Get(t.Context(), "abcdef")
				outcomes <- err
			}()
		}
		for range cap(outcomes) {
			err := <-outcomes
			require.Equal(t, provider.RateLimited, provider.KindOf(err), "%v", err)
		}
		require.Equal(t, 2, fake.Calls("get"))
	})
}

// inProcess answers requests by a handler, without a network.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// Pins a nearly complete list that is taken for a complete one.
func TestListOverPages(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{PageSize: 3})
	p := e.client(t, fast)
	for range 10 {
		_, err := p.Deploy(t.Context(), spec())
		require.NoError(t, err)
	}
	e.Leak("somebody-else")
	all, err := provider.ListAll(t.Context(), p, "ld-test")
	require.NoError(t, err)
	require.Len(t, all, 10)
	require.Equal(t, 4, e.Calls("list"))
	e.QueueFaults("list", edgegaptest.None, edgegaptest.None, edgegaptest.Fail500)
	_, err = provider.ListAll(t.Context(), p, "ld-test")
	require.Error(t, err, "three pages of four are no list")
}

// Pins a deployment that the list shows later than Deploy's answer: Find alone does not prove that there is none.
func TestListLate(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{ListAfter: 300 * time.Millisecond})
	p := e.client(t, fast)
	s := spec()
	e.QueueFaults("deploy", edgegaptest.LoseAnswer)
	_, err := p.Deploy(t.Context(), s)
	require.Equal(t, provider.Ambiguous, provider.KindOf(err))
	found, err := p.Find(t.Context(), s.Owner, s.Tag)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Eventually(t, func() bool {
		found, err := p.Find(t.Context(), s.Owner, s.Tag)
		return err == nil && len(found) == 1
	}, 5*time.Second, 10*time.Millisecond)
}

// Pins a young server that is taken for gone because its status is known late.
func TestAServerThatIsNotKnownIsNotGone(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	o, err := p.Deploy(t.Context(), spec())
	require.NoError(t, err)
	e.QueueFaults("get", edgegaptest.NotKnown)
	for _, want := range []provider.Phase{provider.PhaseAbsent, provider.PhasePending} {
		got, err := p.Get(t.Context(), o.Ref)
		require.NoError(t, err)
		require.Equal(t, want, got.Phase)
	}
}

func TestUnknownStatusAndSpontaneousEnd(t *testing.T) {
	t.Parallel()
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	o, err := p.Deploy(t.Context(), spec())
	require.NoError(t, err)
	require.Equal(t, "s3cret-value-of-a-token", e.Env(string(o.Ref))["FLEET_TOKEN"])
	e.Say(string(o.Ref), "HIBERNATING")
	o, err = p.Get(t.Context(), o.Ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseUnknown, o.Phase)
	require.Equal(t, "HIBERNATING", o.Raw)
	e.End(string(o.Ref))
	o, err = p.Get(t.Context(), o.Ref)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseGone, o.Phase)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for _, cfg := range []edgegap.Config{{}, {Token: "token "}, {Token: "a\nb"}, {Token: "a", URL: "ftp://x"}, {Token: "a", URL: "https://user:secret@x"}} {
		_, err := edgegap.New(cfg)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	require.NoError(t, p.Check(t.Context(), "arena", "1.0"))
	require.ErrorContains(t, p.Check(t.Context(), "arena", "inactive"), "not active")
	require.ErrorContains(t, p.Check(t.Context(), "no/such", "1.0"), "no version")
	require.ErrorContains(t, p.Check(t.Context(), "..", "1.0"), "empty")
	require.Equal(t, 3, e.Calls("app"))
	other, err := edgegap.New(edgegap.Config{Token: "another-key-of-somebody", URL: e.url})
	require.NoError(t, err)
	err = other.Check(t.Context(), "arena", "1.0")
	require.Equal(t, provider.Permanent, provider.KindOf(err))
	_, err = other.Get(t.Context(), "abc")
	require.Equal(t, provider.Permanent, provider.KindOf(err), "a wrong key does not make a deployment gone: %v", err)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", other, other, other, err), "another-key")

	for field, spoil := range map[string]func(*provider.Spec){
		"version": func(s *provider.Spec) { s.Version = "" }, "hint": func(s *provider.Spec) { s.Hint = provider.Hint{} },
		"lifetime": func(s *provider.Spec) { s.Lifetime = 25 * time.Hour },
	} {
		s := spec()
		spoil(&s)
		_, err := p.Deploy(t.Context(), s)
		require.ErrorContains(t, err, field)
		require.Equal(t, provider.Permanent, provider.KindOf(err))
	}
	s := spec()
	s.Hint = provider.Hint{Coords: &provider.Coords{Latitude: 45.5, Longitude: -73.6}}
	s.Resources.CPUUnits, s.Resources.MemoryMiB = 512, 256
	_, err = p.Deploy(t.Context(), s)
	require.NoError(t, err)
	s.Hint = provider.Hint{Addr: netip.MustParseAddr("::ffff:192.0.2.1")}
	_, err = p.Deploy(t.Context(), s)
	require.NoError(t, err)
}

// Pins a Deploy that is Ambiguous although nothing was sent: its row would wait for the whole grace.
func TestNothingSent(t *testing.T) {
	t.Parallel()
	p, err := edgegap.New(edgegap.Config{Token: key, URL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = p.Deploy(t.Context(), spec())
	require.Equal(t, provider.Transient, provider.KindOf(err), "%v", err)
}

// Pins a deployment whose changes nobody hears of before the next poll.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	called := make(chan string, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.URL.Path }))
	t.Cleanup(receiver.Close)
	e := start(t, edgegaptest.Options{})
	p := e.client(t, fast)
	s := spec()
	s.Webhook = provider.Secret(receiver.URL + "/hooks/eu")
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, "/hooks/eu", <-called, "it is ready")
	e.End(string(o.Ref))
	require.Equal(t, "/hooks/eu", <-called, "it has ended")

	e.QueueFaults("deploy", edgegaptest.InError)
	_, err = p.Deploy(t.Context(), s)
	require.Equal(t, provider.Capacity, provider.KindOf(err))
	require.Equal(t, "/hooks/eu", <-called, "it failed")
}
