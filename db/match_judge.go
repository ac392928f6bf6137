package db

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// JudgedReadyChecks is what JudgeReadyChecks did.
type JudgedReadyChecks struct {
	EndedMatches    []uuid.UUID // ready checks that ended without a match
	ReturnedTickets []string    // tickets that are back in the queue, at their place
	DeclinedTickets []string    // tickets that left the queue: a player declined, or did not answer in time
}

// JudgeReadyChecks ends ready checks whose deadline passed longer ago than overdue, at most batch, oldest first. If
// players declined, their parties leave the queue; if none declined, the parties with a player who did not answer leave
// it. The other parties return to their place, as do the tickets of accepted matches that are neither committed nor
// renewed. With owners, it judges only matches of their profiles, and fails as Superseded if one of the profiles is
// lost. Without owners, which any worker may do, it judges all matches. Errors: Superseded, Unavailable.
func (s *Store) JudgeReadyChecks(ctx context.Context, universe string, owners []MatchOwner, overdue time.Duration,
	batch int) (done JudgedReadyChecks, err error) {
	arg := query.DueMatchesParams{Universe: universe, Overdue: overdue, Batch: int32(batch), Profiles: []string{}}
	for _, o := range owners {
		arg.Profiles = append(arg.Profiles, o.ProfileName)
	}
	due, err := s.q.DueMatches(ctx, arg)
	if err != nil || len(due) == 0 {
		return done, frame.Classify(err)
	}
	var j judgement
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// Each try begins without anything of an earlier one. The due matches were read without a lock, so the
		// transaction judges them again under its locks.
		j = judgement{committer: &committer{store: s, universe: universe, profileOwners: owners}, overdueFor: overdue,
			dueMatches: due}
		return j.run(ctx, q)
	})
	if err != nil {
		return JudgedReadyChecks{}, frame.Classify(err)
	}
	for _, topic := range []string{TopicTickets, TopicTicketEvents, TopicQueue, TopicMatches} {
		s.Notify(topic, universe)
	}
	return j.judgedChecks, nil
}

// judgement is one transaction that ends ready checks.
type judgement struct {
	committer  *committer
	overdueFor time.Duration
	dueMatches []query.DueMatchesRow

	matchOfTicket   map[string]uuid.UUID // tickets that are still in their match
	createdByTicket map[string]int64
	lockedMatches   []query.LockDueMatchesRow
	answersByMatch  map[uuid.UUID]map[string]bool
	judgedChecks    JudgedReadyChecks
}

// run ends the ready checks that are still due, and decides for each of their tickets whether it returns to the queue.
func (j *judgement) run(ctx context.Context, q *query.Queries) error {
	if err := j.lock(ctx, q); err != nil || len(j.lockedMatches) == 0 {
		return err
	}
	requeued := query.RequeueTicketsParams{Universe: j.committer.universe}
	declined := query.DeclineTicketsParams{Universe: j.committer.universe}
	history := query.KeepTicketsParams{Universe: j.committer.universe, Outcome: "declined"}
	for _, m := range j.lockedMatches {
		var decision NewMatch
		if err := json.Unmarshal(m.Decision, &decision); err != nil {
			return err
		}
		j.judgedChecks.EndedMatches = append(j.judgedChecks.EndedMatches, m.ID)
		for _, k := range decision.Tickets {
			// The ticket has lost its mark, and is no longer in this match.
			if j.matchOfTicket[k.ID] != m.ID {
				continue
			}
			if j.isRequeued(m, k) {
				requeued.Ids = append(requeued.Ids, k.ID)
				requeued.Matches = append(requeued.Matches, m.ID)
				continue
			}
			addTicketToDecline(&declined, m.ID, k)
			if !j.committer.store.cfg.NoHistory && k.History != nil {
				addTicketToKeep(&history,
					LeftTicket{Ticket: k, CreatedNanos: j.createdByTicket[k.ID], ProfileName: decision.Profile,
						MatchID: decision.ID})
			}
		}
	}
	j.judgedChecks.ReturnedTickets, j.judgedChecks.DeclinedTickets = requeued.Ids, declined.Ids
	j.write(q.Deferred(), requeued, declined, history)
	return nil
}

