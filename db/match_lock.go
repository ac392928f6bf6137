package db

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// lock locks and reads, in one round trip and in the lock order, what the decision about the matches needs. It fails
// as Superseded if a profile is lost. A transaction that may give seats up locks sessions and hosts later.
func (t *matchTx) lock(ctx context.Context) error {
	var out tx.Pipeline
	l := &t.heldLocks
	// Only a transaction that waits for hosts needs a limit: all others skip what is locked.
	if t.waitForHosts {
		query.QueueExec(&out, (*query.Queries).LimitLockWait,
			max(1, int32(t.committer.store.cfg.LockWait.Milliseconds())))
	}
	fence, err := t.fenceParams()
	if err != nil {
		return err
	}
	query.Queue(&out, &l.heldProfiles, (*query.Queries).HoldProfiles, fence)
	t.addTicketLocks(&out)
	if t.committer.region != "" {
		query.Queue(&out, &l.grantedPlayers, (*query.Queries).TryLocks, t.playerLocks())
		query.Queue(&out, &l.nearbySeats, (*query.Queries).SeatsAround,
			query.SeatsAroundParams{Region: t.committer.region, Subs: t.players()})
	}
	// The sessions in which seats are given up are known only when the seats are read: then giveSeatsUp locks all
	// sessions.
	if t.committer.region != "" && !t.mayGiveUpSeats {
		t.addSessionLocks(&out, t.joinedSessions())
		query.Queue(&out, &l.lockedHosts, (*query.Queries).LockHosts, t.hostsFor(t.calls))
	}
	if err := t.q.Send(ctx, &out); err != nil {
		return err
	}
	if len(l.heldProfiles) < len(fence.Profiles) {
		return profileLost()
	}
	return nil
}

// fenceParams names the profiles of the matches, with their owners. It fails as Superseded if the caller owns one of
// them no more.
func (t *matchTx) fenceParams() (arg query.HoldProfilesParams, err error) {
	arg.Universe = t.committer.universe
	for _, m := range t.calls {
		o, ok := t.committer.ownerOf(m)
		if !ok {
			return arg, profileLost()
		}
		if !slices.Contains(arg.Profiles, o.ProfileName) {
			addProfileToHold(&arg, o)
		}
	}
	return arg, nil
}

func addProfileToHold(p *query.HoldProfilesParams, o MatchOwner) {
	p.Profiles = append(p.Profiles, o.ProfileName)
	p.Workers = append(p.Workers, o.WorkerID)
	p.Epochs = append(p.Epochs, o.Epoch)
}

// addTicketLocks adds the statements that lock the tickets and their players, or delete both, and read what the players
// wait with.
func (t *matchTx) addTicketLocks(out *tx.Pipeline) {
	arg := t.ticketsOf(t.calls)
	if t.takesTickets {
		// The later statements of the pipeline find the tickets among the events, not in the queue.
		query.Queue(out, &t.heldLocks.lockedTickets,
			func(q *query.Queries, ctx context.Context,
				arg query.LockMatchTicketsParams) ([]query.LockMatchTicketsRow, error) {
				return takeMatchTickets(ctx, q, arg)
			}, arg)
		query.QueueExec(out, (*query.Queries).ForgetTicketPlayers,
			query.ForgetTicketPlayersParams{Universe: t.committer.universe, Tickets: arg.Ids})
	} else {
		query.Queue(out, &t.heldLocks.lockedTickets, (*query.Queries).LockMatchTickets, arg)
		query.QueueExec(out, (*query.Queries).LockTicketPlayers,
			query.LockTicketPlayersParams{Universe: t.committer.universe, Tickets: arg.Ids})
	}
	query.Queue(out, &t.heldLocks.waitingSessions, (*query.Queries).WaitingOfTickets,
		query.WaitingOfTicketsParams{Universe: t.committer.universe, Tickets: arg.Ids})
	var proposed []uuid.UUID
	for _, m := range t.calls {
		if m.match.Accepted {
			proposed = append(proposed, m.match.ID)
		}
	}
	if len(proposed) > 0 {
		query.Queue(out, &t.heldLocks.acceptedMatches, (*query.Queries).LockAcceptedMatches,
			query.LockAcceptedMatchesParams{Universe: t.committer.universe, Ids: proposed})
	}
}

