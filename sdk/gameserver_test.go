package sdk_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

func paths(sent []exchange) (all []string) {
	for _, x := range sent {
		if x.method == http.MethodPost {
			all = append(all, x.path)
		}
	}
	return all
}

func field(t *testing.T, x exchange, name string) any {
	var body map[string]any
	require.NoError(t, json.Unmarshal([]byte(x.body), &body))
	return body[name]
}

// Heartbeats must come at least every third of the lease, and must not come from a whole fleet in one instant.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		start := time.Now()
		w.serve(func(o *sdk.ServerOptions) {
			o.Load = func() float64 { return time.Since(start).Minutes() }
			o.FleetToken = "fleet-secret-0123456789"
		})
		pass(10 * time.Minute)
		beats := w.to("/fleet/heartbeat")
		require.GreaterOrEqual(t, len(beats), 120)
		require.LessOrEqual(t, len(beats), 150)
		pauses := map[time.Duration]bool{}
		for i := 1; i < len(beats); i++ {
			pause := beats[i].at.Sub(beats[i-1].at)
			require.LessOrEqual(t, pause, 5*time.Second)
			pauses[pause] = true
		}
		require.Greater(t, len(pauses), 100)
		require.InDelta(t, 10, w.director.Instances()["arena-1"].Load, 0.1)
		require.Equal(t, "fleet-secret-0123456789", beats[0].header.Get("X-Fleet-Token"))
		register := w.to("/fleet/register")[0]
		require.Equal(t, true, field(t, register, "reports_seats"))
		require.NotEmpty(t, field(t, register, "boot_id"))
		require.InDelta(t, 0, field(t, register, "load"), 0)
	})
}

// A load the game cannot compute (0/0) must not stop the heartbeats: JSON has no NaN.
func TestImpossibleLoadIsLeftOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		var zero float64
		w.serve(func(o *sdk.ServerOptions) { o.Load = func() float64 { return zero / zero } })
		pass(time.Minute)
		require.Greater(t, w.count("/fleet/heartbeat"), 10)
		require.Nil(t, field(t, w.to("/fleet/heartbeat")[0], "load"))
	})
}

// A forgotten server comes back by itself, as the same process; its players hear that their sessions are gone, and a
// drain asked for before still counts.
func TestRegistersAgainWhenForgotten(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		require.NoError(t, s.Drain(t.Context(), true))
		w.director.Expire("arena-1")
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSessionLost)
		pass(time.Minute)
		require.True(t, w.director.Instances()["arena-1"].Draining)
		registers := w.to("/fleet/register")
		require.Len(t, registers, 2)
		require.Equal(t, field(t, registers[0], "boot_id"), field(t, registers[1], "boot_id"))
		alice.Leave()
		require.NoError(t, s.Drain(t.Context(), false))
		require.False(t, w.director.Instances()["arena-1"].Draining)
		require.Zero(t, len(w.to("/fleet/seats"))-1, "nothing is reported for sessions that are gone")
		require.NoError(t, s.Err())
	})
}

// Two processes under one id must not take turns in throwing each other out: the older one stops, for good.
func TestSupersededStopsForGood(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		old := w.serve()
		alice, err := old.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		young := w.serve()
		<-old.Done()
		require.ErrorIs(t, old.Err(), sdk.ErrSuperseded)
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSuperseded)
		alice.Leave()
		_, err = old.Admit(t.Context(), w.token("bob").SessionToken)
		require.ErrorIs(t, err, sdk.ErrSuperseded)
		pass(time.Hour)
		require.ErrorIs(t, old.Shutdown(t.Context()), sdk.ErrSuperseded)
		require.Len(t, w.to("/fleet/register"), 3, "one of the older, two of the younger, which learned from the first whose place it takes")
		require.Empty(t, w.to("/fleet/deregister"), "that would end the younger one")
		require.NoError(t, young.Err())
	})
}

