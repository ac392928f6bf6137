package db

import "github.com/lattice-director/director/db/query"

// join lists an agent. A doubted agent is listed again; the join of a listed agent is a repetition.
func (t *agentTx) join(a *agentRow, j AgentJoin) {
	// An agent that appears in lists by this join brings its rooms in the event agent.joined, so none of them gets an
	// event of its own.
	returns := a.isNew || a.joinedElsewhere
	if a.isNew {
		for _, p := range t.predecessorsOf[a.ref.ID] {
			t.inherit(a, p, j)
		}
	}
	if a.joinedElsewhere {
		a.joinedElsewhere, a.hasNewState = false, true
	}
	t.replied(a, j.ReplyAge, j.StateHash, j.ReplySeq)
	t.setContent(a, j.Content)
	t.removeUnshown(a, basesOf(j.ReportedRooms), !returns)
	t.showRooms(a, j.ReportedRooms, !returns)
	t.judgeRooms(a, j.ReplyAge)
	if returns {
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

// setContent replaces the content of an agent. If a drain is kept for its name and endpoint, the agent counts as
// draining, and it is sent a drain command.
func (t *agentTx) setContent(a *agentRow, c AgentContent) {
	a.setContent(c)
	actor, kept := t.keptActors[keptKey{c.Name, c.EndpointURL}]
	if kept != a.isKept {
		a.isKept, a.hasNewState = kept, true
	}
	if kept && c.Status != AgentDraining && a.inFlight == 0 {
		a.inFlight, a.hasNewState = 1, true
		t.keptDrains = append(t.keptDrains, keptDrain{a, actor})
		t.wokenReplicas[a.ref.ReplicaID] = true
	}
}

// removeUnshown deletes the reported rooms that an agent no longer reports. judgeRooms handles rooms that were never
// reported.
func (t *agentTx) removeUnshown(a *agentRow, shown map[string]bool, announce bool) {
	for _, r := range t.ofID[a.ref.ID] {
		if r.state == roomReported && !shown[r.baseID] {
			t.removeRoom(a, r, announce)
		}
	}
}

// inherit moves rows of an earlier agent of the same process to the new agent: the rooms that it reports, with their
// public ids, and the commands that its report shows to be carried out. The earlier agent leaves, or is doubted if its
// replica may still hold its connection.
func (t *agentTx) inherit(a *agentRow, p predecessor, j AgentJoin) {
	old := t.agentsByID[p.agentID]
	// FindPredecessors ran before the locks, so all that it said of the other agent is judged again here.
	if old == nil || !old.isListed() || old.ref.ReplicaID == a.ref.ReplicaID ||
		old.content.ProcessUID != j.Content.ProcessUID {
		return
	}
	t.agentEvents.noteLeaving(old, t)
	shown := basesOf(j.ReportedRooms)
	for _, r := range t.ofID[old.ref.ID] {
		_, taken := t.roomsByKey[roomKey{a.ref.ID, r.baseID}]
		// Several earlier agents may have shown the same room. The first of them passes it on, the others lose theirs.
		if r.isDeleted || taken || !shown[r.baseID] {
			r.isDeleted = true
			continue
		}
		t.moveRoom(old, a, r)
	}
	for _, c := range t.pendingCommands[old.ref.ID] {
		t.settle(c, commandEvidence(c, shown, j.Content.Status), a.ref.ID)
	}
	old.clear()
	old.hasLeft, old.joinedElsewhere = p.isGone, !p.isGone
	// The replica of the earlier agent must close the connection, or poll at once to find out whether it still lives.
	t.wokenReplicas[old.ref.ReplicaID] = true
}

func (t *agentTx) moveRoom(from, to *agentRow, r *roomRow) {
	delete(t.roomsByKey, roomKey{from.ref.ID, r.baseID})
	r.agentID, r.hasChanged = to.ref.ID, true
	t.roomsByKey[roomKey{to.ref.ID, r.baseID}] = r
	t.ofID[to.ref.ID] = append(t.ofID[to.ref.ID], r)
	to.count(r, 1)
}

// commandEvidence returns the outcome of a command whose ack is lost, judged by the rooms and the status that the process
// reports.
func commandEvidence(c query.PendingOfAgentsRow, shown map[string]bool, status string) CommandState {
	var done bool
	switch CommandOp(c.Op) {
	case CommandCreate:
		done = c.Base != nil && shown[*c.Base]
	case CommandDestroy:
		done = c.Base != nil && !shown[*c.Base]
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
		t.agentEvents.noteLeaving(a, t)
	}
	for _, r := range t.ofID[a.ref.ID] {
		r.isDeleted = true
	}
	for _, c := range t.pendingCommands[a.ref.ID] {
		t.settle(c, CommandDisconnected, a.ref.ID)
	}
	a.clear()
	a.hasLeft = true
}

func (t *agentTx) settle(c query.PendingOfAgentsRow, state CommandState, agent string) {
	t.settledCommands = append(t.settledCommands, settledCommand{c.ID, state, agent})
	if c.Caller != nil {
		t.wokenReplicas[*c.Caller] = true
	}
}

// clear deletes the rooms of an agent that is no longer listed, and settles its commands.
func (a *agentRow) clear() {
	a.connectionCount, a.roomCount, a.reservedCount, a.inFlight, a.owesSnapshot, a.hasNewState = 0, 0, 0, 0, false, true
}
