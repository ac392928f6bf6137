package opsview

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// LobbyTotal has the numbers of the realtime lobby in a region.
type LobbyTotal struct {
	Region   string `db:"region" json:"region"`
	Replicas int64  `db:"replicas" json:"replicas"`
	// LeaseAge is the time since a replica last renewed its lease; nil: there is no replica.
	LeaseAge    *time.Duration `db:"lease_age" json:"lease_age"`
	Connected   int64          `db:"connected" json:"connected"` // sessions with a connection
	Suspended   int64          `db:"suspended" json:"suspended"`
	Rooms       int64          `db:"rooms" json:"rooms"`
	Members     int64          `db:"members" json:"members"`
	Invitations int64          `db:"invitations" json:"invitations"`
	Waiting     int64          `db:"waiting" json:"waiting"` // sessions that wait for a match
}

// LobbyTotals are sorted by region.
var LobbyTotals = View[LobbyTotal, Any]{name: "realtime", order: Order{"region"}}

// LobbyRoom is a room of the realtime lobby.
type LobbyRoom struct {
	Region     string     `db:"region" json:"region"`
	Project    string     `db:"project" json:"project"`
	Room       string     `db:"room" json:"room"` // its id, unique in the project
	Type       string     `db:"type" json:"type"`
	Members    int32      `db:"members" json:"members"`
	Away       int64      `db:"away" json:"away"` // members without a connection
	Invited    int64      `db:"invited" json:"invited"`
	MaxMembers int32      `db:"max_members" json:"max_members"`
	Private    bool       `db:"private" json:"private"`
	Locked     bool       `db:"locked" json:"locked"`
	Seq        int64      `db:"seq" json:"seq"`
	RowsSent   int64      `db:"rows_sent" json:"rows_sent"`
	StateBytes int32      `db:"state_bytes" json:"state_bytes"`
	Match      *uuid.UUID `db:"match" json:"match"`                                 // nil: none made it
	Session    string     `db:"session" sql:"coalesce(session, '')" json:"session"` // region.uuid; "": none
	CreatedAt  time.Time  `db:"created_at" json:"created_at"`
	ClosesAt   *time.Time `db:"closes_at" json:"closes_at"` // nil: it has members or invitations
	Code       string     `db:"code" sql:"coalesce(code, '')" json:"code"`
	Metadata   string     `db:"metadata" sql:"coalesce(metadata, '')" json:"metadata"`    // JSON; "": none
	Sanctions  string     `db:"sanctions" sql:"coalesce(sanctions, '')" json:"sanctions"` // JSON; "": none
}

// LobbyRooms are read in the order of region, project and id.
var LobbyRooms = View[LobbyRoom, LobbyRoomFilter]{name: "lobbies", order: Order{"region", "project", "room"}}

// LobbyRoomFilter selects rooms of the realtime lobby. Empty fields select all.
type LobbyRoomFilter struct {
	Project string
	Text    string // the beginning of their ids, or their type
}

func (f LobbyRoomFilter) selectRows(w *where) {
	w.addEqual("project", f.Project)
	if f.Text != "" {
		w.add("starts_with(room, ?) OR type = ?", f.Text, f.Text)
	}
}

// LobbySession is a session of the realtime lobby.
type LobbySession struct {
	Region  string `db:"region" json:"region"`
	Session string `db:"session" json:"session"`
	Project string `db:"project" json:"project"`
	// Player is the sub of its token; without one the session's own id.
	Player string `db:"player" sql:"coalesce(player, '')" json:"player"`
	// State is connected, cut off, suspended or expired.
	State          string     `db:"state" json:"state"`
	Replica        *uuid.UUID `db:"replica" json:"replica"`
	Epoch          int64      `db:"epoch" json:"epoch"`
	Authenticated  bool       `db:"authenticated" json:"authenticated"`
	Key            *string    `db:"key" json:"key"`
	Rooms          int64      `db:"rooms" json:"rooms"`
	Invitations    int64      `db:"invitations" json:"invitations"`
	Ticket         *string    `db:"ticket" json:"ticket"`       // nil: it does not queue
	WaitsFor       *string    `db:"waits_for" json:"waits_for"` // the type of room for which it queues
	CreatedAt      time.Time  `db:"created_at" json:"created_at"`
	SuspendedAt    *time.Time `db:"suspended_at" json:"suspended_at"` // nil while it is connected
	ExpiresAt      *time.Time `db:"expires_at" json:"expires_at"`
	Takeovers      int32      `db:"takeovers" json:"takeovers"`
	TakeoversSince *time.Time `db:"takeovers_since" json:"takeovers_since"`
}

