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

// Heartbeats are at most a third of the lease apart, with jitter, so that a fleet's heartbeats do not coincide.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		start := time.Now()
		w.serve(func(o *sdk.ServerOptions) {
			o.Load = func() float64 { return time.Since(start).Minutes() }
			o.FleetToken = "fleet-secret-0123456789"
		})
		advance(10 * time.Minute)
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

// A load of 0/0 must not stop the heartbeats: JSON has no NaN.
func TestImpossibleLoadIsLeftOut(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		var zero float64
		w.serve(func(o *sdk.ServerOptions) { o.Load = func() float64 { return zero / zero } })
		advance(time.Minute)
		require.Greater(t, w.count("/fleet/heartbeat"), 10)
		require.Nil(t, field(t, w.to("/fleet/heartbeat")[0], "load"))
	})
}

// A server whose lease expired registers again with the same boot id; its admissions end, and it is still draining.
func TestRegistersAgainWhenTheLeaseExpired(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		require.NoError(t, s.Drain(t.Context(), true))
		w.director.Expire("arena-1")
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSessionLost)
		advance(time.Minute)
		require.True(t, w.director.Instances()["arena-1"].Draining)
		registers := w.to("/fleet/register")
		require.Len(t, registers, 2)
		require.Equal(t, field(t, registers[0], "boot_id"), field(t, registers[1], "boot_id"))
		alice.Leave()
		require.NoError(t, s.Drain(t.Context(), false))
		require.False(t, w.director.Instances()["arena-1"].Draining)
		require.Zero(t, len(w.to("/fleet/seats"))-1, "nothing is reported for sessions that have ended")
		require.NoError(t, s.Err())
	})
}

// Two processes with one id must not supersede each other in turn: the older one ends and never registers again.
func TestSupersededServerNeverRegistersAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		old := w.serve()
		alice, err := old.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		newer := w.serve()
		<-old.Done()
		require.ErrorIs(t, old.Err(), sdk.ErrSuperseded)
		<-alice.Done()
		require.ErrorIs(t, alice.Err(), sdk.ErrSuperseded)
		alice.Leave()
		_, err = old.Admit(t.Context(), w.token("bob").SessionToken)
		require.ErrorIs(t, err, sdk.ErrSuperseded)
		advance(time.Hour)
		require.ErrorIs(t, old.Shutdown(t.Context()), sdk.ErrSuperseded)
		require.Len(t, w.to("/fleet/register"), 3, "one of the older server, two of the newer one, which learned from the first which incarnation it replaces")
		require.Empty(t, w.to("/fleet/deregister"), "that would end the newer one")
		require.NoError(t, newer.Err())
	})
}

// The director is unreachable for longer than a lease. It keeps the sessions; the game server must keep them too, and
// send a heartbeat soon after the outage.
func TestOutageOf30Seconds(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		seat := w.token("bob")
		w.inject(cut)
		advance(30 * time.Second)
		require.LessOrEqual(t, w.count(""), 60, "retries must not become a storm")
		w.inject(nil)
		healed := time.Now()
		_, err = s.Admit(t.Context(), seat.SessionToken)
		require.NoError(t, err, "the keys are cached, the report is retried")
		advance(6 * time.Second)
		beats := w.to("/fleet/heartbeat")
		require.Less(t, beats[len(beats)-1].at.Sub(healed), 6*time.Second)
		require.NoError(t, s.Err())
		require.NoError(t, alice.Err())
		require.Len(t, w.to("/fleet/register"), 1)
	})
}

// An operator's mistake (a fleet token changed too early) must not end a server that has players.
func TestHeartbeatsContinueAfterRefusals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		for _, status := range []int{401, 403, 500, 400} {
			w.inject(answer(status, "unauthorized"))
			advance(time.Minute)
		}
		w.inject(nil)
		advance(6 * time.Second)
		require.NoError(t, s.Err())
	})
}

// While a registration with a lost answer is being retried, the director refuses other calls with the old incarnation
// as superseded: by this server's own registration, which must not end it.
func TestOwnRegistrationDoesNotSupersede(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.director.Expire("arena-1")
		w.inject(on("/fleet/register", func(x exchange, forward func() *http.Response) (*http.Response, error) {
			if len(w.to("/fleet/register")) > 8 {
				return nil, errNoFault
			}
			return lost(x, forward)
		}))
		alice.Leave() // Its report is refused; the registration that follows takes about 10 s.
		advance(time.Second)
		require.NoError(t, s.Drain(t.Context(), true), "it waits for the registration, which reports the draining")
		require.True(t, w.director.Instances()["arena-1"].Draining)
		advance(time.Minute)
		require.NoError(t, s.Err())
		require.Len(t, w.to("/fleet/register"), 9)
	})
}

// A deregistration that overtakes a registration would leave an ended server registered for a lease.
func TestCloseWaitsForARegistrationInFlight(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		w.director.Expire("arena-1")
		registering := make(chan struct{})
		w.inject(on("/fleet/register", once(func(exchange, func() *http.Response) (*http.Response, error) {
			close(registering)
			advance(3 * time.Second)
			return nil, errNoFault
		})))
		<-registering
		require.NoError(t, s.Close(t.Context()))
		require.Empty(t, w.director.Instances())
	})
}

