package lobby

import "slices"

// EnqueueFromOutside returns the action by which the owner of a room, a player, queues its members from outside of the
// room: by a request for a ticket of players, which are sorted. Members that are queued already stay queued; the
// caller, which knows their ticket, compares it with the new one. Errors: [ErrWrongType]; [ErrNotMember];
// [ErrNotOwner]; [ErrChanged] if the members are other players by now; code invalid if they may not queue.
func (t *Types) EnqueueFromOutside(owner string, players []string, q Queue) Action {
	return atomicAction(func(r *Room) error {
		logic, ok := t.logicOf(r).(queuing)
		if !ok {
			return ErrWrongType
		}
		at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Player == owner })
		switch {
		case at < 0:
			return ErrNotMember
		// As inside of the room, where only the owner starts.
		case r.Members[at].Session != r.textOf("owner"):
			return ErrNotOwner
		case !slices.Equal(playersOf(r), players):
			return ErrChanged
		}
		if err := logic.checkEnqueue(r, q); err != nil {
			return err
		}
		r.EnqueueMembers(q)
		setQueued(r, q)
		return nil
	})
}

// playersOf returns the players of the members, sorted.
func playersOf(r *Room) (players []string) {
	for _, m := range r.Members {
		players = append(players, m.Player)
	}
	slices.Sort(players)
	return players
}

// CancelQueued returns the action of a room whose ticket a member cancels from outside of the room. It changes nothing
// unless the members are queued.
func (t *Types) CancelQueued() Action {
	return t.queuingAction(func(r *Room, _ queuing) {
		if r.textOf("phase") == phaseQueued {
			dequeueAndReopen(r)
		}
	})
}
