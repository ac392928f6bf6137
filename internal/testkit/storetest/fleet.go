package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/variant"
)

// AddServer registers a game server of region eu for duels, with room for so many players. changes are made to the
// registration before.
func (d *DB) AddServer(id string, capacity int, changes ...func(*db.Registration)) db.Registered {
	d.T.Helper()
	r := variant.Apply(db.Registration{
		InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: capacity,
		BootID: "boot-1",
	}, changes...)
	registered, err := d.Register(d.T.Context(), r)
	require.NoError(d.T, err)
	return registered
}

// InRegion is a change for [DB.AddServer]: the server is in another region.
func InRegion(region string) func(*db.Registration) {
	return func(r *db.Registration) { r.Region = region }
}

// AgeHeartbeats makes the last heartbeat of a game server older, and ends the amnesty, so that the server's lease may
// have expired.
func (d *DB) AgeHeartbeats(instance string, by time.Duration) {
	d.T.Helper()
	d.EndAmnesty()
	d.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - $2::interval WHERE instance_id = $1", instance, by)
}
