package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/lattice-director/director/db/query"
)

// eraseRows is a statement that erases rows, and returns how many it has changed or deleted.
type eraseRows func(q *query.Queries, ctx context.Context) (int64, error)

// historyBatch is about how many rows of history a transaction of an erasure changes at most.
const historyBatch = 2000

// statements returns the statements that erase all their rows at once, of which a player has a bounded number.
func (p erasedPlayer) statements() []eraseRows {
	return append(append(p.playerStatements(), p.matchStatements()...), p.lobbyStatements()...)
}

// playerStatements returns the statements that erase the player outside of matches and rooms.
func (p erasedPlayer) playerStatements() []eraseRows {
	player, key, regions := p.player, p.pass.row.Key, p.pass.regions
	type queries = *query.Queries
	return []eraseRows{
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseStoredPlayers(ctx, query.EraseStoredPlayersParams{Regions: regions, Player: player})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromAvoidLists(ctx, query.EraseFromAvoidListsParams{Regions: regions, Player: player})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseFromPartyLists(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseAvoids(ctx, query.EraseAvoidsParams{Regions: regions, Player: player})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseLatencies(ctx, query.EraseLatenciesParams{Regions: regions, Player: player})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseAdmissions(ctx, query.EraseAdmissionsParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseRefusals(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) { return q.EraseAnswers(ctx, player) },
	}
}

// matchStatements returns the statements that erase the player in matches that are not over.
func (p erasedPlayer) matchStatements() []eraseRows {
	player, key := p.player, p.pass.row.Key
	type queries = *query.Queries
	return []eraseRows{
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseReservations(ctx,
				query.EraseReservationsParams{Player: player, Key: key, Salt: p.pass.row.Salt, Regions: p.pass.regions})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseRedeemedTokens(ctx, query.EraseRedeemedTokensParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromEvacuations(ctx,
				query.EraseFromEvacuationsParams{Player: player, Key: key, Salt: p.pass.row.Salt})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseNetcodeTokens(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseMatchAnswers(ctx, query.EraseMatchAnswersParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromMatches(ctx, query.EraseFromMatchesParams{Player: player, Key: key})
		},
	}
}

// lobbyStatements returns the statements that erase the player in the realtime lobby, after forgetInRooms.
func (p erasedPlayer) lobbyStatements() []eraseRows {
	player, key := p.player, p.pass.row.Key
	type queries = *query.Queries
	return []eraseRows{
		func(q queries, ctx context.Context) (int64, error) { return q.EraseInboxes(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) { return q.EraseSentMessages(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) { return q.EraseBlocks(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) { return q.EraseInvitations(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromInvitations(ctx, query.EraseFromInvitationsParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromMembers(ctx, query.EraseFromMembersParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseSayings(ctx, player) },
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromPlaces(ctx, query.EraseFromPlacesParams{Player: player, Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			// Sessions stay in the logs: members that have not yet read that a session has left would keep it for ever.
			if player != p.pass.player() {
				return 0, nil
			}
			return q.EraseFromLobbyLog(ctx, query.EraseFromLobbyLogParams{Quoted: jsonQuoted(player), Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseWaiting(ctx, player) },
	}
}

// historyStatements returns the statements of history, each of which erases a batch of rows.
func (p erasedPlayer) historyStatements() []eraseRows {
	key, salt := p.pass.row.Key, p.pass.row.Salt
	return []eraseRows{
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseSeatHistory(ctx, query.EraseSeatHistoryParams{Player: p.player, Batch: historyBatch,
				Party: p.partyKey, Erasure: p.pass.row.ID, Salt: salt, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketEvents(ctx,
				query.EraseTicketEventsParams{Player: p.player, Batch: historyBatch, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketHistory(ctx,
				query.EraseTicketHistoryParams{Player: p.player, Batch: historyBatch, Key: key})
		},
		// History may have the hash instead of the name, whatever the setting is today: see historyHash.
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseTicketHistory(ctx,
				query.EraseTicketHistoryParams{Player: historyHash(p.player), Batch: historyBatch, Key: key})
		},
		func(q *query.Queries, ctx context.Context) (int64, error) {
			return q.EraseEvents(ctx, query.EraseEventsParams{Player: p.player, Batch: historyBatch, Key: key,
				Salt: salt})
		},
	}
}

// lastStatements returns the statements that follow those of history: letters are made of events, the parties are those
// that history names, and the texts of others' refusals are read one by one.
func (p erasedPlayer) lastStatements() []eraseRows {
	type queries = *query.Queries
	return []eraseRows{
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromRefusals(ctx, query.EraseFromRefusalsParams{
				Quoted: goQuoted(p.player), Player: p.player, Key: p.pass.row.Key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseFromLetters(ctx,
				query.EraseFromLettersParams{Quoted: jsonQuoted(p.player), Key: p.pass.row.Key})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.ErasePartiesOfLetters(ctx,
				query.ErasePartiesOfLettersParams{Erasure: p.pass.row.ID, Salt: p.pass.row.Salt, Party: p.partyKey})
		},
		func(q queries, ctx context.Context) (int64, error) {
			return q.EraseDemand(ctx,
				query.EraseDemandParams{DemandKey: demandKey(p.player), Party: p.partyKey, Erasure: p.pass.row.ID})
		},
	}
}

// historyHash returns the hash that stands for a player in the history of tickets, as ticketbody.Hashed makes it. The
// hash has no key, so that whoever guesses the player can compute it: it is erased as well. History from before
// DIRECTOR_MATCH_HISTORY_ATTRIBUTES was changed may have the hash, whatever the setting is now.
func historyHash(player string) string {
	sum := sha256.Sum256([]byte(player))
	return hex.EncodeToString(sum[:8])
}

// jsonQuoted returns a text as stored JSON has it, without the escapes for HTML.
func jsonQuoted(text string) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(text) // cannot fail for a string
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// goQuoted returns a text as the details of errors have it, which quote with %q.
func goQuoted(text string) string { return strconv.Quote(text) }