// lock locks tickets, their players and the matches, and reads the answers under these locks.
func (j *judgement) lock(ctx context.Context, q *query.Queries) error {
	due, matchOf := j.dueTickets()
	ids := make([]uuid.UUID, len(j.dueMatches))
	for i, m := range j.dueMatches {
		ids[i] = m.ID
	}
	var out tx.Pipeline
	var profiles []string
	var tickets []query.LockMarkedTicketsRow
	var answers []query.MatchAnswersRow
	fence := query.HoldProfilesParams{Universe: j.committer.universe}
	for _, o := range j.committer.profileOwners {
		addProfileToHold(&fence, o)
	}
	query.Queue(&out, &profiles, (*query.Queries).HoldProfiles, fence)
	query.Queue(&out, &tickets, (*query.Queries).LockMarkedTickets, due)
	query.QueueExec(&out, (*query.Queries).LockTicketPlayers,
		query.LockTicketPlayersParams{Universe: j.committer.universe, Tickets: due.Ids})
	query.Queue(&out, &j.lockedMatches, (*query.Queries).LockDueMatches,
		query.LockDueMatchesParams{Universe: j.committer.universe, Ids: ids, Overdue: j.overdueFor})
	query.Queue(&out, &answers, (*query.Queries).MatchAnswers,
		query.MatchAnswersParams{Universe: j.committer.universe, Ids: ids})
	if err := q.Send(ctx, &out); err != nil {
		return err
	}
	// A profile is missing if another worker has taken it.
	if len(profiles) < len(j.committer.profileOwners) {
		return profileLost()
	}
	j.matchOfTicket, j.createdByTicket = map[string]uuid.UUID{}, map[string]int64{}
	for _, k := range tickets {
		j.matchOfTicket[k.ID], j.createdByTicket[k.ID] = matchOf[k.ID], k.Created
	}
	j.addAnswers(answers)
	return nil
}

// dueTickets returns the tickets of the due matches with the marks that they have while they are in these matches, and
// the match of each ticket.
func (j *judgement) dueTickets() (due query.LockMarkedTicketsParams, matchOf map[string]uuid.UUID) {
	due.Universe, matchOf = j.committer.universe, map[string]uuid.UUID{}
	for _, m := range j.dueMatches {
		for _, k := range m.Tickets {
			matchOf[k] = m.ID
			due.Ids = append(due.Ids, k)
		}
	}
	// All transactions lock tickets in the order of their ids.
	slices.Sort(due.Ids)
	for _, k := range due.Ids {
		due.Marks = append(due.Marks, readyCheckMark(matchOf[k]))
	}
	return due, matchOf
}

// addAnswers adds the answers of players by match and player.
func (j *judgement) addAnswers(answers []query.MatchAnswersRow) {
	j.answersByMatch = map[uuid.UUID]map[string]bool{}
	for _, a := range answers {
		if j.answersByMatch[a.MatchID] == nil {
			j.answersByMatch[a.MatchID] = map[string]bool{}
		}
		j.answersByMatch[a.MatchID][a.Sub] = a.Accepted
	}
}

// isRequeued reports whether a party returns to the queue: no player of the party has declined, or not answered in
// time. If a player of the match has declined, the others did not have the whole time to answer.
func (j *judgement) isRequeued(m query.LockDueMatchesRow, k MatchTicket) bool {
	answers := j.answersByMatch[m.ID]
	hasDecline := slices.Contains(slices.Collect(maps.Values(answers)), false)
	return !slices.ContainsFunc(k.Players, func(p MatchPlayer) bool {
		accepted, answered := answers[p.Sub]
		return !accepted && (answered || !hasDecline)
	})
}

func addTicketToDecline(p *query.DeclineTicketsParams, match uuid.UUID, k MatchTicket) {
	p.Ids = append(p.Ids, k.ID)
	p.Matches = append(p.Matches, match)
	p.Parties = append(p.Parties, textArray(k.subs()))
}

// write defers what the judgement changes.
func (j *judgement) write(out *tx.Pipeline, requeued query.RequeueTicketsParams, declined query.DeclineTicketsParams,
	history query.KeepTicketsParams) {
	deferRows(out, len(declined.Ids), (*query.Queries).ForgetTicketPlayers,
		query.ForgetTicketPlayersParams{Universe: j.committer.universe, Tickets: declined.Ids})
	query.QueueExec(out, (*query.Queries).EndProposals,
		query.EndProposalsParams{Universe: j.committer.universe, Ids: j.judgedChecks.EndedMatches})
	deferRows(out, len(requeued.Ids), (*query.Queries).RequeueTickets, requeued)
	deferRows(out, len(declined.Ids), (*query.Queries).DeclineTickets, declined)
	deferRows(out, len(history.Ids), (*query.Queries).KeepTickets, history)
}