// The director is away for longer than a lease. Its amnesty keeps the sessions; the game server must keep them too, and
// be heard again soon after.
func TestOutageOf30Seconds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		seat := w.token("bob")
		w.spoil(cut)
		pass(30 * time.Second)
		require.LessOrEqual(t, w.count(""), 60, "an outage must not end in a storm")
		w.spoil(nil)
		healed := time.Now()
		_, err = s.Admit(t.Context(), seat.SessionToken)
		require.NoError(t, err, "keys are cached, the report is repeated")
		pass(6 * time.Second)
		beats := w.to("/fleet/heartbeat")
		require.Less(t, beats[len(beats)-1].at.Sub(healed), 6*time.Second)
		require.NoError(t, s.Err())
		require.NoError(t, alice.Err())
		require.Len(t, w.to("/fleet/register"), 1)
	})
}

// A mistake of operators (a fleet token changed too early) must not end a server that has players.
func TestHeartbeatsGoOnThroughRefusals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		for _, status := range []int{401, 403, 500, 400} {
			w.spoil(answer(status, "unauthorized"))
			pass(time.Minute)
		}
		w.spoil(nil)
		pass(6 * time.Second)
		require.NoError(t, s.Err())
	})
}

// While a lost answer to a new registration is being repeated, whatever else is sent under the old incarnation is refused
// as superseded. That is about ourselves and must not stop the server.
func TestCrossingRegistrationsIsNotSuperseded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.director.Expire("arena-1")
		w.spoil(on("/fleet/register", func(x exchange, forward func() *http.Response) (*http.Response, error) {
			if len(w.to("/fleet/register")) > 8 {
				return nil, errNoFault
			}
			return lost(x, forward)
		}))
		alice.Leave() // Finds out, and registers for about ten seconds.
		pass(time.Second)
		require.NoError(t, s.Drain(t.Context(), true), "it waits and is carried along")
		require.True(t, w.director.Instances()["arena-1"].Draining)
		pass(time.Minute)
		require.NoError(t, s.Err())
		require.Len(t, w.to("/fleet/register"), 9)
	})
}

// A goodbye that overtakes a registration would leave a dead server in service for a lease.
func TestCloseWaitsForARegistrationInFlight(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.director.Expire("arena-1")
		registering := make(chan struct{})
		w.spoil(on("/fleet/register", once(func(exchange, func() *http.Response) (*http.Response, error) {
			close(registering)
			pass(3 * time.Second)
			return nil, errNoFault
		})))
		<-registering
		require.NoError(t, s.Close(t.Context()))
		require.Empty(t, w.director.Instances())
	})
}

// Close tells what there is to tell first; a goodbye whose answer was lost is a goodbye.
func TestCloseFlushesThenDeregisters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		bob, err := s.Admit(t.Context(), w.token("bob").SessionToken)
		require.NoError(t, err)
		w.spoil(once(lost))
		alice.Leave()
		require.NoError(t, s.Close(t.Context()))
		require.Equal(t, []string{"/fleet/seats", "/fleet/seats", "/fleet/deregister"}, paths(w.to(""))[len(paths(w.to("")))-3:])
		require.ErrorIs(t, s.Err(), sdk.ErrClosed)
		require.ErrorIs(t, bob.Err(), sdk.ErrClosed)
		_, err = s.Admit(t.Context(), "any")
		require.ErrorIs(t, err, sdk.ErrClosed)
		require.NoError(t, s.Close(t.Context()))
		sent := w.count("")
		pass(time.Minute)
		require.Equal(t, sent, w.count(""), "the heartbeats have stopped")
	})
	t.Run("with a lost goodbye", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			s := w.serve()
			w.spoil(on("/fleet/deregister", once(lost)))
			require.NoError(t, s.Close(t.Context()))
			require.Equal(t, 2, w.count("/fleet/deregister"))
		})
	})
}

// With the director away, Close gives up when its context says so and leaves no goroutine behind.
func TestCloseWithoutDirector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.spoil(cut)
		alice.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, s.Err(), sdk.ErrClosed)
	})
}

