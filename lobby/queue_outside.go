package lobby

import "slices"

// AskedFor returns the action by which the owner of a room, a player, queues its members from outside of the room, with
// a ticket that was made for these players, in sorted order. A room whose members are queued stays so; whoever runs the
// action compares the tickets. Errors: [ErrWrongType]; [ErrNotMember]; [ErrNotOwner]; [ErrChanged] if the members are
// other players by now; code invalid if they may not queue.
func (t *Types) AskedFor(owner string, players []string, q Queue) Action {
	return atomicAction(func(r *Room) error {
		logic, ok := t.logicOf(r).(queuing)
		if !ok {
			return ErrWrongType
		}
		at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Player == owner })
		switch {
		case at < 0:
			return ErrNotMember
		// As inside of the room, where the owner starts.
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
			takeBack(r)
		}
	})
}

// TypeOf returns the room type of matches of a profile: the first by name that has it, else match.
func (t *Types) TypeOf(profile string) string {
	found := "match"
	if t == nil || profile == "" {
		return found
	}
	var named []string
	for name, typ := range t.byName {
		if typ.ProfileName == profile {
			named = append(named, name)
		}
	}
	// Maps have no order: every replica must choose the same type for the room of a match.
	if len(named) > 0 {
		found = slices.Min(named)
	}
	return found
}
