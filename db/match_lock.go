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
// where a profile is lost. A transaction that may give seats up locks sessions and hosts later.
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
	t.queueTickets(&out)
	if t.committer.region != "" {
		query.Queue(&out, &l.grantedPlayers, (*query.Queries).TryLocks, t.playerLocks())
		query.Queue(&out, &l.nearbySeats, (*query.Queries).SeatsAround,
			query.SeatsAroundParams{Region: t.committer.region, Subs: t.players()})
	}
	// Sessions in which seats are given up are known only after the seats were read; they are locked together with the
	// others, later.
	if t.committer.region != "" && !t.mayGiveUpSeats {
		t.queueSessions(&out, t.joinedSessions())
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

// fenceParams names the profiles of the matches, with their owners. It fails where one has no owner here.
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

func (t *matchTx) queueTickets(out *tx.Pipeline) {
	arg := t.ticketsOf(t.calls)
	if t.takesTickets {
		// The statements that follow in the pipeline see the tickets as deleted, and the history of events has them.
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

func takeMatchTickets(ctx context.Context, q *query.Queries,
	arg query.LockMatchTicketsParams) (tickets []query.LockMatchTicketsRow, err error) {
	rows, err := q.TakeMatchTickets(ctx, query.TakeMatchTicketsParams{
		Universe: arg.Universe, Ids: arg.Ids, Marks: arg.Marks, PendingFor: arg.PendingFor,
	})
	for _, r := range rows {
		tickets = append(tickets, query.LockMatchTicketsRow(r))
	}
	return tickets, err
}

// ticketsOf names the tickets of matches, sorted and each once, with the marks that are free for them.
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

// players are those of all matches that want seats, in the order of the lock requests.
func (t *matchTx) players() (subs []string) {
	for _, m := range t.calls {
		if len(m.match.Modes) > 0 {
			subs = append(subs, m.playerSubs...)
		}
	}
	return subs
}

// playerLocks asks for the locks that placement takes of the same players, in each mode that the match may have. The
// requests are numbered as players are.
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

// queueSessions adds the statements that lock sessions and then read what their matches are.
func (t *matchTx) queueSessions(out *tx.Pipeline, ids []uuid.UUID) {
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
	// A transaction that waits gets all hosts. One that skips has a lane of its own, so that workers which run at a
	// time look at different hosts first.
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

// judge drops the matches that cannot be committed, or not in this transaction, and returns the others.
func (t *matchTx) judge(verdicts map[*matchCall]MatchOutcome) (open []*matchCall) {
	free, busy := t.freeTickets(), t.busyPlayers()
	seats := byPlayer(t.heldLocks.nearbySeats).ownSeats
	// Players of matches of this batch that are to be committed: a second match with one of them waits for the next
	// transaction.
	taken := map[string]bool{}
	for _, m := range t.calls {
		gone := t.goneTickets(m, free)
		// taken: an older match of this batch has the player.
		held := slices.DeleteFunc(slices.Clone(m.playerSubs),
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
		case len(held) > 0:
			verdicts[m] = MatchOutcome{Kind: MatchPlayersBusy, BusyPlayers: held}
		case len(seated) > 0:
			verdicts[m] = MatchOutcome{Kind: MatchRefused, RefusalReason: RefusedSeated, BusyPlayers: seated}
		case len(givenUp(m, seats)) > 0 && !t.mayGiveUpSeats:
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

func (t *matchTx) freeTickets() map[string]query.LockMatchTicketsRow {
	free := make(map[string]query.LockMatchTicketsRow, len(t.heldLocks.lockedTickets))
	for _, k := range t.heldLocks.lockedTickets {
		free[k.ID] = k
	}
	return free
}

// goneTickets returns the tickets of a match that are not as it was decided about them.
func (t *matchTx) goneTickets(m *matchCall, free map[string]query.LockMatchTicketsRow) (ids []string) {
	for _, k := range m.match.Tickets {
		if row, ok := free[k.ID]; !ok || k.Tx != 0 && k.Tx != row.Tx {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

// busyPlayers are those about whom another transaction decides.
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

// seatedElsewhere returns the players of a match that keep another seat: one that they resolved, one of a match that
// took them while the ticket waited, or one in the session that the match is to join.
func seatedElsewhere(m *matchCall, seats map[string][]query.SeatsAroundRow,
	tickets map[string]query.LockMatchTicketsRow) (subs []string) {
	for _, k := range m.match.Tickets {
		queued := time.Unix(0, tickets[k.ID].Created)
		for _, sub := range k.subs() {
			if slices.ContainsFunc(seats[sub], func(st query.SeatsAroundRow) bool {
				mine := st.MatchID != nil && *st.MatchID == m.match.ID && !st.Resolved
				unused := slices.Contains(m.match.Modes, st.Mode) && !mine && keepsQueuedSince(st, queued)
				return unused || m.match.Join != "" && strings.HasSuffix(m.match.Join, st.SessionID.String())
			}) {
				subs = append(subs, sub)
			}
		}
	}
	return subs
}

// keepsQueuedSince reports whether a player that was queued at a moment keeps an unused seat: the player has resolved
// it, or a later match reserved it.
func keepsQueuedSince(st query.SeatsAroundRow, queued time.Time) bool {
	since := st.MatchID != nil && st.ReservedAt.After(queued)
	return st.State == "reserved" && st.Live && (st.Resolved || since)
}

// givenUp returns the unused seats in the modes of the match that its players leave for it.
func givenUp(m *matchCall, seats map[string][]query.SeatsAroundRow) (refs []seatRef) {
	for _, sub := range m.playerSubs {
		for _, st := range seats[sub] {
			if st.State == "reserved" && slices.Contains(m.match.Modes, st.Mode) {
				refs = append(refs, seatRef{st.SessionID, sub})
			}
		}
	}
	return refs
}
