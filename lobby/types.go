package lobby

import (
	"slices"
	"time"
)

// Type is what the rooms of a type have in common.
type Type struct {
	Name        string
	MaxMembers  int
	GracePeriod time.Duration // see [Room]
	IsPrivate   bool          // new rooms are joined by invitation only, unless the options of the first join differ
	LinkFormat  string        // URL of a room, with linkCode in place of its code; empty: rooms have no link
	ProfileName string        // the profile that makes its matches; empty: matches are made by type and size

	roomLogic Logic
}

// Types are the room types that a process serves. A nil Types knows only the rooms of matches. Safe for concurrent
// use.
type Types struct {
	byName map[string]Type
}

// builtInTypes returns the types that need no configuration. A configured type begins as a copy of the one that is
// named after its logic.
func builtInTypes(t *Types) []Type {
	minute := time.Minute
	common := []string{"say", "invite", "cancel", "lock", "kick", "owner", "member", customPrefix + "…"}
	asLobby := group{roomTypes: t, messageKinds: slices.Concat(common,
		[]string{"ready", "team", "set", "countdown", "start"})}
	asParty := group{roomTypes: t, messageKinds: slices.Concat(common, []string{"queue"})}
	return []Type{
		{Name: "chat", MaxMembers: 200, GracePeriod: minute, roomLogic: chatLogic{}},
		{Name: "lobby", MaxMembers: 16, GracePeriod: minute, roomLogic: lobbyLogic{group: asLobby}},
		{Name: "party", MaxMembers: 16, GracePeriod: minute, IsPrivate: true, roomLogic: partyLogic{group: asParty}},
		{Name: "match", MaxMembers: maxMatch, GracePeriod: 5 * minute, IsPrivate: true, roomLogic: matchLogic{}},
	}
}

// conformanceTypes returns the types that the tests and scripts written for Nexis expect.
func conformanceTypes() []Type {
	return []Type{
		{Name: "echo_room", MaxMembers: maxChat, roomLogic: echoRoom{}},
		{Name: "counter_room", MaxMembers: maxChat, roomLogic: counterRoom{}},
		{Name: "counter_plugin_room", MaxMembers: maxChat, roomLogic: counterPluginRoom{}},
	}
}

// NewTypes returns the types that are built in, those of Nexis' own tests if withConformance is set, and those of
// a configuration: a JSON object that maps the name of a type to its settings. An error of the configuration names the
// type and the key.
func NewTypes(withConformance bool, config []byte) (*Types, error) {
	t := &Types{byName: map[string]Type{}}
	unconfigured := builtInTypes(t)
	if withConformance {
		unconfigured = append(unconfigured, conformanceTypes()...)
	}
	for _, typ := range unconfigured {
		t.byName[typ.Name] = typ
	}
	return t, t.readConfiguration(config)
}

// LookupType returns a type by its name.
func (t *Types) LookupType(name string) (Type, bool) {
	if t == nil {
		return Type{}, false
	}
	typ, ok := t.byName[name]
	return typ, ok
}

// typeOf returns the type of a room. The room of a match has the type that its players asked for; if no such type is
// configured, its logic is [matchLogic].
func (t *Types) typeOf(r *Room) (Type, bool) {
	typ, ok := t.LookupType(r.Type)
	// Players may ask for matches of any type: without a configuration, the name only says who is matched with whom.
	if !ok && r.Participants != nil {
		return t.matchType(r.Type), true
	}
	return typ, ok
}

// matchType returns the type of the rooms of matches of a name.
func (t *Types) matchType(name string) Type {
	if typ, ok := t.LookupType(name); ok {
		return typ
	}
	typ, _ := t.LookupType("match")
	if _, ok := typ.roomLogic.(matchLogic); !ok {
		// The configuration has given this name to a type with another logic.
		typ = t.builtInType("match")
	}
	typ.Name = name
	return typ
}

// logicOf returns the logic of a room, or nil if only another process is configured for its type.
func (t *Types) logicOf(r *Room) Logic {
	typ, _ := t.typeOf(r)
	return typ.roomLogic
}

// TypeOfProfile returns the name of the room type of a profile's matches: the first by name that has the profile, else
// match.
func (t *Types) TypeOfProfile(profile string) string {
	if t == nil || profile == "" {
		return "match"
	}
	var named []string
	for name, typ := range t.byName {
		if typ.ProfileName == profile {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return "match"
	}
	// Maps have no order: every replica must choose the same type for the room of a match.
	return slices.Min(named)
}
