package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/bench/lab"
	"github.com/lattice-director/director/bench/realtime"
)

// storm is the return of the clients of a killed replica.
type storm struct {
	clients int
	joined  time.Duration   // until all had connected and joined their rooms for the first time
	back    []time.Duration // until each had the state of its room again
}

// stormLasts bounds the return of all clients.
const stormLasts = time.Minute

// killUnderClients lets clients join rooms at the first replica, kills it, and lets all of them resume at the second
// one at once.
func (b *testbed) killUnderClients(ctx context.Context, n int) (s storm, err error) {
	ctx, cancel := context.WithTimeout(ctx, stormLasts)
	defer cancel()
	s.clients = n
	urls := lab.RealtimeURLs(b.Replicas())
	crowd := realtime.NewCrowd("", n)
	defer crowd.Cut()
	began := time.Now()
	if err := crowd.Join(ctx, urls[:1]); err != nil {
		return s, err
	}
	s.joined = time.Since(began)
	b.options.say("a replica with %d clients is killed", n)
	b.Replicas()[0].Kill()
	s.back, err = crowd.Resume(ctx, urls[1])
	return s, err
}

func (s storm) findings() []Finding {
	took := s.back[len(s.back)-1].Seconds()
	return []Finding{
		noted(atMost(fmt.Sprintf("%s clients of a killed replica resume: until the last has the state of its room again", whole(s.clients)), took, 10, inSeconds),
			"%d handshakes at a time; no session was lost", realtime.Dialers),
		noted(atMost("the same, compared with connecting and joining for the first time", took/s.joined.Seconds(), 1,
			times), "%s", inSeconds(s.joined.Seconds())),
	}
}

func inSeconds(v float64) string { return fmt.Sprintf("%.1f s", v) }
