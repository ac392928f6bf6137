package db

import (
	"context"

	"github.com/lattice-director/director/db/query"
)

// statements are those that erase all their rows at once: what is known of a player is bounded, or a row is.
func (p erasedPlayer) statements() []eraseRows {
	return append(append(p.playerStatements(), p.matchStatements()...), p.lobbyStatements()...)
}

// playerStatements erase what is known of the player outside of matches and rooms.
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

// matchStatements erase the player in what is decided of matches that are not over.
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

// lobbyStatements erase the player in the realtime lobby, whose rooms have forgotten the player.
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
			// Sessions stay in the logs: members that have not yet read that one has left would keep it for ever.
			if player != p.pass.row.Subs[0] {
				return 0, nil
			}
			return q.EraseFromLobbyLog(ctx, query.EraseFromLobbyLogParams{Quoted: jsonQuoted(player), Key: key})
		},
		func(q queries, ctx context.Context) (int64, error) { return q.EraseWaiting(ctx, player) },
	}
}

// lastStatements follow those of history: letters are made of events, history names the parties, and the texts of
// others' refusals are read one by one.
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
