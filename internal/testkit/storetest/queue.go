package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
)

// Universe is where a DB makes tickets and profiles, unless a method takes another universe.
const Universe = "global"

// Duel is the document of a profile, without its name, of matches of two players whose skills are near.
const Duel = "mode: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: 100}]\n"

// AddProfile makes a document the live version of a profile. The document is without the profile's name.
func (d *DB) AddProfile(name, document string) {
	d.T.Helper()
	d.AddProfileTo(Universe, name, document)
}

// AddProfileTo is [DB.AddProfile] in another universe.
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

// QueuePlayerIn is [DB.QueuePlayer] in another universe.
func (d *DB) QueuePlayerIn(universe, sub string, skill float64, profiles ...string) (ticket string) {
	d.T.Helper()
	return d.QueueDraft(universe, SkilledDraft(skill, profiles...), sub)
}

// SkilledDraft returns the draft of a ticket for profiles, whose players have a skill.
func SkilledDraft(skill float64, profiles ...string) ticketbody.Draft {
	return ticketbody.Draft{Profiles: profiles, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}}}
}

// QueueDraft queues a party for the first of its players, and returns the ticket.
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

// CopyPlayers inserts n tickets of one player each into the queue of [Universe] by COPY, in much less time than players
// would take to queue, and past the limits on players. The i-th ticket is created i microseconds after first, from
// draftOf(i).
func (d *DB) CopyPlayers(n int, first time.Time, draftOf func(i int) ticketbody.Draft) {
	d.T.Helper()
	rows := make([][]any, n)
	for i := range rows {
		id, created := d.NewTicketID(Universe), first.Add(time.Duration(i)*time.Microsecond)
		ticket := draftOf(i)
		ticket.Players = []match.Player{{Sub: "player-" + id}}
		body, err := ticketbody.Encode(id, created, ticket)
		require.NoError(d.T, err)
		rows[i] = []any{Universe, id, created.UnixNano(), []uuid.UUID{}, []uuid.UUID{}, []float64{}, body}
	}
	columns := []string{"region", "id", "created", "terms", "double_keys", "doubles", "body"}
	_, err := d.Pool().CopyFrom(d.T.Context(), pgx.Identifier{"tickets"}, columns, pgx.CopyFromRows(rows))
	require.NoError(d.T, err)
}
