package db

import "github.com/lattice-director/director/db/query"

// join lists an agent. A doubted agent is listed again; the join of a listed agent is a repetition.
func (t *agentTx) join(a *agentRow, j AgentJoin) {
	a.isNewlyListed = a.isNew || a.isDoubted
	if a.isNew {
		for _, p := range t.predecessorsOf[a.ref.ID] {
			t.inherit(a, p, j)
		}
	}
	if a.isDoubted {
		a.isDoubted, a.hasNewState = false, true
	}
	t.recordReply(a, j.ReplyAge, j.StateHash, j.ReplySeq)
	t.applyContent(a, j.Content)
	t.removeUnshown(a, basesOf(j.ReportedRooms))
	t.showRooms(a, j.ReportedRooms)
	t.judgeRooms(a, j.ReplyAge)
	if a.isNewlyListed {
		t.agentEvents.noteAgent(EventAgentJoined, a)
	}
}

func basesOf(rooms []ReportedRoom) map[string]bool {
	bases := make(map[string]bool, len(rooms))
	for _, r := range rooms {
		bases[roomBase(r.RawID)] = true
	}
	return bases
}

// applyContent replaces the content of an agent. If a drain is kept for the new name and endpoint, the agent counts as
// draining, and is sent a drain command.
func (t *agentTx) applyContent(a *agentRow, c AgentContent) {
	a.setContent(c)
	actor, kept := t.keptActors[keptKey{c.Name, c.EndpointURL}]
	if kept != a.isKept {
		a.isKept, a.hasNewState = kept, true
	}
	if kept && c.Status != AgentDraining && a.inFlight == 0 {
		a.inFlight, a.hasNewState = 1, true
		t.drainsToSend = append(t.drainsToSend, drainToSend{a, actor})
		t.wokenReplicas[a.ref.ReplicaID] = true
	}
}

// removeUnshown deletes the reported rooms that an agent no longer reports. judgeRooms handles rooms that were never
// reported.
func (t *agentTx) removeUnshown(a *agentRow, shownBases map[string]bool) {
	for _, r := range t.roomsByAgent[a.ref.ID] {
		if r.state == roomReported && !shownBases[r.baseID] {
			t.removeRoom(a, r)
		}
	}
}

// inherit moves rows of an earlier agent of the same process to the new agent: the rooms that the new agent reports,
// with their public ids, and the commands that its report shows to be carried out. The earlier agent leaves, or is
// doubted if its replica may still hold its connection.
func (t *agentTx) inherit(a *agentRow, p predecessor, j AgentJoin) {
	old := t.agentsByID[p.agentID]
	// FindPredecessors ran before the locks, so all that it said of the other agent is judged again here.
	if old == nil || !old.isListed() || old.ref.ReplicaID == a.ref.ReplicaID ||
		old.content.ProcessUID != j.Content.ProcessUID {
		return
	}
	t.agentEvents.noteLeft(old, t.sortedRooms(old.ref.ID))
	shownBases := basesOf(j.ReportedRooms)
	for _, r := range t.roomsByAgent[old.ref.ID] {
		_, taken := t.roomsByKey[roomKey{a.ref.ID, r.baseID}]
		// Several earlier agents may have shown the same room. The first of them passes it on, the others lose theirs.
		if r.isDeleted || taken || !shownBases[r.baseID] {
			r.isDeleted = true
			continue
		}
		t.moveRoom(old, a, r)
	}
	for _, c := range t.pendingCommands[old.ref.ID] {
		t.settle(c, commandEvidence(c, shownBases, j.Content.Status), a.ref.ID)
	}
	old.clearCounters()
	old.hasLeft, old.isDoubted = p.isGone, !p.isGone
	// The replica of the earlier agent must close the connection, or poll at once to find out whether it still lives.
	t.wokenReplicas[old.ref.ReplicaID] = true
}

func (t *agentTx) moveRoom(from, to *agentRow, r *roomRow) {
	delete(t.roomsByKey, roomKey{from.ref.ID, r.baseID})
	r.agentID, r.hasChanged = to.ref.ID, true
	t.roomsByKey[roomKey{to.ref.ID, r.baseID}] = r
	t.roomsByAgent[to.ref.ID] = append(t.roomsByAgent[to.ref.ID], r)
	to.count(r, 1)
}

// commandEvidence returns the outcome of a command whose ack is lost, judged by the rooms and the status that the
// process reports.
func commandEvidence(c query.PendingOfAgentsRow, shownBases map[string]bool, status string) CommandState {
	var done bool
	switch CommandOp(c.Op) {
	case CommandCreate:
		done = c.Base != nil && shownBases[*c.Base]
	case CommandDestroy:
		done = c.Base != nil && !shownBases[*c.Base]
	case CommandDrain:
		done = status == AgentDraining
	case CommandUndrain:
		done = status != AgentDraining
	}
	if done {
		return CommandDone
	}
	return CommandDisconnected
}

// leave ends an agent: its rooms are deleted, and its pending commands become disconnected.
func (t *agentTx) leave(a *agentRow) {
	if a.isListed() {
		t.agentEvents.noteLeft(a, t.sortedRooms(a.ref.ID))
	}
	for _, r := range t.roomsByAgent[a.ref.ID] {
		r.isDeleted = true
	}
	for _, c := range t.pendingCommands[a.ref.ID] {
		t.settle(c, CommandDisconnected, a.ref.ID)
	}
	a.clearCounters()
	a.hasLeft = true
}

// settle ends a command with a final state. agentID becomes its agent: the one that has carried it out.
func (t *agentTx) settle(c query.PendingOfAgentsRow, state CommandState, agentID string) {
	t.settledCommands = append(t.settledCommands, settledCommand{c.ID, state, agentID})
	if c.Caller != nil {
		t.wokenReplicas[*c.Caller] = true
	}
}

// clearCounters clears what is counted of an agent whose rooms are deleted and whose commands are settled.
func (a *agentRow) clearCounters() {
	a.connectionCount, a.roomCount, a.reservedCount, a.inFlight = 0, 0, 0, 0
	a.owesSnapshot, a.hasNewState = false, true
}