// takeMatchTickets deletes tickets, and returns their rows as LockMatchTickets returns them.
func takeMatchTickets(ctx context.Context, q *query.Queries,
	arg query.LockMatchTicketsParams) (tickets []query.LockMatchTicketsRow, err error) {
	rows, err := q.TakeMatchTickets(ctx, query.TakeMatchTicketsParams{
		Universe: arg.Universe, Ids: arg.Ids, Marks: arg.Marks, PendingFor: arg.PendingFor,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		tickets = append(tickets, query.LockMatchTicketsRow(r))
	}
	return tickets, nil
}

// ticketsOf names the tickets of matches, sorted and each once, with the mark that each may have and still be free for
// its match.
func (t *matchTx) ticketsOf(calls []*matchCall) query.LockMatchTicketsParams {
	marks := map[string][]byte{}
	for _, m := range calls {
		for _, k := range m.match.Tickets {
			// A ticket that two matches name is locked for the first of them.
			if IssuedHere(t.committer.universe, TicketID, k.ID) && marks[k.ID] == nil {
				marks[k.ID] = m.match.mark()
			}
		}
	}
	arg := query.LockMatchTicketsParams{Universe: t.committer.universe,
		PendingFor: t.committer.store.cfg.Timing.PendingFor}
	for id := range marks {
		arg.Ids = append(arg.Ids, id)
	}
	slices.Sort(arg.Ids)
	for _, id := range arg.Ids {
		arg.Marks = append(arg.Marks, marks[id])
	}
	return arg
}

// players returns the players of all matches that want seats, in the order of the requests of playerLocks.
func (t *matchTx) players() (subs []string) {
	for _, m := range t.calls {
		if len(m.match.Modes) > 0 {
			subs = append(subs, m.playerSubs...)
		}
	}
	return subs
}

// playerLocks asks for the locks that placements of the same players take, in each mode that the match may have. A
// request has the index of its player in players.
func (t *matchTx) playerLocks() (arg query.TryLocksParams) {
	n := int32(0)
	for _, m := range t.calls {
		if len(m.match.Modes) == 0 {
			continue
		}
		for _, sub := range m.playerSubs {
			for _, mode := range m.match.Modes {
				arg.Requests = append(arg.Requests, n)
				arg.Locks = append(arg.Locks, lockKey("seat", t.committer.region, mode, sub))
			}
			n++
		}
	}
	return arg
}

func (t *matchTx) joinedSessions() (sessions []uuid.UUID) {
	for _, m := range t.calls {
		if region, id, ok := parseSessionID(m.match.Join); ok && region == t.committer.region {
			sessions = append(sessions, id)
		}
	}
	return sessions
}

// addSessionLocks adds the statements that lock sessions and then read their matches.
func (t *matchTx) addSessionLocks(out *tx.Pipeline, ids []uuid.UUID) {
	if len(ids) == 0 {
		return
	}
	query.Queue(out, &t.heldLocks.lockedSessions, (*query.Queries).LockMatchSessions,
		query.LockMatchSessionsParams{Region: t.committer.region, Ids: ids})
	query.Queue(out, &t.heldLocks.playingMatches, (*query.Queries).PlayingMatches,
		query.PlayingMatchesParams{Region: t.committer.region, Sessions: ids})
}

// hostsFor asks for as many hosts of each mode and size as there are matches that want a session of their own.
func (t *matchTx) hostsFor(calls []*matchCall) query.LockHostsParams {
	arg := query.LockHostsParams{Region: t.committer.region, Wait: t.waitForHosts}
	// A transaction that waits gets all hosts. One that skips locked hosts keeps to its lane, so that workers which run
	// at the same time look at different hosts first.
	if !t.waitForHosts {
		arg.Lane, arg.Lanes = int32(t.committer.hostShare.Lane), int32(t.committer.hostShare.LaneCount)
	}
	wanted := map[pack.Shape]int32{}
	for _, m := range calls {
		for _, mode := range m.match.Modes {
			// A match that joins another needs no host.
			if m.match.Join == "" {
				wanted[pack.Shape{Mode: mode, MaxPlayers: m.match.Size}]++
			}
		}
	}
	for sh, n := range wanted {
		arg.Modes = append(arg.Modes, sh.Mode)
		arg.MaxPlayers = append(arg.MaxPlayers, int32(sh.MaxPlayers))
		arg.Sessions = append(arg.Sessions, n)
	}
	return arg
}

// judge gives the matches that cannot be committed a verdict, adds those that need a transaction of their own to
// mustBeAlone, and returns the others.
func (t *matchTx) judge(verdicts map[*matchCall]MatchOutcome) (open []*matchCall) {
	free, busy := t.freeTickets(), t.busyPlayers()
	seats := byPlayer(t.heldLocks.nearbySeats).ownSeats
	// Players of older matches of this batch that are to be committed: a second match with one of them waits for the
	// next transaction.
	taken := map[string]bool{}
	for _, m := range t.calls {
		gone := t.goneTickets(m, free)
		busyOfMatch := slices.DeleteFunc(slices.Clone(m.playerSubs),
			func(sub string) bool { return !busy[sub] && !taken[sub] })
		seated := seatedElsewhere(m, seats, free)
		switch {
		case m.match.Accepted && !slices.Contains(t.heldLocks.acceptedMatches, m.match.ID):
			verdicts[m] = MatchOutcome{Kind: MatchRefused, RefusalReason: RefusedUnaccepted}
		case len(gone) > 0:
			verdicts[m] = MatchOutcome{Kind: MatchTicketsGone, GoneTickets: gone}
			// The players of the other tickets have accepted, and must not wait for the deadline: these tickets return
			// to the queue.
			if m.match.Accepted {
				t.endedMatches = append(t.endedMatches, m)
			}
		case len(busyOfMatch) > 0:
			verdicts[m] = MatchOutcome{Kind: MatchPlayersBusy, BusyPlayers: busyOfMatch}
		case len(seated) > 0:
			verdicts[m] = MatchOutcome{Kind: MatchRefused, RefusalReason: RefusedSeated, BusyPlayers: seated}
		case len(seatsToGiveUp(m, seats)) > 0 && !t.mayGiveUpSeats:
			t.mustBeAlone = append(t.mustBeAlone, m)
		default:
			open = append(open, m)
			for _, sub := range m.playerSubs {
				taken[sub] = true
			}
		}
	}
	return open
}

// freeTickets returns the locked tickets, which this transaction may match, by id.
func (t *matchTx) freeTickets() map[string]query.LockMatchTicketsRow {
	free := make(map[string]query.LockMatchTicketsRow, len(t.heldLocks.lockedTickets))
	for _, k := range t.heldLocks.lockedTickets {
		free[k.ID] = k
	}
	return free
}

// goneTickets returns the tickets of a match that are not free any more, or have changed since the match was decided.
func (t *matchTx) goneTickets(m *matchCall, free map[string]query.LockMatchTicketsRow) (ids []string) {
	for _, k := range m.match.Tickets {
		if row, ok := free[k.ID]; !ok || k.Tx != 0 && k.Tx != row.Tx {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// busyPlayers returns the players about whom another transaction decides.
func (t *matchTx) busyPlayers() map[string]bool {
	if t.committer.region == "" {
		return nil
	}
	busy := map[string]bool{}
	granted := make(map[int32]bool, len(t.heldLocks.grantedPlayers))
	for _, n := range t.heldLocks.grantedPlayers {
		granted[n] = true
	}
	for n, sub := range t.players() {
		if !granted[int32(n)] {
			busy[sub] = true
		}
	}
	return busy
}

// seatedElsewhere returns the players of a match who keep another seat: one that they resolved, one of a match that
// took them while the ticket waited, or one in the session that the match is to join.
func seatedElsewhere(m *matchCall, seats map[string][]query.SeatsAroundRow,
	tickets map[string]query.LockMatchTicketsRow) (subs []string) {
	for _, k := range m.match.Tickets {
		queued := time.Unix(0, tickets[k.ID].Created)
		for _, sub := range k.subs() {
			if slices.ContainsFunc(seats[sub], func(st query.SeatsAroundRow) bool {
				isOfMatch := st.MatchID != nil && *st.MatchID == m.match.ID && !st.Resolved
				isKept := slices.Contains(m.match.Modes, st.Mode) && !isOfMatch && keepsQueuedSince(st, queued)
				return isKept || m.match.Join != "" && strings.HasSuffix(m.match.Join, st.SessionID.String())
			}) {
				subs = append(subs, sub)
			}
		}
	}
	return subs
}

// keepsQueuedSince reports whether a player who queued at a time keeps a reserved seat: the player has resolved the
// seat, or a match reserved it after that time.
func keepsQueuedSince(st query.SeatsAroundRow, queued time.Time) bool {
	isMatchedSince := st.MatchID != nil && st.ReservedAt.After(queued)
	return st.State == "reserved" && st.Live && (st.Resolved || isMatchedSince)
}

// seatsToGiveUp returns the reserved seats, in the modes of the match, that its players give up for it.
func seatsToGiveUp(m *matchCall, seats map[string][]query.SeatsAroundRow) (refs []seatRef) {
	for _, sub := range m.playerSubs {
		for _, st := range seats[sub] {
			if st.State == "reserved" && slices.Contains(m.match.Modes, st.Mode) {
				refs = append(refs, seatRef{st.SessionID, sub})
			}
		}
	}
	return refs
}
