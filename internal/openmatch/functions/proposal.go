package functions

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/match"
)

// convertProposal converts a match that a match function proposes. Errors: the match is missing or too large.
func convertProposal(m *pb.Match, maxBackfill int) (p cycle.Proposal, err error) {
	if m == nil {
		return p, match.Invalid("the match function sent an answer without a match")
	}
	if p.Match, err = proto.Marshal(m); err != nil {
		return p, err
	}
	if len(p.Match) > maxMatch {
		return p, status.Errorf(codes.ResourceExhausted, "the match function sent a match of more than %d bytes",
			maxMatch)
	}
	p.ID, p.Tickets = m.GetMatchId(), make([]string, 0, len(m.GetTickets()))
	for _, t := range m.GetTickets() {
		p.Tickets = append(p.Tickets, t.GetId())
	}
	p.Score, p.Unreadable = scoreOf(m)
	b := m.GetBackfill()
	if b == nil {
		return p, nil
	}
	p.Backfill, p.Generation = b.GetId(), b.GetGeneration()
	p.BackfillBody, err = ticketbody.EncodeWithin(maxBackfill, "the backfill", b)
	return p, err
}

// scoreInput is the extension of a match that holds the default evaluator's criteria.
const scoreInput = "evaluation_input"

// scoreOf returns a match's score; nil: it has none, or, with unreadable, one that cannot be decoded.
func scoreOf(m *pb.Match) (score *float64, unreadable bool) {
	input, ok := m.GetExtensions()[scoreInput]
	if !ok {
		return nil, false
	}
	var criteria pb.DefaultEvaluationCriteria
	if input.UnmarshalTo(&criteria) != nil {
		return nil, true
	}
	return new(criteria.GetScore()), false
}

// asRequest makes the evaluator's message of a proposal.
func asRequest(p cycle.Proposal) *pb.EvaluateRequest {
	const field protowire.Number = 1
	return ticketbody.Raw(&pb.EvaluateRequest{}, ticketbody.AppendMessage(nil, field, p.Match))
}