// LobbySessionsOfPlayer are the sessions of a player, latest first. The index of players needs the project. Tokens of
// the master secret may name projects that nobody has created, so that the projects are those of the sessions: each step
// finds the next one by the same index.
var LobbySessionsOfPlayer = View[LobbySession, LobbySessionFilter]{name: "realtime_sessions",
	order: Order{"-created_at"}, each: group{
		from: `(WITH RECURSIVE found AS (
			(SELECT s.region, s.project FROM ops.realtime_sessions s ORDER BY s.region, s.project LIMIT 1)
			UNION ALL
			SELECT n.region, n.project FROM found f CROSS JOIN LATERAL (
				SELECT s.region, s.project FROM ops.realtime_sessions s WHERE (s.region, s.project) > (f.region, f.project)
				ORDER BY s.region, s.project LIMIT 1) n
			) SELECT region, project FROM found) g`,
		on: "v.region = g.region AND v.project = g.project", rowsPerGroup: 100,
	}}

// LobbySessionFilter selects the sessions of a player.
type LobbySessionFilter struct{ Player string }

func (f LobbySessionFilter) selectRows(w *where) { w.addExact("player", f.Player) }

// LobbyMember is somebody's place in a room of the realtime lobby, or an invitation into it.
type LobbyMember struct {
	Region    string     `db:"region" json:"region"`
	Project   string     `db:"project" json:"project"`
	Room      string     `db:"room" json:"room"`
	Type      string     `db:"type" json:"type"`
	Session   string     `db:"session" json:"session"`
	Player    string     `db:"player" json:"player"`
	State     string     `db:"state" json:"state"` // joined or invited
	Away      bool       `db:"away" json:"away"`
	JoinOrder *int64     `db:"join_order" json:"join_order"` // nil: invited
	InvitedBy *string    `db:"invited_by" json:"invited_by"` // a session; nil: none
	ExpiresAt *time.Time `db:"expires_at" json:"expires_at"` // of the invitation; nil: a member
}

// LobbyMembers are read in the order of region, project and room.
var LobbyMembers = View[LobbyMember, LobbyMemberFilter]{name: "lobby_members",
	order: Order{"region", "project", "room", "session"}}

// LobbyMemberFilter selects the places of these sessions, which an index finds with their regions. Empty fields select
// none.
type LobbyMemberFilter struct{ Regions, Sessions []string }

func (f LobbyMemberFilter) selectRows(w *where) {
	// Empty arrays, and not nil ones, which would be NULL.
	w.add("region = ANY (?)", append([]string{}, f.Regions...))
	w.add("session = ANY (?)", append([]string{}, f.Sessions...))
}

// membersOf reads the places of sessions in rooms, at most 100.
func membersOf(ctx context.Context, q Querier, sessions []LobbySession) ([]LobbyMember, error) {
	if len(sessions) == 0 {
		return nil, nil
	}
	var f LobbyMemberFilter
	for _, s := range sessions {
		f.Regions, f.Sessions = append(f.Regions, s.Region), append(f.Sessions, s.Session)
	}
	return LobbyMembers.Read(ctx, q, f, Page{Limit: 100})
}

// ProjectKey is a key of a project of the realtime lobby, without its secret.
type ProjectKey struct {
	Region       string     `db:"region" json:"region"`
	Project      string     `db:"project" json:"project"`
	ProjectName  string     `db:"project_name" json:"project_name"`
	Key          string     `db:"key" json:"key"`
	Name         string     `db:"name" json:"name"`
	Scopes       []string   `db:"scopes" json:"scopes"`
	State        string     `db:"state" json:"state"` // active, retiring or revoked
	TokensMinted int64      `db:"tokens_minted" json:"tokens_minted"`
	RotatedFrom  string     `db:"rotated_from" sql:"coalesce(rotated_from, '')" json:"rotated_from"` // "": none
	CreatedAt    time.Time  `db:"created_at" json:"created_at"`
	RevokedAt    *time.Time `db:"revoked_at" json:"revoked_at"` // nil: it is active
	RetiresAt    *time.Time `db:"retires_at" json:"retires_at"`
	SealedBy     string     `db:"sealed_by" json:"sealed_by"`
}

// ProjectKeys are read in the order of region, project and id.
var ProjectKeys = View[ProjectKey, Any]{name: "project_keys", order: Order{"region", "project", "key"}}
