package lobby

import "slices"

// takePlace gives a session the place in the match that another session of its player has. It returns that session, ""
// if there is none, or if the session has a place of its own.
func (r *Room) takePlace(session, player string) (old string) {
	// A client without a name has the id of its session as its player, and so no other session.
	if slices.Contains(r.Participants, session) || player == session {
		return ""
	}
	at := r.placeOf(player)
	if at < 0 {
		return ""
	}
	old = r.Participants[at]
	r.Participants = slices.Clone(r.Participants)
	r.Participants[at] = session
	r.InvitedMembers = withoutMember(r.InvitedMembers, old)
	return old
}

// placeOf returns which participant a player is, or -1. Of several it is the first that is not connected to the room:
// where players are matched by session, one may be there twice.
func (r *Room) placeOf(player string) int {
	connected := func(session string) bool {
		m, joined := r.Member(session)
		return joined && !m.IsAway
	}
	found := -1
	for i, p := range r.Places[:min(len(r.Places), len(r.Participants))] {
		named := p.Player != r.Participants[i] // a sub may look like the id of a session without one
		if named && p.Player == player && (found < 0 || connected(r.Participants[found])) {
			found = i
		}
	}
	return found
}

// seatOf returns the player for whom the game server keeps the seat of a participant, "" if the room does not know it.
func (r *Room) seatOf(session string) string {
	at := slices.Index(r.Participants, session)
	if at < 0 || at >= len(r.Places) {
		return ""
	}
	return r.Places[at].SeatPlayer
}
