package replayer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
)

// Input returns the input of a replay of rules over the history of a profile: its tickets, with those that still wait,
// matches, game regions and seed. The profile of the rules has the same name. Ctx bounds all reads, including those of
// the arrivals. The tickets that wait are in memory. Errors: there is no history, or it lacks attributes that the rules
// compare; the store's.
func Input(ctx context.Context, s Store, past db.PastRange, rules decide.Version,
	recording Recording) (replay.Input, error) {
	h := &history{ctx: ctx, store: s, pastRange: past, neededAttributes: needsOf(rules.Profile), recording: recording}
	// Before the history: a ticket that leaves in between is then in both, and never in neither.
	if err := h.readQueue(); err != nil {
		return replay.Input{}, err
	}
	if err := h.checkTickets(rules); err != nil {
		return replay.Input{}, err
	}
	versions, err := s.PastVersions(ctx, past)
	if err != nil {
		return replay.Input{}, err
	}
	same, err := h.sameVersions(versions, rules.Profile)
	if err != nil {
		return replay.Input{}, err
	}
	in := replay.Input{
		Version: rules, Begin: past.From, End: past.Until, Arrivals: h.yieldArrivals, Matches: h.yieldMatches,
		HasSameRules: func(version int) bool { return same[version] },
	}
	in.Seed = seedOf(versions, same)
	in.Regions, err = s.PastRegions(ctx, past)
	return in, err
}

// seedOf returns the seed of the most matches that versions with the same rules made; versions begins with the most
// matches. Without such a version no match can be reproduced, and any seed will do: that of the most matches.
func seedOf(versions []query.ReplayVersionsRow, same map[int]bool) uint64 {
	for _, v := range versions {
		if same[int(v.Version)] {
			return uint64(v.Seed)
		}
	}
	if len(versions) == 0 {
		return 0
	}
	return uint64(versions[0].Seed)
}

// longestCommit is the longest time between decision and commit that is no shortage of servers; a commit takes some
// milliseconds.
const longestCommit = 2 * time.Second

// Capacity returns when matches waited for servers.
func Capacity(ctx context.Context, s Store, past db.PastRange, p *profile.Profile) (replay.Capacity, error) {
	// Between decision and commit, players may have Accept to answer: that is no shortage.
	rows, err := s.PastShortages(ctx, past, longestCommit+p.Accept)
	if err != nil {
		return replay.Capacity{}, err
	}
	c := replay.Capacity{Recorded: true}
	for _, r := range rows {
		c.Shortages = append(c.Shortages,
			replay.Shortage{Region: r.GameRegion, Begin: r.DecidedAt.Add(p.Accept), End: r.CommittedAt})
	}
	return c, nil
}

// checkTickets returns an error unless a ticket of that time, recorded or waiting, can be the profile's.
func (h *history) checkTickets(rules decide.Version) error {
	engine, others := decide.New(rules, 0), 0 // others: tickets of the history that are none of the profile's
	takes := func(a replay.Arrival) bool {
		ok, _ := engine.Candidate(a.Ticket)
		return ok || slices.Contains(a.Ticket.Profiles, h.pastRange.ProfileName)
	}
	// The reading ends at the first ticket of the profile: all are read again for the replay.
	err := h.store.PastTickets(h.ctx, h.pastRange, func(row query.ReplayTicketsRow) error {
		// Before the row is decoded: the error of a row that names the profile is the replay's to report.
		if slices.Contains(row.Profiles, h.pastRange.ProfileName) {
			return errEnough
		}
		a, err := h.arrivalOf(row)
		if err != nil {
			return err
		}
		if takes(a) {
			return errEnough
		}
		others++
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return err
	}
	begins, err := h.store.HistoryBegins(h.ctx, h.pastRange.Region)
	if err != nil {
		return err
	}
	if begins.IsZero() {
		return errors.New("there is no history of tickets: DIRECTOR_MATCH_HISTORY says for how long replicas and " +
			"workers keep it, and 0 is not at all")
	}
	// Tickets that still wait are in no history, and are replayed too.
	if slices.ContainsFunc(h.waitingArrivals, takes) {
		return nil
	}
	return fmt.Errorf("no ticket of profile %s was in the queue between %s and %s%s; the history begins at %s "+
		"(DIRECTOR_MATCH_HISTORY); --name replays the tickets of another profile", h.pastRange.ProfileName,
		h.pastRange.From.UTC().Format(time.RFC3339), h.pastRange.Until.UTC().Format(time.RFC3339),
		unnamedTickets(others, rules.Profile), begins.UTC().Format(time.RFC3339))
}

// unnamedTickets says why tickets that named no profile are none of the profile's.
func unnamedTickets(tickets int, p *profile.Profile) string {
	switch {
	case tickets == 0:
		return ""
	case p.Pool == nil:
		return fmt.Sprintf(", but %d that named no profile, and this one has no pool for them", tickets)
	}
	return fmt.Sprintf(", but %d that named no profile, of which its pool and rules take none", tickets)
}

// sameVersions returns which of the versions have rules that equal those of p.
func (h *history) sameVersions(versions []query.ReplayVersionsRow, p *profile.Profile) (map[int]bool, error) {
	same, canonical := map[int]bool{}, string(p.Canonical())
	for _, v := range versions {
		number := int(v.Version)
		if _, known := same[number]; known {
			continue
		}
		stored, err := h.store.Profile(h.ctx, h.pastRange.Region, h.pastRange.ProfileName, number)
		if err != nil {
			return nil, err
		}
		read, err := profile.ParseStored([]byte(stored.Document))
		// A version of a newer release, which cannot be read, has other rules.
		same[number] = err == nil && string(read.Canonical()) == canonical
	}
	return same, nil
}