// Close sends the remaining reports and then deregisters; a deregistration whose answer was lost counts as done.
func TestCloseFlushesThenDeregisters(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		bob, err := s.Admit(t.Context(), w.token("bob").SessionToken)
		require.NoError(t, err)
		w.inject(once(lost))
		alice.Leave()
		require.NoError(t, s.Close(t.Context()))
		require.Equal(t, []string{"/fleet/seats", "/fleet/seats", "/fleet/deregister"}, paths(w.to(""))[len(paths(w.to("")))-3:])
		require.ErrorIs(t, s.Err(), sdk.ErrClosed)
		require.ErrorIs(t, bob.Err(), sdk.ErrClosed)
		_, err = s.Admit(t.Context(), "any")
		require.ErrorIs(t, err, sdk.ErrClosed)
		require.NoError(t, s.Close(t.Context()))
		sent := w.count("")
		advance(time.Minute)
		require.Equal(t, sent, w.count(""), "the heartbeats have stopped")
	})
	t.Run("with a lost answer to deregister", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, w *wire) {
			s := w.serve()
			w.inject(on("/fleet/deregister", once(lost)))
			require.NoError(t, s.Close(t.Context()))
			require.Equal(t, 2, w.count("/fleet/deregister"))
		})
	})
}

// While the director is unreachable, Close returns when its context ends, and leaves no goroutine behind.
func TestCloseWithoutDirector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
		require.NoError(t, err)
		w.inject(cut)
		alice.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
		require.ErrorIs(t, s.Err(), sdk.ErrClosed)
	})
}

// A heartbeat that arrives after the deregistration must not register the server again.
func TestHeartbeatAfterDeregisterDoesNotRegister(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		s := w.serve()
		gone := make(chan struct{})
		w.inject(func(x exchange, forward func() *http.Response) (*http.Response, error) {
			switch x.path {
			case "/fleet/heartbeat":
				<-gone
			case "/fleet/deregister":
				resp := forward()
				close(gone)
				advance(time.Second)
				return resp, nil
			}
			return nil, errNoFault
		})
		advance(6 * time.Second)
		require.NoError(t, s.Close(t.Context()))
		require.Len(t, w.to("/fleet/register"), 1)
		require.Empty(t, w.director.Instances())
	})
}

// Shutdown drains first, waits for the players, and deregisters last.
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
			require.NoError(t, err, "a draining server still admits players who have a seat")
			bob.Leave()
		})
		require.NoError(t, s.Shutdown(t.Context()))
		sent := paths(w.to("")[before:])
		require.Equal(t, "/fleet/drain", sent[0])
		require.Equal(t, []string{"/fleet/seats", "/fleet/deregister"}, sent[len(sent)-2:])
		require.Contains(t, sent, "/fleet/heartbeat", "the lease is renewed meanwhile")
	})
}

// Players who do not leave must not delay Shutdown beyond its context.
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

// Invalid options must fail at start, and not only in a log hours later.
func TestStartFailsAtOnceOnRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWire(t, sdktest.Options{FleetToken: "right"})
		opts := sdk.ServerOptions{InstanceID: "a", Endpoint: endpoint, Region: "eu", Modes: []string{"duel"}, Capacity: 8}
		_, err := sdk.Start(t.Context(), w.client(), opts)
		require.ErrorIs(t, err, sdk.ErrUnauthorized)
		require.Equal(t, 1, w.count(""))
		w.inject(answer(400, "invalid_request"))
		_, err = sdk.Start(t.Context(), w.client(), opts)
		require.ErrorIs(t, err, sdk.ErrInvalid)
	})
}

// Game servers often start before the director does.
func TestStartWaitsForTheDirector(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(cut)
		time.AfterFunc(time.Minute, func() { w.inject(nil) })
		start := time.Now()
		w.serve()
		require.Less(t, time.Since(start), 66*time.Second)
	})
}

// A platform stops a process with SIGTERM. The test uses the real clock, because signals do not work in a bubble.
func TestSIGTERM(t *testing.T) {
	t.Parallel()
	w := newWire(t, sdktest.Options{})
	s := w.serve()
	alice, err := s.Admit(t.Context(), w.token("alice").SessionToken)
	require.NoError(t, err)
	w.inject(on("/fleet/drain", func(exchange, func() *http.Response) (*http.Response, error) {
		alice.Leave()
		return nil, errNoFault
	}))
	result := make(chan error, 1)
	go func() { result <- s.RunUntilSignal(context.Background(), time.Minute) }()
	// It also handles SIGTERM itself, and never stops: a signal outside the time in which RunUntilSignal handles them would
	// end the test's process.
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, syscall.SIGTERM)
	for ended := false; !ended; {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
		select {
		case <-seen:
		case err := <-result:
			require.NoError(t, err)
			ended = true
		}
	}
	require.Equal(t, []string{"/fleet/drain", "/fleet/seats", "/fleet/deregister"},
		paths(w.to(""))[len(paths(w.to("")))-3:])
}
