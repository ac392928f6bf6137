package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// MarkedTickets are tickets that are pending in a match of a cycle, and their mark ([CycleRef.Mark]). Tickets that by
// now store another mark are left unchanged.
type MarkedTickets struct {
	TicketIDs []string
	MatchMark []byte
}

// FreeMarkedTickets puts the tickets of matches that were not committed back at their place in the queue. Errors:
// Unavailable, after which each ticket may be in the queue or not.
func (s *Store) FreeMarkedTickets(ctx context.Context, universe string, all []MarkedTickets) error {
	marks := map[string][]byte{}
	for _, m := range all {
		for _, id := range issuedTickets(universe, m.TicketIDs) {
			marks[id] = m.MatchMark
		}
	}
	// In parts, each in a transaction of its own. Sorted, since all transactions lock tickets in the order of their
	// ids.
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(marks)), releasePage) {
		arg := query.LockMarkedTicketsParams{Universe: universe, Ids: ids}
		for _, id := range ids {
			arg.Marks = append(arg.Marks, marks[id])
		}
		if err := s.frame.InBulkTxWithRetries(ctx,
			func(q *query.Queries) error { return freeMarkedTickets(ctx, q, arg) }); err != nil {
			return frame.Classify(err)
		}
	}
	s.Notify(TopicQueue, universe)
	return nil
}

// functionMatchPrefix begins the match_id of matches that functions of profiles propose.
const functionMatchPrefix = "director.loop/"

// FunctionMatchID returns a new match_id for a match that the function of a profile proposes to the profile's owner.
// The marks of the match's tickets contain it, so that the next owner can recognize the tickets of a former owner.
func FunctionMatchID(profile string, epoch int64) string {
	return fmt.Sprintf("%s%s/%d/%s", functionMatchPrefix, profile, epoch, uuid.NewString())
}

// maxAbandoned limits the tickets that one call of FreeAbandonedTickets frees.
const maxAbandoned = 50_000

// FreeAbandonedTickets returns tickets to their place in the queue, 50,000 at most: the tickets of matches that
// functions of these profiles proposed to former owners, which have lower epochs. Former owners can no longer commit
// these matches. Errors: as FreeMarkedTickets.
func (s *Store) FreeAbandonedTickets(ctx context.Context, universe string,
	epochs map[string]int64) (freed int, err error) {
	arg := query.MarkedByFunctionsParams{Universe: universe, Most: maxAbandoned}
	for _, profile := range slices.Sorted(maps.Keys(epochs)) {
		arg.Prefixes = append(arg.Prefixes, []byte(functionMatchPrefix+profile+"/"))
	}
	rows, err := s.q.MarkedByFunctions(ctx, arg)
	if err != nil {
		return 0, frame.Classify(err)
	}
	var all []MarkedTickets
	for _, r := range rows {
		// Marks of this epoch or a later one are of matches that are under way.
		profile, epoch, ok := functionOf(r.MatchedIn)
		if ok && epoch < epochs[profile] {
			all = append(all, MarkedTickets{TicketIDs: []string{r.ID}, MatchMark: r.MatchedIn})
		}
	}
	if len(all) == 0 {
		return 0, nil
	}
	return len(all), s.FreeMarkedTickets(ctx, universe, all)
}

// functionOf returns the profile and the epoch of the owner to which a function proposed the match of this mark. ok is
// false for other marks. A mark is the id of the cycle and the match_id: see [FunctionMatchID].
func functionOf(mark []byte) (profile string, epoch int64, ok bool) {
	if len(mark) < len(uuid.UUID{}) {
		return "", 0, false
	}
	rest, ok := strings.CutPrefix(string(mark[len(uuid.UUID{}):]), functionMatchPrefix)
	if !ok {
		return "", 0, false
	}
	profile, rest, _ = strings.Cut(rest, "/")
	epochText, _, _ := strings.Cut(rest, "/")
	epoch, err := strconv.ParseInt(epochText, 10, 64)
	return profile, epoch, err == nil
}

// freeMarkedTickets locks the tickets that are still in their matches, and defers their release.
func freeMarkedTickets(ctx context.Context, q *query.Queries, arg query.LockMarkedTicketsParams) error {
	rows, err := q.LockMarkedTickets(ctx, arg)
	if err != nil || len(rows) == 0 {
		return err
	}
	free := query.ReleaseTicketsParams{Region: arg.Universe}
	for _, r := range rows {
		free.Ids = append(free.Ids, r.ID)
	}
	query.QueueExec(q.Deferred(), (*query.Queries).ReleaseTickets, free)
	return nil
}
