package lobby

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

func readMaxMembers(typ *Type, raw json.RawMessage) error {
	limit := membersLimit(typ.roomLogic)
	members, ok := wholeNumberOf(raw, 1, limit)
	if !ok {
		return fmt.Errorf("must be a whole number from 1 to %d", limit)
	}
	typ.MaxMembers = members
	return nil
}

// membersLimit returns how many members the rooms of a logic may have. Types with the logic match have no key
// max_members.
func membersLimit(l Logic) int {
	switch l.(type) {
	case lobbyLogic:
		return maxGroup
	case partyLogic:
		return maxParty
	}
	return maxChat
}

func readGrace(typ *Type, raw json.RawMessage) error {
	grace, err := time.ParseDuration(unquotedString(raw))
	if err != nil || grace < 0 || grace > maxGrace {
		return fmt.Errorf("must be a duration from %q to %q", "0s", maxGrace)
	}
	typ.GracePeriod = grace
	return nil
}

func readPrivate(typ *Type, raw json.RawMessage) error {
	if string(raw) != "true" && string(raw) != "false" {
		return errors.New("must be true or false")
	}
	typ.IsPrivate = string(raw) == "true"
	return nil
}

func readProfile(typ *Type, raw json.RawMessage) error {
	name := unquotedString(raw)
	if !validName(name, maxProfile) {
		return fmt.Errorf("must be the name of a profile, of at most %d bytes", maxProfile)
	}
	typ.ProfileName = name
	return nil
}

func readLink(typ *Type, raw json.RawMessage) error {
	link := unquotedString(raw)
	// Parsed with a code in place of linkCode: braces are not allowed in every part of a URL.
	u, err := url.Parse(strings.ReplaceAll(link, linkCode, "code"))
	if err != nil || u.Scheme == "" || len(link) > maxLink || !strings.Contains(link, linkCode) {
		return fmt.Errorf("must be a URL of at most %d bytes with %s, such as \"https://game.example/join/%s\"",
			maxLink, linkCode, linkCode)
	}
	typ.LinkFormat = link
	return nil
}

func readState(typ *Type, raw json.RawMessage) error {
	entries, err := readObject(raw)
	if err != nil {
		return err
	}
	state := State{}
	for _, e := range entries {
		if e.key == "" {
			return errors.New("has an empty key, which clients cannot read")
		}
		state[e.key] = encodeJSON(e.rawValue) // valid JSON: readObject has decoded it
	}
	// One key less, and half of the bytes: a new room may add a topic.
	if len(state) > maxStateKeys-1 || state.JSONBytes() > maxStateBytes/2 {
		return fmt.Errorf("must have at most %d keys and %d bytes", maxStateKeys-1, maxStateBytes/2)
	}
	typ.roomLogic = chatLogic{initialState: state}
	return nil
}

// readQueue reads what the lobbies of a type queue for if their owners name nothing else.
func readQueue(typ *Type, raw json.RawMessage) error {
	entries, err := readObject(raw)
	if err != nil {
		return err
	}
	var q Queue
	for _, e := range entries {
		switch e.key {
		case "room_type":
			q.RoomType = unquotedString(e.rawValue)
			if !ValidType(q.RoomType) {
				return errors.New(`has a "room_type" that must be the name of a room type`)
			}
		case "size":
			size, ok := wholeNumberOf(e.rawValue, minMatch, maxMatch)
			if !ok {
				return fmt.Errorf(`has a "size" that must be a whole number from %d to %d`, minMatch, maxMatch)
			}
			q.MatchSize = size
		default:
			return fmt.Errorf("has the unknown key %q; it has room_type, size", e.key)
		}
	}
	if q.RoomType == "" {
		return errors.New(`has no "room_type"`)
	}
	if l, ok := typ.roomLogic.(lobbyLogic); ok { // always: keysByLogic allows the key for lobbies only
		l.defaultQueue = q
		typ.roomLogic = l
	}
	return nil
}