// A heartbeat that crosses the goodbye must not register the server again.
func TestHeartbeatAfterDeregisterDoesNotResurrect(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		gone := make(chan struct{})
		w.spoil(func(x exchange, forward func() *http.Response) (*http.Response, error) {
			switch x.path {
			case "/fleet/heartbeat":
				<-gone
			case "/fleet/deregister":
				resp := forward()
				close(gone)
				pass(time.Second)
				return resp, nil
			}
			return nil, errNoFault
		})
		pass(6 * time.Second)
		require.NoError(t, s.Close(t.Context()))
		require.Len(t, w.to("/fleet/register"), 1)
		require.Empty(t, w.director.Instances())
	})
}

// Shutdown drains first, lets players finish, and says goodbye last.
func TestShutdownOrder(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		seat, late := w.token("alice"), w.token("bob")
		alice, err := s.Admit(t.Context(), seat.SessionToken)
		require.NoError(t, err)
		before := w.count("")
		time.AfterFunc(40*time.Second, alice.Leave)
		time.AfterFunc(20*time.Second, func() {
			bob, err := s.Admit(context.Background(), late.SessionToken)
			require.NoError(t, err, "a draining server still takes who has a seat")
			bob.Leave()
		})
		require.NoError(t, s.Shutdown(t.Context()))
		sent := paths(w.to("")[before:])
		require.Equal(t, "/fleet/drain", sent[0])
		require.Equal(t, []string{"/fleet/seats", "/fleet/deregister"}, sent[len(sent)-2:])
		require.Contains(t, sent, "/fleet/heartbeat", "the lease is kept meanwhile")
	})
}

// Players who will not go must not keep a server that has to go.
func TestShutdownHasADeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		start := time.Now()
		require.NoError(t, s.Shutdown(ctx))
		require.Equal(t, 30*time.Second, time.Since(start))
		require.ErrorIs(t, alice.Err(), sdk.ErrClosed)
		require.Empty(t, w.director.Instances())
	})
}

// Wrong settings must be seen at start, not in a log hours later.
func TestStartFailsAtOnceOnRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, sdktest.Options{FleetToken: "right"})
		opts := sdk.ServerOptions{InstanceID: "a", Endpoint: endpoint, Region: "eu", Modes: []string{"duel"}, Capacity: 8}
		_, err := sdk.Start(t.Context(), w.client(), opts)
		require.ErrorIs(t, err, sdk.ErrUnauthorized)
		require.Equal(t, 1, w.count(""))
		w.spoil(answer(400, "invalid_request"))
		_, err = sdk.Start(t.Context(), w.client(), opts)
		require.ErrorIs(t, err, sdk.ErrInvalid)
	})
}

// Game servers often come up before the director does.
func TestStartWaitsForTheDirector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.spoil(cut)
		time.AfterFunc(time.Minute, func() { w.spoil(nil) })
		start := time.Now()
		w.serve()
		require.Less(t, time.Since(start), 66*time.Second)
	})
}

// What a platform does to stop a process, on a real clock because signals know no other.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	w := newWire(t, sdktest.Options{})
	s := w.serve()
	alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
	require.NoError(t, err)
	w.spoil(on("/fleet/drain", func(exchange, func() *http.Response) (*http.Response, error) {
		alice.Leave()
		return nil, errNoFault
	}))
	result := make(chan error, 1)
	go func() { result <- s.RunUntilSignal(context.Background(), time.Minute) }()
	terminate(t, result)
	require.Equal(t, []string{"/fleet/drain", "/fleet/seats", "/fleet/deregister"}, paths(w.to(""))[len(paths(w.to("")))-3:])
}

// terminate sends signals until the result is there, and listens to them itself for ever, because those that come before
// or after RunUntilSignal listens would end the test.
func terminate(t *testing.T, result <-chan error) {
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, syscall.SIGTERM)
	for {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		select {
		case <-seen:
		case err := <-result:
			require.NoError(t, err)
			return
		}
	}
}
