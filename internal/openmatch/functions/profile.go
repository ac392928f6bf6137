package functions

import (
	"context"
	"errors"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match/profile"
)

var errOutOfTime = errors.New("the match function ran longer than DIRECTOR_OM_COLLECTION")

// Call calls the match function of a profile, and propose with each match, under an id that newID returns, until
// propose returns an error. No two calls of a cycle may have the same id. The function has as much time as one in a
// cycle, but no cycle waits for it. Errors are those of Propose, with their cause, since an operator chose the address.
func (m *Matchmaker) Call(ctx context.Context, p *profile.Profile, newID func() string,
	propose func(cycle.Proposal) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, m.collectionTime, errOutOfTime)
	defer cancel()
	at := &pb.FunctionConfig{Host: p.Function.Host, Port: int32(p.Function.Port)}
	if p.Function.Type == profile.REST {
		at.Type = pb.FunctionConfig_REST
	}
	rename := func(sent *pb.Match) { sent.MatchId = newID() }
	_, err := m.collectProposals(ctx, at, matchProfile(p), rename, propose)
	return operatorCause(err)
}

// matchProfile makes the message for a profile's function: the profile's name, and one pool of the same name with its
// filters.
func matchProfile(p *profile.Profile) *pb.MatchProfile {
	pool := &pb.Pool{Name: p.Name}
	// Only tickets that name the profile are its candidates, and these have its tag.
	if p.Pool == nil {
		pool.TagPresentFilters = []*pb.TagPresentFilter{{Tag: ticketbody.ProfileTag + p.Name}}
		return &pb.MatchProfile{Name: p.Name, Pools: []*pb.Pool{pool}}
	}
	for _, d := range p.Pool.Doubles {
		pool.DoubleRangeFilters = append(pool.DoubleRangeFilters, &pb.DoubleRangeFilter{
			DoubleArg: d.Arg, Min: d.Min, Max: d.Max, Exclude: pb.DoubleRangeFilter_Exclude(d.Exclude),
		})
	}
	for _, s := range p.Pool.Strings {
		pool.StringEqualsFilters = append(pool.StringEqualsFilters,
			&pb.StringEqualsFilter{StringArg: s.Arg, Value: s.Value})
	}
	for _, tag := range p.Pool.Tags {
		pool.TagPresentFilters = append(pool.TagPresentFilters, &pb.TagPresentFilter{Tag: tag})
	}
	return &pb.MatchProfile{Name: p.Name, Pools: []*pb.Pool{pool}}
}
