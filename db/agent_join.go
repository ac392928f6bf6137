package db

import "github.com/lattice-director/director/db/query"

// join lists an agent. A doubted agent is listed again; the join of a listed agent is a repetition.
func (t *agentTx) join(a *agentRow, j AgentJoin) {
	// An agent that appears in lists by this join brings its rooms in the event agent.joined, so none of them gets an
	// event of its own.
	returns := a.isNew || a.joinedElsewhere
	if a.isNew {
		for _, p := range t.predecessors[a.ref.ID] {
			t.inherit(a, p, j)
		}
	}
	if a.joinedElsewhere {
		a.joinedElsewhere, a.changed = false, true
	}
	t.replied(a, j.Age, j.Hash, j.Seq)
	t.setContent(a, j.Content)
	t.removeUnshown(a, basesOf(j.Rooms), !returns)
	t.showRooms(a, j.Rooms, !returns)
	t.judgeRooms(a, j.Age)
	if returns {
		t.log.joined(EventAgentJoined, a)
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
		a.isKept, a.changed = kept, true
	}
	if kept && c.Status != AgentDraining && a.inFlight == 0 {
		a.inFlight, a.changed = 1, true
		t.drains = append(t.drains, keptDrain{a, actor})
		t.wake[a.ref.Replica] = true
	}
}

// removeUnshown deletes the reported rooms that an agent no longer reports. judgeRooms handles rooms that were never
// reported.
func (t *agentTx) removeUnshown(a *agentRow, shown map[string]bool, announce bool) {
	for _, r := range t.ofID[a.ref.ID] {
		if r.state == roomReported && !shown[r.base] {
			t.removeRoom(a, r, announce)
		}
	}
}

// inherit moves rows of an earlier agent of the same process to the new agent: the rooms that it reports, with their
// public ids, and the commands that its report shows to be carried out. The earlier agent leaves, or is doubted if its
// replica may still hold its connection.
func (t *agentTx) inherit(a *agentRow, p predecessor, j AgentJoin) {
	old := t.agents[p.id]
	// FindPredecessors ran before the locks, so all that it said of the other agent is judged again here.
	if old == nil || !old.listed() || old.ref.Replica == a.ref.Replica ||
		old.content.ProcessUID != j.Content.ProcessUID {
		return
	}
	t.log.noteLeaving(old, t)
	shown := basesOf(j.Rooms)
	for _, r := range t.ofID[old.ref.ID] {
		_, taken := t.rooms[roomKey{a.ref.ID, r.base}]
		// Several earlier agents may have shown the same room. The first of them passes it on, the others lose theirs.
		if r.deleted || taken || !shown[r.base] {
			r.deleted = true
			continue
		}
		t.moveRoom(old, a, r)
	}
	for _, c := range t.pendingCommands[old.ref.ID] {
		t.settle(c, evidence(c, shown, j.Content.Status), a.ref.ID)
	}
	old.clear()
	old.hasLeft, old.joinedElsewhere = p.isGone, !p.isGone
	// The replica of the earlier agent must close the connection, or poll at once to find out whether it still lives.
	t.wake[old.ref.Replica] = true
}

func (t *agentTx) moveRoom(from, to *agentRow, r *roomRow) {
	delete(t.rooms, roomKey{from.ref.ID, r.base})
	r.agent, r.changed = to.ref.ID, true
	t.rooms[roomKey{to.ref.ID, r.base}] = r
	t.ofID[to.ref.ID] = append(t.ofID[to.ref.ID], r)
	to.count(r, 1)
}

// evidence returns the outcome of a command whose ack is lost, judged by the rooms and the status that the process
// reports.
func evidence(c query.PendingOfAgentsRow, shown map[string]bool, status string) CommandState {
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
	if a.listed() {
		t.log.noteLeaving(a, t)
	}
	for _, r := range t.ofID[a.ref.ID] {
		r.deleted = true
	}
	for _, c := range t.pendingCommands[a.ref.ID] {
		t.settle(c, CommandDisconnected, a.ref.ID)
	}
	a.clear()
	a.hasLeft = true
}

func (t *agentTx) settle(c query.PendingOfAgentsRow, state CommandState, agent string) {
	t.settled = append(t.settled, settledCommand{c.ID, state, agent})
	if c.Caller != nil {
		t.wake[*c.Caller] = true
	}
}

// clear deletes the rooms of an agent that is no longer listed, and settles its commands.
func (a *agentRow) clear() {
	a.connections, a.rooms, a.reserved, a.inFlight, a.owesSnapshot, a.changed = 0, 0, 0, 0, false, true
}
