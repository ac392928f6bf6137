package orchestrator

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/lattice-director/director/db"
)

// createRequest is the body of POST /v1/rooms. As upstream, it converts values: where a string is expected, a number or
// a boolean counts as its text, a list of one element as that element, and null as the empty string. Unknown members
// are ignored.
type createRequest struct{ room db.NewRoom }

// UnmarshalJSON implements json.Unmarshaler. encoding/json alone would match names in any case. Package rest has
// bounded the body and refused text that cannot be stored.
func (r *createRequest) UnmarshalJSON(body []byte) error {
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		return err
	}
	if hasProto(members) {
		return errInvalid
	}
	roomType, ok := asText(members["type"])
	if !ok || roomType == "" {
		return errInvalid
	}
	r.room.Type = roomType
	// Absent: the store makes one.
	if value, given := members["roomId"]; given {
		id, ok := asText(value)
		if !ok || id == "" {
			return errInvalid
		}
		r.room.RoomID = id
	}
	if placement, given := members["placement"]; given {
		return r.readPlacement(placement)
	}
	return nil
}

// readPlacement reads placement. Upstream only checks that it is an object.
func (r *createRequest) readPlacement(placement any) (err error) {
	members, ok := placement.(map[string]any)
	if !ok {
		return errInvalid
	}
	if r.room.InstanceID, err = optionalText(members["instanceId"]); err != nil {
		return err
	}
	if r.room.ProcessUID, err = optionalText(members["processUid"]); err != nil {
		return err
	}
	strategy, err := optionalText(members["strategy"])
	if err != nil {
		return err
	}
	if strategy != nil {
		r.room.SpreadStrategy = *strategy
	}
	r.room.IsForced = isTruthy(members["force"])
	return r.readLabels(members["labels"])
}

// readLabels reads the labels that an instance must have. A label whose value is not a string matches no instance.
func (r *createRequest) readLabels(labels any) error {
	if labels == nil {
		return nil
	}
	members, ok := labels.(map[string]any)
	if !ok {
		return errInvalid
	}
	r.room.RequiredLabels = make(map[string]string, len(members))
	for key, value := range members {
		text, ok := value.(string)
		r.room.RequiredLabels[key] = text
		r.room.NoMatch = r.room.NoMatch || !ok
	}
	return nil
}

// optionalText reads a string of placement. null and the empty string count as absent.
func optionalText(value any) (*string, error) {
	text, ok := value.(string)
	switch {
	case value != nil && !ok:
		return nil, errInvalid
	case text == "":
		return nil, nil //nolint:nilnil // The member is absent, which is no error.
	}
	return &text, nil
}

// asText converts a value to a string as upstream's validator does.
func asText(value any) (text string, ok bool) {
	if list, isList := value.([]any); isList && len(list) == 1 {
		value = list[0]
	}
	switch value := value.(type) {
	case nil:
		return "", true
	case string:
		return value, true
	case bool:
		return strconv.FormatBool(value), true
	case float64:
		if value == 0 {
			return "0", true // also for -0
		}
		number, err := json.Marshal(value) // as in JavaScript: 1e21 but 100000000000000000000
		return string(number), err == nil
	default:
		return "", false
	}
}

// isTruthy reports whether a value is truthy in JavaScript.
func isTruthy(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case float64:
		return value != 0
	default:
		return true
	}
}

// hasProto reports whether any key, at any depth, is __proto__. In JavaScript such a key changes the prototype of its
// object.
func hasProto(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			if key == "__proto__" || hasProto(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasProto)
	}
	return false
}
