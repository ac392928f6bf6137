package lobby

import "slices"

// Member returns the member that has joined with the session.
func (r *Room) Member(session string) (Member, bool) { return findMember(r.Members, session) }

// RemoveMember takes a member out of the room for a reason that all members receive. The caller, a [Logic], then does
// what it does in OnLeave.
func (r *Room) RemoveMember(session, reason string) (Member, bool) {
	m, ok := r.takeMember(session)
	if ok {
		r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session, Reason: reason})
		r.Effects = append(r.Effects, Effect{Kind: EffectRemove, Session: session, Player: m.Player, Reason: reason})
	}
	return m, ok
}

// addMember makes a session a member; the invitations of its player are used up.
func (r *Room) addMember(session, player string) Member {
	r.JoinCount++
	m := Member{Session: session, Player: player, JoinOrder: r.JoinCount}
	r.endInvitations(session, player)
	// Clipped, so that append copies: the room of before an action that fails must keep its members.
	r.Members = append(slices.Clip(r.Members), m)
	r.Entries = append(r.Entries, Entry{Kind: EntryJoined, Session: session})
	return m
}

// endInvitations ends the invitations of a session and of its player, and reports whether there was one. In a match,
// each session has its own.
func (r *Room) endInvitations(session, player string) bool {
	open := func(m Member) bool { return m.Session == session || r.Participants == nil && m.Player == player }
	if !slices.ContainsFunc(r.InvitedMembers, open) {
		return false
	}
	// A copy: if the action fails, the room from before it is restored, which shares this list.
	r.InvitedMembers = slices.DeleteFunc(slices.Clone(r.InvitedMembers), open)
	return true
}

// takeMember removes a member, and its key of the state.
func (r *Room) takeMember(session string) (Member, bool) {
	m, ok := r.Member(session)
	if ok {
		r.Members = withoutMember(r.Members, session)
		r.DeleteKey(memberKey(session))
	}
	return m, ok
}

// setAway notes whether a member's socket is gone, and returns the member.
func (r *Room) setAway(session string, away bool) (m Member, changed, ok bool) {
	at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false, false
	}
	changed = r.Members[at].IsAway != away
	if changed {
		r.Members = slices.Clone(r.Members) // see addMember
		r.Members[at].IsAway = away
	}
	return r.Members[at], changed, true
}

// memberKey is the key of the state that is a member's own: a change of one member is a patch of that member alone.
func memberKey(session string) string { return "m:" + session }

func findMember(members []Member, session string) (Member, bool) {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false
	}
	return members[at], true
}

// withoutMember returns a new list: the room of before an action that fails shares the old one.
func withoutMember(members []Member, session string) []Member {
	left := make([]Member, 0, len(members))
	for _, m := range members {
		if m.Session != session {
			left = append(left, m)
		}
	}
	return left
}
