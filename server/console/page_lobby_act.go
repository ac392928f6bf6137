package console

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// roomAction is an action in a room of the realtime lobby, or on a player in it.
type roomAction struct {
	path        string
	title       string // the beginning of the title, before the player or the room
	isOnPlayer  bool
	effects     []string
	button      string
	isDanger    bool
	hidesReason bool
	endsRoom    bool
	fields      []field
	outcome     string // the end of the sentence about the outcome, after the player or the room
	do          func(ctx context.Context, in db.RoomAct, player string, d deed) error
}

// minutesField is the field of sanctions that end.
var minutesField = field{Name: "minutes", Label: "For how many minutes", Number: true,
	Help: fmt.Sprintf("Empty: while the room lives. At most %d, a year.", maxSanctionMinutes)}

// maxSanctionMinutes is lobby.MaxSanction in the unit of minutesField.
const maxSanctionMinutes = int(lobby.MaxSanction / time.Minute)

// roomActions are mounted as an action each.
var roomActions = []roomAction{
	{
		path: "/lobby/kick", title: "Take out of the room: ", isOnPlayer: true, button: "Kick",
		outcome: " has left the room.",
		effects: []string{"The player leaves the room, and its invitations end. It may join again."},
		do: func(ctx context.Context, in db.RoomAct, player string, _ deed) error {
			return in.Kick(ctx, player)
		},
	},
	{
		path: "/lobby/ban", title: "Ban from the room: ", isOnPlayer: true, button: "Ban",
		outcome: " is banned from the room.",
		effects: []string{"The player leaves the room and cannot join it again.", "A pardon ends the ban."},
		fields:  []field{minutesField},
		do: func(ctx context.Context, in db.RoomAct, player string, d deed) error {
			lasts, err := sanctionTime(d)
			if err != nil {
				return err
			}
			return in.Ban(ctx, player, lasts)
		},
	},
	{
		path: "/lobby/mute", title: "Mute in the room: ", isOnPlayer: true, button: "Mute",
		outcome: " is muted in the room.",
		effects: []string{"What the player says in the room is refused.", "A pardon ends it."},
		fields:  []field{minutesField},
		do: func(ctx context.Context, in db.RoomAct, player string, d deed) error {
			lasts, err := sanctionTime(d)
			if err != nil {
				return err
			}
			return in.Mute(ctx, player, lasts)
		},
	},
	{
		path: "/lobby/pardon", title: "Pardon in the room: ", isOnPlayer: true, button: "Pardon",
		outcome: " is pardoned.",
		effects: []string{"The ban and the mute of the player in this room end."},
		do: func(ctx context.Context, in db.RoomAct, player string, _ deed) error {
			return in.Pardon(ctx, player)
		},
	},
	{
		path: "/lobby/close", title: "End the room ", button: "End the room", isDanger: true, endsRoom: true, outcome: " has ended.",
		effects: []string{"All members leave it, and a party leaves the queue.",
			"Whoever joins its id next makes a new room.",
			"This cannot be undone."},
		do: func(ctx context.Context, in db.RoomAct, _ string, _ deed) error { return in.Close(ctx) },
	},
	{
		path: "/lobby/message", title: "Send a message to the room ", button: "Send", hidesReason: true,
		outcome: " has the message.",
		effects: []string{"The members receive it as what the room says, without a sender. An event has your name, and not the text."},
		fields:  []field{{Name: "text", Label: "Message", Help: fmt.Sprintf("At most %d characters.", maxFieldLength)}},
		do: func(ctx context.Context, in db.RoomAct, _ string, d deed) error {
			if d.Values["text"] == "" {
				return fault.New(fault.Invalid, "invalid", "Write what the room says.")
			}
			data, err := json.Marshal(map[string]string{"text": d.Values["text"]})
			if err != nil {
				return err
			}
			return in.Announce(ctx, "say", data)
		},
	},
}

// sanctionTime returns how long a ban or a mute lasts by the form; 0: while the room lives. Errors: Invalid.
func sanctionTime(d deed) (time.Duration, error) {
	text := d.Values[minutesField.Name]
	if text == "" {
		return 0, nil
	}
	minutes, err := strconv.Atoi(text)
	if err != nil || minutes < 1 || minutes > maxSanctionMinutes {
		return 0, fault.New(fault.Invalid, "invalid", "The minutes must be a number from 1 to %d, or empty.",
			maxSanctionMinutes)
	}
	return time.Duration(minutes) * time.Minute, nil
}

// subjectOf is the player or the room, for titles and outcomes.
func (r roomAction) subjectOf(q query) string {
	if r.isOnPlayer {
		return q.Exactly("player")
	}
	return q.Exactly("room")
}

// toAction makes an action, whose path and question name the room.
func (r roomAction) toAction() action {
	return action{
		routePath: r.path,
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			room, err := s.ReadLobby(ctx, q.Exactly("project"), q.Exactly("room"))
			back := lobbyPath(q)
			if r.endsRoom {
				// The room has no page any more.
				back = lobbiesPage.routePath
			}
			back = backToPlayer(q, back)
			says := append([]string{"Room " + room.Room + ", a " + room.Type + " with " +
				pluralText(len(room.Members), "member", "members") + "."}, r.effects...)
			return question{Title: r.title + r.subjectOf(q) + "?", Effects: says, Button: r.button, Danger: r.isDanger,
				Back: back,
				// Support has to say why it acts on a player; a moderator in a room need not.
				RequiresReason: isFromPlayer(q), HidesReason: r.hidesReason, Fields: r.fields}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			in := s.As(d.Actor).Because(d.Reason).InRoom(q.Exactly("project"), q.Exactly("room"))
			err := r.do(ctx, in, q.Exactly("player"), d)
			// askFirst has found the room, so it is the player who is not found.
			if fault.Is(err, fault.NotFound) && r.isOnPlayer {
				return r.subjectOf(q) + " is not in the room: nothing changed.", nil
			}
			return r.subjectOf(q) + r.outcome, err
		},
	}
}
