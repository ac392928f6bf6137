package db

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// CycleProposal is a proposed match as a follower writes it for the owner of the cycle.
type CycleProposal struct {
	CallerID     uuid.UUID
	Seq          int32 // number among the caller's proposals, from 1
	MatchID      string
	Score        float64
	TicketIDs    []string
	Backfill     *MatchBackfill // nil: it has none
	EncodedMatch []byte         // an openmatch.Match; nil when the evaluator does not need it
	IsDecided    bool           // by an earlier owner of the cycle
}

// MatchBackfill is the backfill of a match.
type MatchBackfill struct {
	ID         string // of an existing backfill; empty: one is to be created
	Generation int64  // of the existing backfill, as the match function saw it
	Body       []byte // an openmatch.Backfill, as the match function sent it
}

// CycleCaller is a caller that takes part in a cycle. A caller that has left is not listed.
type CycleCaller struct {
	ID        uuid.UUID
	Replica   uuid.UUID
	Proposing bool // it may propose more
	Alive     bool // its replica has renewed it within a lease
}

// CycleChanges is all callers of a cycle, and proposals that its owner has not read yet.
type CycleChanges struct {
	Callers   []CycleCaller
	Proposals []CycleProposal // of other replicas' callers
}

// Propose writes proposals for the owner of the cycle, and which callers will propose no more. collecting is false when
// the cycle takes no more proposals: then nothing was written. The same proposals may be written again. Errors:
// Unavailable.
func (s *Store) Propose(ctx context.Context, ref CycleRef, proposals []CycleProposal,
	finished []uuid.UUID) (collecting bool, err error) {
	p := query.ProposeParams{Region: ref.Region, Cycle: ref.ID, Finished: finished}
	for _, c := range proposals {
		p.Callers = append(p.Callers, c.CallerID)
		p.Seqs = append(p.Seqs, c.Seq)
		// The id of a match is stored as bytes, since match functions may send bytes that Postgres's text rejects.
		p.MatchIds = append(p.MatchIds, []byte(c.MatchID))
		p.Scores = append(p.Scores, c.Score)
		p.Tickets = append(p.Tickets, packTexts(c.TicketIDs))
		p.Backfills = append(p.Backfills, c.Backfill.pack())
		p.Matches = append(p.Matches, c.EncodedMatch)
	}
	collecting, err = s.q.Propose(ctx, p)
	if err != nil {
		return false, frame.Classify(err)
	}
	if collecting {
		s.Notify(TopicCycle, ref.Region)
	}
	return collecting, nil
}

// ReadCycleChanges returns all callers of a cycle, and the proposals after those that the owner has read: lastSeqs has
// the number of the last one of each caller. Errors: Unavailable.
func (s *Store) ReadCycleChanges(ctx context.Context, ref CycleRef,
	lastSeqs map[uuid.UUID]int32) (CycleChanges, error) {
	return s.sendAndReadChanges(ctx, ref, lastSeqs, &tx.Pipeline{})
}

// AdvanceCycle moves a cycle to a state, and then returns its changes as ReadCycleChanges does. They include all that
// transactions wrote in the state before: later transactions see the new state. Errors: Superseded when the replica is
// no longer the owner, Unavailable.
func (s *Store) AdvanceCycle(ctx context.Context, ref CycleRef, state string,
	lastSeqs map[uuid.UUID]int32) (CycleChanges, error) {
	var p tx.Pipeline
	var advanced int64
	// First in the pipeline: it waits for transactions that join or propose, so that the statements after it see what
	// these wrote.
	query.Queue(&p, &advanced, (*query.Queries).AdvanceCycle,
		query.AdvanceCycleParams{Region: ref.Region, ID: ref.ID, Replica: ref.ReplicaID, State: state,
			Lease: ref.LeaseTTL})
	changes, err := s.sendAndReadChanges(ctx, ref, lastSeqs, &p)
	if err != nil {
		return CycleChanges{}, err
	}
	if advanced == 0 {
		return CycleChanges{}, cycleLost()
	}
	return changes, nil
}

// sendAndReadChanges sends a pipeline, and with it the statements that read the changes of a cycle.
func (s *Store) sendAndReadChanges(ctx context.Context, ref CycleRef, lastSeqs map[uuid.UUID]int32,
	p *tx.Pipeline) (CycleChanges, error) {
	var callers []query.CallersOfCycleRow
	var rows []query.ProposalsSinceRow
	since := query.ProposalsSinceParams{Region: ref.Region, Cycle: ref.ID, Replica: ref.ReplicaID,
		Callers: []uuid.UUID{}, Seqs: []int32{}}
	for caller, seq := range lastSeqs {
		since.Callers = append(since.Callers, caller)
		since.Seqs = append(since.Seqs, seq)
	}
	query.Queue(p, &callers, (*query.Queries).CallersOfCycle,
		query.CallersOfCycleParams{Region: ref.Region, Cycle: ref.ID, Lease: ref.LeaseTTL})
	// Proposals are read after the callers, so that no proposal of a finished caller is missing.
	query.Queue(p, &rows, (*query.Queries).ProposalsSince, since)
	if err := s.q.Send(ctx, p); err != nil {
		return CycleChanges{}, frame.Classify(err)
	}
	var changes CycleChanges
	for _, c := range callers {
		changes.Callers = append(changes.Callers, CycleCaller(c))
	}
	for _, row := range rows {
		c, err := proposalOf(row)
		if err != nil {
			return CycleChanges{}, err
		}
		changes.Proposals = append(changes.Proposals, c)
	}
	return changes, nil
}

func proposalOf(row query.ProposalsSinceRow) (CycleProposal, error) {
	c := CycleProposal{CallerID: row.Caller, Seq: row.Seq, MatchID: string(row.MatchID), EncodedMatch: row.Match,
		IsDecided: row.Accepted != nil}
	if row.Score != nil {
		c.Score = *row.Score
	}
	var err error
	if c.TicketIDs, err = unpackTexts(row.Tickets); err != nil {
		return CycleProposal{}, err
	}
	if row.Backfill == nil {
		return c, nil
	}
	c.Backfill, err = unpackBackfill(row.Backfill)
	return c, err
}

var errPacked = errors.New("a packed proposal cannot be decoded")

// packTexts encodes texts one after the other, each with its length before it. They may contain bytes that Postgres's
// text rejects.
func packTexts(texts []string) []byte {
	b := []byte{}
	for _, t := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(t))), t...)
	}
	return b
}

// unpackTexts decodes what packTexts has encoded.
func unpackTexts(b []byte) (texts []string, err error) {
	for len(b) > 0 {
		var t string
		if t, b, err = cutText(b); err != nil {
			return nil, err
		}
		texts = append(texts, t)
	}
	return texts, nil
}

// cutText decodes the first of the texts that packTexts has encoded.
func cutText(b []byte) (text string, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return "", nil, errPacked
	}
	return string(b[size : size+int(n)]), b[size+int(n):], nil
}

// pack encodes a backfill; nil: the match has none.
func (m *MatchBackfill) pack() []byte {
	if m == nil {
		return nil
	}
	return append(binary.AppendVarint(packTexts([]string{m.ID}), m.Generation), m.Body...)
}

func unpackBackfill(b []byte) (*MatchBackfill, error) {
	id, b, err := cutText(b)
	if err != nil {
		return nil, err
	}
	generation, size := binary.Varint(b)
	if size <= 0 {
		return nil, errPacked
	}
	return &MatchBackfill{ID: id, Generation: generation, Body: b[size:]}, nil
}
