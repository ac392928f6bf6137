package lobby

import (
	"context"
	"time"
)

// Invite invites a player, by the "sub" of its token, for five minutes, and returns how many connections of the player
// the invitation has reached: 0 as well for a player who does not exist. Errors: those of [Room.Send] but
// [ErrUncertain].
func (r *Room) Invite(ctx context.Context, player string) (reached int, err error) {
	var answer struct{ Reached int }
	err = r.client.repeatWhileDown(ctx, func() error {
		return r.sendMessage(ctx, "invite", fields{"player": player}, &answer)
	})
	return answer.Reached, err
}

// SetData shows all members the data of this one, such as its character and colour; nil removes the data. Errors: as
// Ready.
func (r *Room) SetData(ctx context.Context, data map[string]any) error {
	return r.setValue(ctx, "member", fields{"data": data})
}

// Ready says whether this member of a lobby is ready. A change takes all members out of the queue. Errors: those of
// [Room.Send] but [ErrUncertain].
func (r *Room) Ready(ctx context.Context, ready bool) error {
	return r.setValue(ctx, "ready", fields{"ready": ready})
}

// Team chooses a team of a lobby: a string, a whole number, or nil. Errors: as Ready.
func (r *Room) Team(ctx context.Context, team any) error {
	return r.setValue(ctx, "team", fields{"team": team})
}

// Set changes a setting of a lobby; nil deletes it. For the owner. Errors: as Ready, and refused.
func (r *Room) Set(ctx context.Context, key string, value any) error {
	return r.setValue(ctx, "set", fields{"key": key, "value": value})
}

// Lock decides whether others may join a party or a lobby. For the owner. Errors: as Ready, and refused.
func (r *Room) Lock(ctx context.Context, locked bool) error {
	return r.setValue(ctx, "lock", fields{"locked": locked})
}

// Kick removes a member of a party or a lobby, by its session. For the owner. Errors: those of [Room.Send], and
// refused.
func (r *Room) Kick(ctx context.Context, session string) error {
	return r.Send(ctx, "kick", fields{"session": session})
}

// Ban removes a member of a party or a lobby, by its session, whose player cannot join again while the room lives. For
// the owner. Errors: as Kick.
func (r *Room) Ban(ctx context.Context, session string) error {
	return r.Send(ctx, "kick", fields{"session": session, "ban": true})
}

// GiveOwnership makes another member the owner of a party or a lobby. For the owner. Errors: those of [Room.Send], and
// refused.
func (r *Room) GiveOwnership(ctx context.Context, session string) error {
	return r.Send(ctx, "owner", fields{"session": session})
}

// Countdown shows all members of a lobby a countdown in whole seconds, if all are ready and connected. [Room.Start]
// afterwards begins. For the owner. Errors: those of [Room.Send]; refused, invalid.
func (r *Room) Countdown(ctx context.Context, d time.Duration) error {
	return r.Send(ctx, "countdown", fields{"seconds": int(d.Seconds())})
}

// Queue lets the members of a party queue together. For the owner. Errors: those of [Room.Send]; refused, invalid,
// cannot_match, profile_unknown.
func (r *Room) Queue(ctx context.Context, q Queue) error { return r.Send(ctx, "queue", q) }

// Start lets the members of a lobby queue together, if all are ready and connected. The zero value of Queue is what the
// type of the room queues for. For the owner. Errors: as Queue.
func (r *Room) Start(ctx context.Context, q Queue) error { return r.Send(ctx, "start", q) }

// CancelQueue takes the members out of the queue. Errors: those of [Room.Send] but [ErrUncertain].
func (r *Room) CancelQueue(ctx context.Context) error { return r.setValue(ctx, "cancel", fields{}) }

// RoomChange is what the owner changes of a room. What is nil or 0 stays.
type RoomChange struct {
	Private    *bool          `json:"private,omitempty"`
	Locked     *bool          `json:"locked,omitempty"`
	MaxMembers int            `json:"max_members,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"` // replaces all of it
}

// Update changes the room. For the owner of a party or a lobby. Errors: [*Error] with refused, invalid; those of
// [Client.Repeat].
func (r *Room) Update(ctx context.Context, change RoomChange) error {
	return r.client.Repeat(ctx, "room.update", r.ID, change, nil)
}
