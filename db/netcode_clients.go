package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// ReportClients seats the players of listed clients, and frees the seats of clients that are missing in the list, as
// seat reports do. A list that changes nothing writes nothing. Lists that wait at the same time share their reads.
// Errors: NotFound or Superseded for the instance, Conflict if it takes no connect tokens, Unavailable.
func (s *Store) ReportClients(ctx context.Context, l ClientList) (ClientListResult, error) {
	return s.batchGroups.clientLists.Do(ctx, "", l)
}

// clientsBatch decides one list of each server; another list of the same server stays for the next batch. A list that
// arrives late can be applied only while no newer one has changed anything. The next list then corrects it.
func (s *Store) clientsBatch(ctx context.Context, _ string, calls []*clientsCall) error {
	lists, err := s.readClients(ctx, calls)
	if err != nil {
		return err
	}
	changes := map[string][]*clientList{} // by region
	for _, l := range lists {
		if applies, refusal := l.judge(s.liveRegionHere); !applies {
			l.call.Answer(ClientListResult{}, refusal)
			continue
		}
		if !l.hasChanges() {
			l.answer()
			continue
		}
		changes[l.serverRow.Region] = append(changes[l.serverRow.Region], l)
	}
	for region, lists := range changes {
		if err := s.writeClients(ctx, region, lists); err != nil {
			return err
		}
	}
	return nil
}

// readClients returns one list of each server, by the server's id, with the stored state of the server and its clients.
// It reads the servers first: a transaction that changes a client after that also changes the number of the server's
// list, which advanceClients compares.
func (s *Store) readClients(ctx context.Context, calls []*clientsCall) (map[string]*clientList, error) {
	lists := make(map[string]*clientList, len(calls))
	var ids []string
	var listed query.ListedClientsParams
	for _, c := range calls {
		id := c.Req.InstanceRef.InstanceID
		// A second list of a server gets no answer, and stays for the next batch.
		if lists[id] != nil {
			continue
		}
		lists[id] = newClientList(c)
		ids = append(ids, id)
		for _, client := range c.Req.ClientIDs {
			listed.InstanceIds = append(listed.InstanceIds, id)
			listed.ClientIds = append(listed.ClientIds, int64(client))
		}
	}
	var out tx.Pipeline
	var servers []query.ClientServersRow
	var seats []query.ListedClientsRow
	var connected []query.ConnectedClientsRow
	query.Queue(&out, &servers, (*query.Queries).ClientServers, ids)
	query.Queue(&out, &seats, (*query.Queries).ListedClients, listed)
	query.Queue(&out, &connected, (*query.Queries).ConnectedClients, ids)
	if err := out.Send(ctx, s.pool); err != nil {
		return nil, err
	}
	for _, r := range servers {
		lists[r.InstanceID].serverRow = r
	}
	for _, r := range seats {
		lists[r.InstanceID].seatsByClient[uint64(r.ClientID)] = r
	}
	for _, r := range connected {
		lists[r.InstanceID].addConnected(r)
	}
	return lists, nil
}

// writeClients applies the changes of one region in one transaction.
func (s *Store) writeClients(ctx context.Context, region string, lists []*clientList) error {
	var reports []*report
	var newReporters []string
	var calls []*reportCall
	rt := reportTx{store: s, region: region}
	for _, l := range lists {
		calls = append(calls, l.makeReports(ctx)...)
		// Also for an empty list: from now on the seats of this server expire with their tokens.
		if !l.serverRow.ReportsSeats {
			rt.newReporters = append(rt.newReporters, l.serverRow.InstanceID)
		}
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		rt.q = q
		known, err := rt.load(ctx, calls)
		if err != nil {
			return err
		}
		// None of the reports is about a session of another instance: the seats were read for this instance.
		reports, _ = known.decide(calls)
		if newReporters, err = rt.write(ctx, reports); err != nil {
			return err
		}
		// Last, since deployments are locked after sessions, seats and instances.
		return advanceClients(ctx, q, region, lists)
	})
	if err != nil {
		return err
	}
	s.expireWithTokens(ctx, region, newReporters)
	s.answerReports(reports)
	for _, l := range lists {
		l.answer()
	}
	return nil
}

// advanceClients stores the numbers of the lists with the deployments of their servers. Errors: a conflict where
// another list has changed something since readClients, or the server has registered again; the batch is then decided
// again.
func advanceClients(ctx context.Context, q *query.Queries, region string, lists []*clientList) error {
	p := query.AdvanceClientsParams{Region: region}
	for _, l := range lists {
		id, err := uuid.Parse(l.serverRow.InstanceID)
		if err != nil {
			return err
		}
		p.Ids = append(p.Ids, id)
		p.Incarnations = append(p.Incarnations, l.serverRow.Incarnation)
		p.Before = append(p.Before, l.serverRow.Seq)
		p.Seqs = append(p.Seqs, l.call.Req.Seq)
	}
	advanced, err := q.AdvanceClients(ctx, p)
	if err != nil {
		return err
	}
	if len(advanced) < len(lists) {
		return frame.ErrRolledBack
	}
	return nil
}
