package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
	_, err := d.ApplyProfile(d.T.Context(), db.ProfileEdit{Universe: universe, Author: "test"},
		[]byte("name: "+name+"\n"+document))
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
	return d.QueueDraft(universe, Skilled(skill, profiles...), sub)
}

// Skilled is the draft of a ticket whose players have a skill.
func Skilled(skill float64, profiles ...string) ticketbody.Draft {
	return ticketbody.Draft{Profiles: profiles, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}}}
}

// QueueDraft queues a party, whose first player asks, and returns the ticket.
func (d *DB) QueueDraft(universe string, draft ticketbody.Draft, party ...string) (ticket string) {
	d.T.Helper()
	for _, sub := range party {
		draft.Players = append(draft.Players, match.Player{Sub: sub})
	}
	prepared, err := ticketbody.Prepare(draft)
	require.NoError(d.T, err)
	created, err := d.CreatePlayerTicket(d.T.Context(), universe, db.PlayerTicketRequest{
		Caller: party[0], Party: party, ProfileNames: draft.Profiles, SearchFields: ticketbody.Fields(draft),
		EncodeBody: prepared.Body,
		TTL:        time.Hour, RequestHash: []byte(party[0]),
	})
	require.NoError(d.T, err)
	return created.ID
}

// CopyPlayers copies n players, each alone, into the queue of Universe, a microsecond apart from a moment on: in much
// less time than they would queue, and without what limits players. draft is that of the player with a number.
func (d *DB) CopyPlayers(n int, from time.Time, draft func(i int) ticketbody.Draft) {
	d.T.Helper()
	rows := make([][]any, n)
	for i := range rows {
		id, created := d.NewTicketID(Universe), from.Add(time.Duration(i)*time.Microsecond)
		ticket := draft(i)
		ticket.Players = []match.Player{{Sub: "player-" + id}}
		body, err := ticketbody.Encode(id, created, ticket)
		require.NoError(d.T, err)
		rows[i] = []any{Universe, id, created.UnixNano(), []uuid.UUID{}, []uuid.UUID{}, []float64{}, body}
	}
	columns := []string{"region", "id", "created", "terms", "double_keys", "doubles", "body"}
	_, err := d.Pool().CopyFrom(d.T.Context(), pgx.Identifier{"tickets"}, columns, pgx.CopyFromRows(rows))
	require.NoError(d.T, err)
}

// AgeHeartbeats makes the last heartbeat of a game server older, with the amnesty ended, so that its lease may have
// expired.
func (d *DB) AgeHeartbeats(instance string, by time.Duration) {
	d.T.Helper()
	d.EndAmnesty()
	d.Exec("UPDATE instance_leases SET heartbeat_at = heartbeat_at - $2::interval WHERE instance_id = $1", instance, by)
}
