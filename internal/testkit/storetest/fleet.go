package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/match"
)

// Universe is the one of the tickets and profiles that a DB makes.
const Universe = "global"

// AddServer registers a game server of region eu for duels, with room for so many players. change may modify the
// registration.
func (d *DB) AddServer(id string, capacity int, change ...func(*db.Registration)) db.Registered {
	d.T.Helper()
	r := variant.Apply(db.Registration{
		InstanceID: id, Endpoint: id + ":7777", Region: "eu", Modes: []string{"duel"}, Capacity: capacity,
		BootID: "boot-1",
	}, change...)
	registered, err := d.Register(d.T.Context(), r)
	require.NoError(d.T, err)
	return registered
}

// InRegion is a change of AddServer: the server is in another region.
func InRegion(region string) func(*db.Registration) {
	return func(r *db.Registration) { r.Region = region }
}

// Duel is the document of a profile, without its name: two players whose skills are near.
const Duel = "mode: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: 100}]\n"

// AddProfile makes a document, which does not name it, the live version of a profile.
func (d *DB) AddProfile(name, document string) {
	d.T.Helper()
	d.AddProfileTo(Universe, name, document)
}

// AddProfileTo is AddProfile in another universe.
func (d *DB) AddProfileTo(universe, name, document string) {
	d.T.Helper()
	_, err := d.ApplyProfile(d.T.Context(), db.ProfileEdit{Region: universe, Author: "test"},
		[]byte("name: "+name+"\n"+document), false)
	require.NoError(d.T, err)
}

// QueuePlayer queues one player with a skill for profiles, and returns the ticket.
func (d *DB) QueuePlayer(sub string, skill float64, profiles ...string) (ticket string) {
	d.T.Helper()
	return d.QueuePlayerIn(Universe, sub, skill, profiles...)
}

// QueuePlayerIn is QueuePlayer in another universe.
func (d *DB) QueuePlayerIn(universe, sub string, skill float64, profiles ...string) (ticket string) {
	d.T.Helper()
	draft := ticketbody.Draft{
		Profiles: profiles, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}},
		Players: []match.Player{{Sub: sub}},
	}
	prepared, err := ticketbody.Prepare(draft)
	require.NoError(d.T, err)
	created, err := d.CreatePlayerTicket(d.T.Context(), universe, db.PlayerTicketRequest{
		Caller: sub, Party: []string{sub}, ProfileNames: profiles, SearchFields: ticketbody.Fields(draft),
		EncodeBody: prepared.Body,
		TTL:        time.Hour, RequestHash: []byte(sub),
	})
	require.NoError(d.T, err)
	return created.ID
}

// AgeHeartbeats makes the last heartbeat of a game server older, with the amnesty ended, so that its lease may have
// expired.
func (d *DB) AgeHeartbeats(instance string, by time.Duration) {
	d.T.Helper()
	d.EndAmnesty()
	d.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - $2::interval WHERE instance_id = $1", instance, by)
}
