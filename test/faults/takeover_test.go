package faults

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// crowdedQueue is an installation with many profiles, beside many tickets of players who suit nobody.
type crowdedQueue struct {
	*rig

	store             *storetest.DB
	profiles, tickets int
}

// Whatever waits, the first match is made within two seconds after a worker was killed, and each profile decides within
// five: where another worker takes over, and where the only one is started again. Pins loops that adopted for ever.
// DIRECTOR_TEST_TAKEOVER=full makes it 1,000 profiles and 200,000 tickets, which takes four minutes.
//
//nolint:paralleltest // it needs the machine for itself
func TestATakeoverIsBounded(t *testing.T) {
	profiles, tickets := 100, 10_000
	if os.Getenv("DIRECTOR_TEST_TAKEOVER") == "full" {
		profiles, tickets = 1000, 200_000
	}
	for name, profileOf := range map[string]func(i int) int{
		"spread over all profiles": func(i int) int { return i % profiles },
		"all in one of them":       func(int) int { return 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := &crowdedQueue{rig: newRig(t), profiles: profiles, tickets: tickets}
			c.fill(profileOf)
			worker := c.StartProcess("work")
			c.AwaitTrue("SELECT count(*) = $1 FROM profile_owners o JOIN loop_workers w ON w.id = o.worker AND w.lease_until > now()", c.profiles)
			c.matchEach(c.now())
			c.takeover("the only one is killed and started again", func() {
				worker.Process.Kill()
				worker = c.StartProcess("work")
			})
			standby := c.StartProcess("work")
			c.AwaitTrue("SELECT count(*) = 2 FROM loop_workers WHERE lease_until > now()")
			c.takeover("another one takes over", worker.Process.Kill)
			c.takeover("the only one is stopped and started again", func() {
				require.NoError(t, standby.Process.Signal(syscall.SIGTERM))
				<-standby.Process.Done()
				c.StartProcess("work")
			})
			c.RequireInvariants()
		})
	}
}

// fill applies the profiles and queues the tickets.
func (c *crowdedQueue) fill(profileOf func(i int) int) {
	c.T.Helper()
	c.ServeReplica()
	c.KeepAlive(time.Second, "host")
	c.store = storetest.OnDatabase(c.T, c.Cluster.URL("postgres"))
	for i := range c.profiles {
		c.store.AddProfile(fmt.Sprint("duel-", i), storetest.Duel)
	}
	c.store.CopyPlayers(c.tickets, time.Now(), func(i int) ticketbody.Draft {
		return storetest.SkilledDraft(float64(10_000+1000*i), fmt.Sprint("duel-", profileOf(i)))
	})
	c.ExecSQL("VACUUM ANALYZE tickets")
}

// takeover ends a worker, queues two players for each profile, who match, and requires the promise.
func (c *crowdedQueue) takeover(how string, end func()) {
	c.T.Helper()
	ended := c.now()
	end()
	first, each := c.matchEach(ended)
	c.T.Logf("%s: %d profiles, %d tickets: first match %s, each profile %s", how, c.profiles, c.tickets, first, each)
	require.LessOrEqual(c.T, first, 2*time.Second, how)
	require.LessOrEqual(c.T, each, 5*time.Second, how)
}

// matchEach queues two players for each profile and waits until all have a match. It returns how long after a moment
// the first match and the first match of the last profile were committed.
func (c *crowdedQueue) matchEach(from time.Time) (first, each time.Duration) {
	c.T.Helper()
	c.store.CopyPlayers(2*c.profiles, time.Now(), func(i int) ticketbody.Draft {
		return storetest.SkilledDraft(1000, fmt.Sprint("duel-", i/2))
	})
	c.AwaitTrue("SELECT count(DISTINCT profile) = $1 FROM match_history WHERE decided_at > $2", c.profiles, from)
	firsts := one[[]time.Time](c.rig, `SELECT array_agg(at ORDER BY at) FROM (
		SELECT min(committed_at) AS at FROM match_history WHERE decided_at > $1 GROUP BY profile) m`, from)
	return firsts[0].Sub(from), firsts[len(firsts)-1].Sub(from)
}

func (c *crowdedQueue) now() time.Time { return one[time.Time](c.rig, "SELECT clock_timestamp()") }
