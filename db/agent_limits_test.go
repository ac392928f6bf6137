package db_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins a bug: public ids were too long for an index, after percent-encoding and with the process and agent ids in
// front.
func TestTheLongestRoomIDsAreStored(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	var long strings.Builder // random text, which an index cannot compress
	for range 256 {
		long.WriteRune(rune(0x4e00 + rand.IntN(0x5000)))
	}
	for i := range 3 {
		j := r.process(replica, "eu0", local(long.String()), local(strings.Repeat("\x00", 256)))
		j.Content.ProcessUID = strings.Repeat("p", 64)
		r.join(j)
		require.Len(t, r.rooms(j.Ref), 2, "agent %d", i)
	}
	require.Equal(t, 64+1+16+1+9*256, one[int](r.bundle, "SELECT max(length(id)) FROM rooms"))
}

// Pins a bug: a snapshot with the maximum number of rooms timed out, or delayed the other agents of its replica.
func TestASnapshotOfTheMostRooms(t *testing.T) {
	t.Parallel()
	r := setupAgents(t)
	replica := r.beginReplica()
	j := r.process(replica, "eu0")
	for n := range 50_000 {
		j.ReportedRooms = append(j.ReportedRooms, local(fmt.Sprintf("räume/%d", n)))
	}
	start := time.Now()
	r.join(j)
	t.Log("joined in", time.Since(start))
	j.ReportedRooms = j.ReportedRooms[:25_000]
	start = time.Now()
	r.join(j)
	t.Log("joined again in", time.Since(start))
	require.Equal(t, 25_000, one[int](r.bundle, "SELECT count(*) FROM rooms"))
	r.requireCounted()
	start = time.Now()
	require.NoError(t, r.LeaveAgent(t.Context(), j.Ref))
	t.Log("left in", time.Since(start))
	r.requireCounted()
}
